"""Codes of the update family: 001-008 are the seed's VR-00n, 010-019 structure, from 020 planning."""

from daybook.errors.codes.entry import Code, family

CODES: dict[str, Code] = family(
    Code(
        "UPDATE_001",
        "Update operation requires at least one assignment",
        "VR-001. An update that assigns nothing has no effect, so its list of assignments may not be empty.",
        hint="add an entry with column and expression under assignments",
    ),
    Code(
        "UPDATE_002",
        "Invalid column name: {name!r}",
        "VR-002. The target of an assignment is a letter or underscore followed by letters, digits and underscores.",
        hint="use letters, digits and underscores, beginning with a letter or an underscore",
    ),
    Code(
        "UPDATE_003",
        "Selector {name!r} not defined in Project",
        "VR-003. A selector written as {{NAME}} refers to an entry of the project's selectors.",
    ),
    Code(
        "UPDATE_004",
        "Invalid selector expression",
        "VR-004. The selector of an update must be a boolean expression over the working dataset and the joins.",
    ),
    Code(
        "UPDATE_005",
        "Invalid assignment expression for {column!r}",
        "VR-005. The expression of an assignment must parse, and may not use aggregate functions.",
    ),
    Code(
        "UPDATE_006",
        "Unknown column {name}",
        "VR-006. Every column an update names must exist in the working dataset or in one of its joins.",
    ),
    Code(
        "UPDATE_007",
        "{column} is {expected} and cannot take a {actual}",
        "VR-007. The value of an assignment must fit the type of its column: numbers widen or round to the scale, "
        "text never becomes a number by itself.",
    ),
    Code(
        "UPDATE_008",
        "The working dataset has no column {name}",
        "VR-008. The system column that records updates must be present while an update runs.",
    ),
    Code(
        "UPDATE_010",
        "{column} is assigned twice",
        "All assignments of one update see the row as it was before, so two of them cannot set the same column.",
        hint="keep one of them, or put the second into an update of its own",
    ),
    Code(
        "UPDATE_011",
        "{column} is a system column and cannot be assigned",
        "System columns are kept by the engine; an update may set only _labels.",
        hint="of the system columns only _labels can be assigned",
    ),
    Code(
        "UPDATE_012",
        "Two joins have the alias {alias}",
        "The aliases of one update's joins name their columns in expressions, so they are unique.",
        hint="give one of the joins another alias",
    ),
    Code(
        "UPDATE_013",
        "{alias} cannot be the alias of a join: {reason}",
        "An alias is an identifier and may not hide the main table or the period.",
        hint="choose another alias",
    ),
    Code(
        "UPDATE_020",
        "Dataset {dataset_id} of join {alias} does not exist",
        "BR-008a. A join reads an existing dataset.",
    ),
    Code(
        "UPDATE_021",
        "Dataset {dataset_id} of join {alias} has no version {version}",
        "A pinned dataset_version must exist.",
    ),
    Code(
        "UPDATE_022",
        "Dataset {dataset_id} of join {alias} is disabled",
        "BR-008a. A join reads an active dataset.",
    ),
    Code(
        "UPDATE_023",
        "Invalid join condition for {alias!r}",
        "The on of a join must be a boolean expression over the working dataset, its own columns and earlier joins.",
    ),
    Code(
        "UPDATE_024",
        "Operation {seq} ({name}): a picked row matches more than one row of join {alias}: {key}",
        "An update never changes the number of rows, so every picked row may match at most one row of each join.",
        hint="make the join condition more specific, or remove the duplicates from the joined data",
    ),
)
