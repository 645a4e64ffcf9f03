"""Codes of the aggregate family: 001-007 are the seed's rules in order, 010-019 structure, from 020 planning."""

from daybook.errors.codes.entry import Code, family

CODES: dict[str, Code] = family(
    Code(
        "AGGREGATE_001",
        "group_by must name at least one column",
        "An aggregate groups by one column or more.",
        hint="list the columns whose values make a group under group_by",
    ),
    Code(
        "AGGREGATE_002",
        "aggregations must not be empty",
        "An aggregate computes at least one value per group.",
        hint="add an entry with column and expression under aggregations",
    ),
    Code("AGGREGATE_003", "group_by names {column} twice", "The columns of group_by are free of duplicates."),
    Code(
        "AGGREGATE_004",
        "Unknown column {name}",
        "Every column an aggregate names must exist in the working dataset.",
    ),
    Code(
        "AGGREGATE_005",
        "{column} is a system column and cannot be the result of an aggregation",
        "The engine fills the system columns of summary rows itself.",
        hint="give the result another column name",
    ),
    Code(
        "AGGREGATE_006",
        "Invalid aggregation for {column!r}",
        "An aggregation must use SUM, COUNT, AVG, MIN_AGG or MAX_AGG, and every column in it stands inside such a "
        "function or is a group_by column.",
    ),
    Code(
        "AGGREGATE_007",
        "Two aggregations write the column {column}",
        "The result columns of one aggregate are unique.",
        hint="give one of them another column name",
    ),
    Code(
        "AGGREGATE_010",
        "{column} is both a group_by column and the result of an aggregation",
        "A summary row holds the group's own value in its group_by columns.",
        hint="give the result another column name",
    ),
    Code(
        "AGGREGATE_011",
        "group_by cannot use the system column {column}",
        "Of the system columns only _period and _labels can be grouped by.",
        hint="group by business columns, _period or _labels",
    ),
    Code(
        "AGGREGATE_012",
        "Invalid column name {name!r}: {reason}",
        "Column names contain no dots, backticks or control characters and no spaces at their ends.",
    ),
    Code(
        "AGGREGATE_020",
        "Invalid selector expression",
        "The selector of an aggregate must be a boolean expression over the working dataset.",
    ),
    Code(
        "AGGREGATE_021",
        "{column} is {expected} and cannot take a {actual}",
        "The value of an aggregation must fit the type of its column: numbers widen or round to the scale, text never "
        "becomes a number by itself.",
    ),
)
