"""Codes of the append family: 001-008 are the seed's error codes, 010-019 structure, from 020 planning."""

from daybook.errors.codes.entry import Code, family

CODES: dict[str, Code] = family(
    Code(
        "APPEND_001",
        "Dataset {dataset_id} does not exist",
        "DatasetNotFound. The source of an append must be a known dataset.",
    ),
    Code(
        "APPEND_002",
        "Dataset {dataset_id} has no version {version}",
        "DatasetVersionNotFound. A pinned dataset_version must exist.",
    ),
    Code(
        "APPEND_003",
        "Column {column} of the appended rows does not fit the working dataset: {reason}",
        "ColumnMismatch. Every column of the appended rows must exist in the working dataset with a type it fits.",
    ),
    Code(
        "APPEND_004",
        "Invalid source_selector expression",
        "ExpressionParseError. A source_selector is a boolean expression over the source's columns.",
    ),
    Code(
        "APPEND_005",
        "Invalid aggregation for {column!r}",
        "InvalidAggregation. An aggregation of an append is FUNCTION(column) with SUM, COUNT, AVG, MIN_AGG or "
        "MAX_AGG, or COUNT(*).",
    ),
    Code(
        "APPEND_006",
        "Unknown column {name}",
        "ColumnNotFound. Columns in group_by, aggregations and source_selector must exist in the source.",
    ),
    Code(
        "APPEND_007",
        "No resolver for dataset {dataset_id}",
        "ResolverNotFound. The dataset has no location, no resolver of its own, none by override, and there is no "
        "default resolver.",
    ),
    Code("APPEND_008", "Loading dataset {dataset_id} failed", "DataLoadError. The data of the source cannot be read."),
    Code(
        "APPEND_010",
        "An append takes no selector",
        "A selector picks rows of the working dataset; an append reads rows of another dataset.",
        hint="to pick rows of the source write source_selector in the arguments",
    ),
    Code(
        "APPEND_011",
        "group_by must name at least one column",
        "The aggregation of an append groups by one column or more.",
    ),
    Code(
        "APPEND_012",
        "aggregations must not be empty",
        "The aggregation of an append computes at least one value per group.",
    ),
    Code("APPEND_013", "group_by names {column} twice", "The columns of group_by are free of duplicates."),
    Code(
        "APPEND_014",
        "Two results of the aggregation are called {column}",
        "The group_by columns and the result columns of one aggregation are unique together.",
        hint="give one of them another column name",
    ),
    Code(
        "APPEND_015",
        "{column} is a system column and cannot be the result of an aggregation",
        "The engine fills the system columns of appended rows itself.",
        hint="give the result another column name",
    ),
    Code(
        "APPEND_016",
        "group_by cannot use the system column {column}",
        "Of the system columns only _period and _labels can be grouped by.",
        hint="group by business columns, _period or _labels",
    ),
    Code(
        "APPEND_020",
        "Dataset {dataset_id} is disabled",
        "The source of an append must be an active dataset.",
    ),
)
