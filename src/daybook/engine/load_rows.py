"""Which rows of a table belong to the run's period.

Data as it was read becomes rows: time filter, system columns, checks, identity.
"""

from collections.abc import Collection

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from daybook.engine.context import FAULT_COLUMN, ROW_ID_PATTERN, RunContext, null_sql, quote_identifiers, row_id_sql
from daybook.engine.failures import MALFORMED_ROW_ID, NULL_VALUE, failed_check_sql
from daybook.engine.source import ORDINAL_COLUMN, ORIGIN_COLUMN, SourceFrame
from daybook.errors import DaybookError
from daybook.expression import quote_identifier, quote_literal, spark_type
from daybook.model.types import DATE, RUN_PERIOD_COLUMN, STRING, SYSTEM_COLUMNS
from daybook.plan.steps import LoadStep


def filter_by_time(frame: SourceFrame, load: LoadStep, context: RunContext) -> DataFrame:
    """Period tables by their period, bitemporal ones as of a date; both by the slice when Daybook wrote them."""
    match load.temporal_mode:
        case "period":
            column = RUN_PERIOD_COLUMN if RUN_PERIOD_COLUMN in frame.carried else "_period"
            _require_column(frame, load, column)
            return frame.df.where(F.expr(_period_condition(column, frame, context)))
        case "bitemporal":
            _require_column(frame, load, "_valid_from")
            _require_column(frame, load, "_valid_to")
            as_of = quote_literal(context.as_of, DATE)
            is_valid = f"`_valid_from` <= {as_of} AND (`_valid_to` > {as_of} OR `_valid_to` IS NULL)"
            if RUN_PERIOD_COLUMN in frame.carried:
                # Summary rows are valid for the slice they stand in.
                is_summary = "`_valid_from` IS NULL AND `_valid_to` IS NULL"
                is_valid = (
                    f"{_period_condition(RUN_PERIOD_COLUMN, frame, context)} AND (({is_valid}) OR ({is_summary}))"
                )
            return frame.df.where(F.expr(is_valid))
        case "snapshot" | None:
            return frame.df


def _period_condition(column: str, frame: SourceFrame, context: RunContext) -> str:
    accepted = frame.periods or (context.period.identifier,)
    choices = ", ".join(quote_literal(identifier, STRING) for identifier in accepted)
    return f"{quote_identifier(column)} IN ({choices})"


def _require_column(frame: SourceFrame, load: LoadStep, column: str) -> None:
    if column not in frame.carried:
        seq = load.operation_seq or None
        raise DaybookError("PROJECT_032", operation_seq=seq, dataset_id=load.dataset_id, column=column)


def load_input(frame: SourceFrame, load: LoadStep, context: RunContext) -> DataFrame:
    """The working dataset before the first operation."""
    system = _system_columns(frame, load, context)
    hidden = {**dict.fromkeys(context.words, "0L"), FAULT_COLUMN: _loaded_row_fault(frame, load)}
    return filter_by_time(frame, load, context).selectExpr(
        *quote_identifiers(*load.types),
        *(f"{sql} AS {quote_identifier(name)}" for name, sql in {**system, **hidden}.items()),
    )


def load_source(frame: SourceFrame, load: LoadStep, context: RunContext, columns: Collection[str]) -> DataFrame:
    """Some columns of the live rows of an append source or a join, system ones included, with failed checks."""
    values = {**{name: quote_identifier(name) for name in load.types}, **_system_columns(frame, load, context)}
    rows = filter_by_time(frame, load, context)
    if "_deleted" in frame.carried:
        rows = rows.where(F.expr("`_deleted` IS NOT TRUE"))
    return rows.selectExpr(
        *(f"{sql} AS {quote_identifier(name)}" for name, sql in values.items() if name in columns),
        f"{_loaded_row_fault(frame, load)} AS {FAULT_COLUMN}",
    )


def may_fail(frame: SourceFrame, load: LoadStep) -> bool:
    """Whether loaded rows are checked at all."""
    return _loaded_row_fault(frame, load) != null_sql(STRING)


def _system_columns(frame: SourceFrame, load: LoadStep, context: RunContext) -> dict[str, str]:
    """Each system column as SQL over what the source carries."""

    def carried(name: str, otherwise: str) -> str:
        if name not in frame.carried:
            return otherwise
        value = f"CAST({quote_identifier(name)} AS {spark_type(SYSTEM_COLUMNS[name])})"
        return value if otherwise.startswith("CAST(NULL") else f"COALESCE({value}, {otherwise})"

    place = row_id_sql(context.period, "loaded", (load.dataset_id,), (ORIGIN_COLUMN, ORDINAL_COLUMN))
    empty = {name: null_sql(column_type) for name, column_type in SYSTEM_COLUMNS.items()}
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


def _loaded_row_fault(frame: SourceFrame, load: LoadStep) -> str:
    """SQL of the first check a loaded row fails: a NULL where none may be, a row id that is none."""
    branches = [
        f"WHEN {quote_identifier(column.name)} IS NULL "
        f"THEN {failed_check_sql(NULL_VALUE, (load.key, column.name), (ORIGIN_COLUMN, ORDINAL_COLUMN))}"
        for column in load.version.dataset.main_table.columns
        if not column.nullable
    ]
    if "_row_id" in frame.carried:
        malformed = f"`_row_id` IS NULL OR NOT `_row_id` RLIKE {quote_literal(ROW_ID_PATTERN, STRING)}"
        shown = ("`_row_id`", ORIGIN_COLUMN, ORDINAL_COLUMN)
        branches.append(f"WHEN {malformed} THEN {failed_check_sql(MALFORMED_ROW_ID, (load.key,), shown)}")
    return f"CASE {' '.join(branches)} END" if branches else null_sql(STRING)
