"""Codes of the output family: 001-007 are the seed's V-00n, 010-019 structure, from 020 planning."""

from daybook.errors.codes.entry import Code, family

CODES: dict[str, Code] = family(
    Code(
        "OUTPUT_001",
        "Invalid selector expression",
        "V-001, InvalidSelector. The selector of an output must be a boolean expression over the working dataset.",
    ),
    Code(
        "OUTPUT_002",
        "Unknown column {name}",
        "V-002, ColumnProjectionError. The columns an output names must exist in the working dataset.",
    ),
    Code(
        "OUTPUT_003",
        "Invalid destination: {reason}",
        "V-003, InvalidDestination. A destination is either datasource_id with table, or a location.",
        hint="write destination: {{datasource_id: ..., table: ...}} or destination: {{location: ...}}",
    ),
    Code(
        "OUTPUT_004",
        "Invalid dataset name {name!r} in register_as_dataset",
        "V-004, InvalidDatasetName. An output registers under a non-empty name that can be an id.",
        hint="use letters, digits, '.', '_' and '-', beginning with a letter or digit, or leave the key out",
    ),
    Code(
        "OUTPUT_005",
        "The selector did not give boolean values",
        "V-005, SelectorEvaluationError. Evaluating the selector must produce true, false or NULL for every row.",
    ),
    Code(
        "OUTPUT_006",
        "Writing {target} failed",
        "V-006, WriteFailed. The data could not be written; what was there before is still there.",
    ),
    Code(
        "OUTPUT_007",
        "{name} cannot be registered: the output has no columns of its own",
        "V-007, InvalidSchema. A registered dataset has at least one column besides the system columns. The data was "
        "written; only its registration is missing.",
        hint="name a column that is not a system column, or leave register_as_dataset out",
    ),
    Code(
        "OUTPUT_010",
        "columns must not be empty",
        "When columns is given it names at least one column; left out, all columns are written.",
        hint="name the columns, or leave the key out to write all of them",
    ),
    Code("OUTPUT_011", "{key} names {column} twice", "The columns of an output are free of duplicates."),
    Code(
        "OUTPUT_012",
        "The outputs with seq {first} and {second} both write {target}",
        "Two outputs of one project into one place would overwrite each other.",
        hint="write to different places, or give both mode: append",
    ),
    Code(
        "OUTPUT_020",
        "Data source {datasource_id} does not exist",
        "The destination of an output names a known data source.",
        hint="define it in a file: `datasource: {{id: ..., name: ..., type: delta, options: {{path: FOLDER}}}}`",
    ),
    Code(
        "OUTPUT_021",
        "Data source {datasource_id} is disabled",
        "A disabled data source cannot be written to.",
    ),
)
