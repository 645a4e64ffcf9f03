"""Codes of the project family: 001-019 structure, from 020 what planning finds."""

from daybook.errors.codes.entry import Code, family

CODES: dict[str, Code] = family(
    Code(
        "PROJECT_001",
        "seq must be a positive whole number, not {value}",
        "BR-001. The seq of an operation says when it executes; it begins at 1 and may have gaps.",
    ),
    Code(
        "PROJECT_002",
        "Two operations have the seq {seq}",
        "BR-001. The seq of every operation is unique within its project.",
        hint="give each operation its own seq; gaps are fine",
    ),
    Code(
        "PROJECT_003",
        "This operation has no seq, others have",
        "Either every operation of a project has a seq, or none has and the order of the list counts.",
        hint="give every operation a seq, or none",
    ),
    Code(
        "PROJECT_004",
        "{first} and {second} mean the same; both are given",
        "arguments may be written parameters, and seq may be written order, but only one of the two at a time.",
        hint="keep one of them",
    ),
    Code(
        "PROJECT_005",
        "The selector is given twice",
        "A selector stands on the operation or inside its arguments, not in both places.",
        hint="keep the one on the operation",
    ),
    Code("PROJECT_006", "Two operations have the id {id}", "The id of an operation is unique within its project."),
    Code(
        "PROJECT_007",
        "Unknown operation type {type!r}",
        "An operation is an update, aggregate, append, delete, check or output.",
        hint="types are update, aggregate, append, delete, check and output",
    ),
    Code(
        "PROJECT_008",
        "The project reads {dataset_id}, which its operation with seq {seq} registers",
        "A project may not read what it registers or writes itself, or a rerun would read its own results.",
        hint="register under another name, or read the dataset in a project of its own",
    ),
    Code(
        "PROJECT_009",
        "The project reads {target}, which its operation with seq {seq} writes",
        "A project may not read what it registers or writes itself, or a rerun would read its own results.",
        hint="write to another table or path",
    ),
    Code("PROJECT_010", "A project needs at least one operation", "A project without operations does nothing."),
    Code(
        "PROJECT_011",
        "Invalid selector name {name!r}",
        "A selector is referred to as {{NAME}}, so its name has no braces, no line ends and no spaces at its ends.",
    ),
    Code(
        "PROJECT_012",
        "This operation needs arguments",
        "Every operation but delete says in its arguments what it does.",
    ),
    Code(
        "PROJECT_013",
        "Column {column} is {type} here and {first} in the operation with seq {seq}",
        "A column has one type in all of a project; it is enough to give it once.",
        hint="give the type once, or the same everywhere",
    ),
    Code(
        "PROJECT_020",
        "Dataset {dataset_id} does not exist",
        "The input of a project must be a known dataset.",
    ),
    Code(
        "PROJECT_021",
        "Dataset {dataset_id} has no version {version}",
        "A pinned dataset_version must exist.",
    ),
    Code(
        "PROJECT_022",
        "Dataset {dataset_id} is disabled",
        "A disabled dataset cannot be read; apply its definition again to enable it.",
    ),
    Code(
        "PROJECT_023",
        "Column {column} differs from {existing} only in case",
        "Names of columns are case-sensitive, but two that differ only in case are mistaken for each other by people "
        "and by other systems.",
        hint="write {existing}, or choose another name",
    ),
    Code(
        "PROJECT_024",
        "The rows that the aggregate with seq {first} adds are counted again here: they hold {measure} too",
        "Summary rows are rows: a later aggregate or output picks them up beside the rows they summarise.",
        hint="add _operation_seq = 0 to the selector to leave summary rows out",
    ),
    Code(
        "PROJECT_025",
        "No output follows, so this operation has no effect",
        "Only outputs leave a run; what operations do after the last output is never seen.",
        hint="move an output behind it, or remove the operation",
    ),
    Code(
        "PROJECT_026",
        "The data of dataset {dataset_id} cannot be found",
        "No location, resolver override, resolver of the dataset or default resolver says where the data lies.",
        hint="give the dataset a location or a resolver_id",
    ),
    Code(
        "PROJECT_027",
        "{column} is a name that the engine uses itself",
        "_metadata, __place, __ordinal, __file, __partition_file, __attempt and names beginning with __daybook_ are "
        "columns that Spark or the engine carries beside the user's.",
        hint="choose another name",
    ),
    Code(
        "PROJECT_028",
        "Invalid selector {name}",
        "Named selectors are checked whether an operation uses them or not.",
    ),
    Code(
        "PROJECT_029",
        "Column {column} is not made by this project: it is {expected} and stays so",
        "A value that is assigned to a column of the input, or to a system column, is fitted to the type it has.",
        hint="leave the type out, or choose another name for the column",
    ),
    Code(
        "PROJECT_030",
        "{column} of {dataset_id} may not be NULL, but it is in {place}, row {ordinal}",
        "Columns declared nullable: false are checked when data is loaded.",
        hint="correct the data, or declare the column nullable",
    ),
    Code(
        "PROJECT_031",
        "_row_id of {dataset_id} is {value} in {place}, row {ordinal}; it must be a UUID of version 7",
        "Data that carries _row_id keeps it, so every row needs a valid one.",
        hint="correct the data, or leave the column out to get new ids",
    ),
    Code(
        "PROJECT_032",
        "The data of {dataset_id} has no column {column}, which its temporal mode needs",
        "Period tables are filtered by _period, bitemporal tables by _valid_from and _valid_to.",
        hint="add the column to the data, or change temporal_mode",
    ),
    Code(
        "PROJECT_033",
        "Operation {seq} ({name}) failed on {column}: {reason}",
        "A value could not be computed while the run was executing; nothing of the output was committed.",
    ),
    Code(
        "PROJECT_034",
        "Spark failed: {reason}",
        "Spark gave up for a reason that no single operation explains; nothing of the output was committed.",
    ),
    Code(
        "PROJECT_035",
        "No row can have the _operation_seq that this selector asks for; here it is one of {present}",
        "_operation_seq is 0 for loaded rows, else the seq of the append or aggregate that made the row. Where seq is "
        "left out it is the place in the list, so it changes when an operation is put in before.",
        hint="give the operations a seq, and name one that adds rows before this one",
    ),
    Code(
        "PROJECT_036",
        "Column {column} is made here, but no operation reads it and no output writes it",
        "A mistyped name makes a new column instead of changing the one that was meant.",
    ),
)
