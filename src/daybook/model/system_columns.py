"""The columns every row of the working dataset has besides the user's own."""

from daybook.model.types import BOOLEAN, DATE, INTEGER, STRING, TIMESTAMP, ColumnType

SYSTEM_COLUMNS: dict[str, ColumnType] = {
    "_row_id": STRING,
    "_deleted": BOOLEAN,
    "_period": STRING,
    "_valid_from": DATE,
    "_valid_to": DATE,
    "_source_dataset_id": STRING,
    "_source_table": STRING,
    "_operation_seq": INTEGER,
    "_origin_seq": INTEGER,
    "_created_at": TIMESTAMP,
    "_updated_at": TIMESTAMP,
    "_labels": STRING,
}

# Written beside an output's columns by tables that collect periods; never a column of the working dataset.
RUN_PERIOD = "_run_period"

RESERVED = frozenset({*SYSTEM_COLUMNS, RUN_PERIOD, "_source_dataset"})

# What one seed calls the column, accepted in expressions.
SYNONYMS = {"_source_dataset": "_source_dataset_id"}

ASSIGNABLE = frozenset({"_labels"})
GROUPABLE = frozenset({"_period", "_labels"})
