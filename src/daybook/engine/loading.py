"""Data as it was read becomes rows: time filter, system columns, checks, identity."""

from collections.abc import Collection

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from daybook.engine.context import RunContext, null
from daybook.engine.faults import NULL_VALUE, ROW_ID, fault
from daybook.engine.hidden import FAULT, quoted
from daybook.engine.identity import PATTERN, row_id
from daybook.engine.source import ORDINAL, PLACE, SourceFrame
from daybook.engine.time_filter import filter_by_time
from daybook.expression import quote_identifier, quote_literal, spark_type
from daybook.model.system_columns import SYSTEM_COLUMNS
from daybook.model.types import STRING
from daybook.plan.steps import LoadStep


def load_input(frame: SourceFrame, load: LoadStep, context: RunContext) -> DataFrame:
    """The working dataset before the first operation."""
    system = _system_columns(frame, load, context)
    hidden = {**dict.fromkeys(context.words, "0L"), FAULT: _fault(frame, load)}
    return filter_by_time(frame, load, context).selectExpr(
        *quoted(*load.types), *(f"{sql} AS {quote_identifier(name)}" for name, sql in {**system, **hidden}.items())
    )


def load_source(frame: SourceFrame, load: LoadStep, context: RunContext, columns: Collection[str]) -> DataFrame:
    """Some columns of the live rows of an append source or a join, system ones included, with failed checks."""
    values = {**{name: quote_identifier(name) for name in load.types}, **_system_columns(frame, load, context)}
    rows = filter_by_time(frame, load, context)
    if "_deleted" in frame.carried:
        rows = rows.where(F.expr("`_deleted` IS NOT TRUE"))
    return rows.selectExpr(
        *(f"{sql} AS {quote_identifier(name)}" for name, sql in values.items() if name in columns),
        f"{_fault(frame, load)} AS {FAULT}",
    )


def may_fail(frame: SourceFrame, load: LoadStep) -> bool:
    """Whether loaded rows are checked at all."""
    return _fault(frame, load) != null(STRING)


def _system_columns(frame: SourceFrame, load: LoadStep, context: RunContext) -> dict[str, str]:
    """Each system column as SQL over what the source carries."""

    def carried(name: str, otherwise: str) -> str:
        if name not in frame.carried:
            return otherwise
        value = f"CAST({quote_identifier(name)} AS {spark_type(SYSTEM_COLUMNS[name])})"
        return value if otherwise.startswith("CAST(NULL") else f"COALESCE({value}, {otherwise})"

    place = row_id(context.period, "loaded", (load.dataset_id,), (PLACE, ORDINAL))
    empty = {name: null(column_type) for name, column_type in SYSTEM_COLUMNS.items()}
    return {
        "_row_id": quote_identifier("_row_id") if "_row_id" in frame.carried else place,
        "_deleted": carried("_deleted", "FALSE"),
        "_period": carried("_period", empty["_period"]),
        "_valid_from": carried("_valid_from", empty["_valid_from"]),
        "_valid_to": carried("_valid_to", empty["_valid_to"]),
        "_source_dataset_id": quote_literal(load.dataset_id, STRING),
        "_source_table": quote_literal(load.table, STRING),
        "_operation_seq": "0L",
        "_origin_seq": carried("_operation_seq", empty["_origin_seq"]),
        "_created_at": carried("_created_at", context.timestamp),
        "_updated_at": carried("_updated_at", context.timestamp),
        "_labels": carried("_labels", "''"),
    }


def _fault(frame: SourceFrame, load: LoadStep) -> str:
    """SQL of the first check a loaded row fails: a NULL where none may be, a row id that is none."""
    branches = [
        f"WHEN {quote_identifier(column.name)} IS NULL "
        f"THEN {fault(NULL_VALUE, (load.key, column.name), (PLACE, ORDINAL))}"
        for column in load.version.dataset.main_table.columns
        if not column.nullable
    ]
    if "_row_id" in frame.carried:
        malformed = f"`_row_id` IS NULL OR NOT `_row_id` RLIKE {quote_literal(PATTERN, STRING)}"
        branches.append(f"WHEN {malformed} THEN {fault(ROW_ID, (load.key,), ('`_row_id`', PLACE, ORDINAL))}")
    return f"CASE {' '.join(branches)} END" if branches else null(STRING)
