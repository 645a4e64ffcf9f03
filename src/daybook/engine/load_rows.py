"""Data as it was read becomes rows: time filter, system columns, checks."""

from collections.abc import Collection

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from daybook.engine.context import FAULT_COLUMN, RunContext, null_sql, quote_identifiers
from daybook.engine.failed_checks import MalformedRowId, NullValue, failed_check_sql
from daybook.engine.source import ORDINAL_COLUMN, ORIGIN_COLUMN, POSITION_COLUMN, SourceFrame
from daybook.engine.system_columns import ROW_ID_PATTERN, loaded_row_columns
from daybook.errors import DaybookError
from daybook.expression import quote_identifier, quote_literal
from daybook.model.types import DATE, RUN_PERIOD_COLUMN, STRING
from daybook.plan.steps import LoadStep

# The id that a row got when it was loaded, beside what is stored.
LOADED_ID_COLUMN = "__row_id"


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
            is_valid = _validity_condition(frame, load, context)
            if RUN_PERIOD_COLUMN in frame.carried:
                # Summary rows are valid for the slice they stand in.
                is_summary = "`_valid_from` IS NULL AND `_valid_to` IS NULL"
                is_valid = (
                    f"{_period_condition(RUN_PERIOD_COLUMN, frame, context)} AND (({is_valid}) OR ({is_summary}))"
                )
            return frame.df.where(F.expr(is_valid))
        case "snapshot" | None:
            return frame.df


def _validity_condition(frame: SourceFrame, load: LoadStep, context: RunContext) -> str:
    """Valid at the start of the as-of day in UTC, or at its end; dates and timestamps compare alike."""
    as_of = quote_literal(frame.as_of or context.as_of, DATE)
    if frame.as_of is not None and load.version.as_of_rule == "end":
        return f"`_valid_from` < DATE_ADD({as_of}, 1) AND (`_valid_to` >= DATE_ADD({as_of}, 1) OR `_valid_to` IS NULL)"
    return f"`_valid_from` <= {as_of} AND (`_valid_to` > {as_of} OR `_valid_to` IS NULL)"


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
    system = loaded_row_columns(frame, load, context)
    hidden = {**dict.fromkeys(context.words, "0L"), FAULT_COLUMN: _loaded_row_fault(frame, load)}
    return filter_by_time(frame, load, context).selectExpr(
        *quote_identifiers(*load.types),
        *(f"{sql} AS {quote_identifier(name)}" for name, sql in {**system, **hidden}.items()),
    )


def load_source(frame: SourceFrame, load: LoadStep, context: RunContext, columns: Collection[str]) -> DataFrame:
    """Some columns of the live rows of an append source or a join, system ones included, with failed checks."""
    values = {**{name: quote_identifier(name) for name in load.types}, **loaded_row_columns(frame, load, context)}
    rows = filter_by_time(frame, load, context)
    if "_deleted" in frame.carried:
        rows = rows.where(F.expr("`_deleted` IS NOT TRUE"))
    return rows.selectExpr(
        *(f"{sql} AS {quote_identifier(name)}" for name, sql in values.items() if name in columns),
        f"{_loaded_row_fault(frame, load)} AS {FAULT_COLUMN}",
    )


def stored_rows(frame: SourceFrame, load: LoadStep, context: RunContext, ids: Collection[str]) -> DataFrame:
    """The rows that got these ids when they were loaded, as they are stored; the id is `__row_id`.

    With their position in a file where the source knows it.
    """
    row_id = loaded_row_columns(frame, load, context)["_row_id"]
    rows = filter_by_time(frame, load, context).selectExpr(
        f"{row_id} AS {LOADED_ID_COLUMN}",
        *quote_identifiers(*load.types, *sorted(frame.carried - load.types.keys())),
        *((POSITION_COLUMN,) if frame.has_positions else ()),
    )
    return rows.where(F.col(LOADED_ID_COLUMN).isin(list(ids)))


def may_fail(frame: SourceFrame, load: LoadStep) -> bool:
    """Whether loaded rows are checked at all."""
    return _loaded_row_fault(frame, load) != null_sql(STRING)


def _loaded_row_fault(frame: SourceFrame, load: LoadStep) -> str:
    """SQL of the first check a loaded row fails: a NULL where none may be, a row id that is none."""
    position = {"place": ORIGIN_COLUMN, "ordinal": ORDINAL_COLUMN}
    branches = [
        f"WHEN {quote_identifier(column.name)} IS NULL "
        f"THEN {failed_check_sql(NullValue, {'load_key': load.key, 'column': column.name}, position)}"
        for column in load.version.dataset.main_table.columns
        if not column.nullable
    ]
    if "_row_id" in frame.carried:
        malformed = f"`_row_id` IS NULL OR NOT `_row_id` RLIKE {quote_literal(ROW_ID_PATTERN, STRING)}"
        found = failed_check_sql(MalformedRowId, {"load_key": load.key}, {"value": "`_row_id`", **position})
        branches.append(f"WHEN {malformed} THEN {found}")
    return f"CASE {' '.join(branches)} END" if branches else null_sql(STRING)
