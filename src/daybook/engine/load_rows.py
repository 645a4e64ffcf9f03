"""Turns source data into rows of the working dataset: time filter, system columns, checks.

A row id is a version 7 UUID whose time is the start of the run's period and whose other bits hash what the row is.
"""

import datetime
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from daybook.engine.context import (
    FAULT_COLUMN,
    ORDINAL_COLUMN,
    ORIGIN_COLUMN,
    POSITION_COLUMN,
    RunContext,
    SourceFrame,
    aliased_sql,
    null_sql,
    period_column,
    quote_identifiers,
)
from daybook.engine.counters import MalformedRowId, NullValue, error_of_load, failed_check_sql, text_sql
from daybook.errors import DaybookError
from daybook.expression import quote_identifier, quote_literal, spark_type
from daybook.model.calendar import Period
from daybook.model.types import DATE, RUN_PERIOD_COLUMN, STRING, SYSTEM_COLUMNS
from daybook.plan.steps import LoadStep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# What a carried `_row_id` must look like; upper case is accepted as RFC 9562 asks.
ROW_ID_PATTERN = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-7[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$"

_MALFORMED_ROW_ID = f"`_row_id` IS NULL OR NOT `_row_id` RLIKE {quote_literal(ROW_ID_PATTERN, STRING)}"

_NO_VALUES = {name: null_sql(column_type) for name, column_type in SYSTEM_COLUMNS.items()}


def loaded_row_columns(frame: SourceFrame, load: LoadStep, context: RunContext) -> dict[str, str]:
    """System columns of a row that is read, over what its source carries."""

    def carried(name: str, otherwise: str) -> str:
        if name not in frame.carried:
            return otherwise
        value = f"CAST({quote_identifier(name)} AS {spark_type(SYSTEM_COLUMNS[name])})"
        return value if otherwise.startswith("CAST(NULL") else f"COALESCE({value}, {otherwise})"

    required = next(iter(load.required_columns), None)
    timestamp = context.timestamp_in(f"{quote_identifier(required)} IS NULL") if required else context.timestamp
    # Rows that say nothing else, such as totals of the run that wrote them, belong to the period of their slice.
    is_by_slice = load.has_period_of_slice and RUN_PERIOD_COLUMN in frame.carried
    return {
        "_row_id": _loaded_row_id(frame, load, context),
        "_deleted": carried("_deleted", "FALSE"),
        "_period": quote_literal(frame.row_period, STRING)
        if frame.row_period is not None
        else carried("_period", f"`{RUN_PERIOD_COLUMN}`" if is_by_slice else _NO_VALUES["_period"]),
        "_valid_from": _validity_day("_valid_from", frame, load),
        "_valid_to": _validity_day("_valid_to", frame, load),
        "_source_dataset_id": quote_literal(load.dataset_id, STRING),
        "_source_table": quote_literal(load.table, STRING),
        "_operation_seq": "0L",
        "_origin_seq": carried("_operation_seq", _NO_VALUES["_origin_seq"]),
        "_created_at": carried("_created_at", timestamp),
        "_updated_at": carried("_updated_at", timestamp),
        "_labels": carried("_labels", "''"),
    }


def _validity_day(name: str, frame: SourceFrame, load: LoadStep) -> str:
    """The day at whose start validity has begun or ended; a timestamp in the middle of a day is the next day."""
    if name not in frame.carried:
        return _NO_VALUES[name]
    day = f"CAST(`{name}` AS DATE)"
    if load.temporal_mode != "bitemporal":
        return day
    return f"IF(CAST(`{name}` AS TIMESTAMP) > CAST({day} AS TIMESTAMP), DATE_ADD({day}, 1), {day})"


def has_new_ids(frame: SourceFrame, load: LoadStep) -> bool:
    """Whether the ids that a source carries are not unique in what is read, so that rows get others."""
    return "_row_id" in frame.carried and bool(_added_identity(frame, load))


def _loaded_row_id(frame: SourceFrame, load: LoadStep, context: RunContext) -> str:
    if "_row_id" not in frame.carried:
        return row_id_sql(context.period, "loaded", (load.dataset_id,), (ORIGIN_COLUMN, ORDINAL_COLUMN))
    if added := _added_identity(frame, load):
        return row_id_sql(context.period, "carried", (load.dataset_id,), ("`_row_id`", *added))
    return "`_row_id`"


def _added_identity(frame: SourceFrame, load: LoadStep) -> tuple[str, ...]:
    """Columns that, with the carried id, are unique in what is read; none where the id alone is.

    One run writes an id once, so it is unique in a slice that one commit wrote. Two slices may hold it both, and
    so may two commits or two locations.
    """
    is_sliced = RUN_PERIOD_COLUMN in frame.carried
    is_one_slice = load.reads_slices and len(frame.periods) <= 1
    return (
        *((f"`{RUN_PERIOD_COLUMN}`",) if is_sliced and (frame.may_repeat_ids or not is_one_slice) else ()),
        *((ORIGIN_COLUMN, ORDINAL_COLUMN) if frame.may_repeat_ids else ()),
    )


def new_row_columns(context: RunContext, dataset_id: str, table: str, seq: int) -> dict[str, str]:
    """System and hidden columns of a row that an operation makes; the caller sets `_row_id`."""
    columns = {
        "_deleted": "FALSE",
        "_source_dataset_id": quote_literal(dataset_id, STRING),
        "_source_table": quote_literal(table, STRING),
        "_operation_seq": f"{seq}L",
        "_created_at": context.timestamp,
        "_updated_at": context.timestamp,
        "_labels": "''",
    }
    return {**_NO_VALUES, **columns, **dict.fromkeys(context.words, "0L"), FAULT_COLUMN: null_sql(STRING)}


def row_id_sql(period: Period, kind: str, shared_texts: Sequence[str], parts: Sequence[str]) -> str:
    """SQL of an id: `shared_texts` are the same for all rows, `parts` are SQL of what tells rows apart.

    MD5 is a published standard, so ids stay the same across Spark versions, and 74 of its bits make a collision
    among a billion rows a matter of 1 to 38,000.
    """
    head = "".join(f"{len(text.encode())}:{text}" for text in (kind, *shared_texts))
    digest = f"MD5(CONCAT({quote_literal(head, STRING)}, {', '.join(_length_prefixed(part) for part in parts)}))"
    return (
        f"CONCAT({quote_literal(_time_part(period.start_date), STRING)}, SUBSTR({digest}, 1, 3), '-', "
        f"TRANSLATE(SUBSTR({digest}, 4, 1), '0123456789abcdef', '89ab89ab89ab89ab'), SUBSTR({digest}, 5, 3), '-', "
        f"SUBSTR({digest}, 8, 12))"
    )


def _length_prefixed(part: str) -> str:
    """Length before text, so that no two lists of parts read the same; NULL is a tag no length looks like."""
    text = f"CAST({part} AS STRING)"
    return f"COALESCE(CONCAT(OCTET_LENGTH({text}), ':', {text}), '-')"


def _time_part(start: datetime.date) -> str:
    """The first 13 hex digits of the id with their hyphens: 48 bits of milliseconds and the version."""
    midnight = datetime.datetime.combine(start, datetime.time(), datetime.UTC)
    milliseconds = max(0, int(midnight.timestamp() * 1000)) & 0xFFFF_FFFF_FFFF
    digits = f"{milliseconds:012x}"
    return f"{digits[:8]}-{digits[8:]}-7"


# The id that a row got when it was loaded, beside what is stored.
LOADED_ID_COLUMN = "__row_id"


def filter_by_time(
    frame: SourceFrame, load: LoadStep, context: RunContext, *, with_identity: bool = True
) -> "DataFrame":
    """Period tables by their period, bitemporal ones as of a date; both by the slice when Daybook wrote them."""
    from pyspark.sql import functions as F

    rows = frame.rows.identified if with_identity else frame.rows.plain
    match load.temporal_mode:
        case "period":
            column = period_column(frame.carried)
            _require_column(frame, load, column)
            if frame.known_periods is not None and frame.known_periods <= {*_accepted_periods(frame, context)}:
                return rows
            return rows.where(F.expr(_period_condition(column, frame, context)))
        case "bitemporal":
            _require_column(frame, load, "_valid_from")
            _require_column(frame, load, "_valid_to")
            is_valid = _validity_condition(frame, load, context)
            if RUN_PERIOD_COLUMN in frame.carried:
                # Summary rows are valid for the slice that contains them.
                is_summary = "`_valid_from` IS NULL AND `_valid_to` IS NULL"
                is_valid = (
                    f"{_period_condition(RUN_PERIOD_COLUMN, frame, context)} AND (({is_valid}) OR ({is_summary}))"
                )
            return rows.where(F.expr(is_valid))
        case "snapshot" | None:
            return rows


def _validity_condition(frame: SourceFrame, load: LoadStep, context: RunContext) -> str:
    """Valid at the start of the as-of day in UTC, or at its end; dates and timestamps compare alike."""
    as_of = quote_literal(frame.as_of or context.as_of, DATE)
    if frame.as_of is not None and load.version.as_of_rule == "end":
        return f"`_valid_from` < DATE_ADD({as_of}, 1) AND (`_valid_to` >= DATE_ADD({as_of}, 1) OR `_valid_to` IS NULL)"
    return f"`_valid_from` <= {as_of} AND (`_valid_to` > {as_of} OR `_valid_to` IS NULL)"


def _accepted_periods(frame: SourceFrame, context: RunContext) -> tuple[str, ...]:
    return frame.periods or (context.period.identifier,)


def _period_condition(column: str, frame: SourceFrame, context: RunContext) -> str:
    choices = ", ".join(quote_literal(identifier, STRING) for identifier in _accepted_periods(frame, context))
    return f"{quote_identifier(column)} IN ({choices})"


def _require_column(frame: SourceFrame, load: LoadStep, column: str) -> None:
    if column not in frame.carried:
        seq = load.operation_seq or None
        error = DaybookError("PROJECT_032", operation_seq=seq, dataset_id=load.dataset_id, column=column)
        raise error_of_load(error, load)


def load_input(frame: SourceFrame, load: LoadStep, context: RunContext) -> "DataFrame":
    """The working dataset before the first operation."""
    system = loaded_row_columns(frame, load, context)
    is_made = {name: name == "_deleted" or load.needs(name) for name in context.system}
    carried = {name: system[name] if is_made[name] else _NO_VALUES[name] for name in context.system}
    empty = {name: null_sql(column_type) for name, column_type in load.empty.items()}
    hidden = dict.fromkeys(context.words, "0L")
    if context.is_checking:
        hidden[FAULT_COLUMN] = _loaded_row_fault(frame, load)
    hidden |= {name: null_sql(column_type) for name, column_type in context.measures.hidden.items()}
    return filter_by_time(frame, load, context, with_identity=is_made.get("_row_id", False)).selectExpr(
        *quote_identifiers(*load.types),
        *aliased_sql({**empty, **carried, **hidden}),
    )


def load_source(frame: SourceFrame, load: LoadStep, context: RunContext, columns: Collection[str]) -> "DataFrame":
    """Some columns of the live rows of an append source or a join, system ones included, with failed checks."""
    from pyspark.sql import functions as F

    values = {**{name: quote_identifier(name) for name in load.types}, **loaded_row_columns(frame, load, context)}
    chosen = {name: sql for name, sql in values.items() if name in columns}
    if context.is_checking:
        chosen[FAULT_COLUMN] = _loaded_row_fault(frame, load)
    rows = filter_by_time(frame, load, context, with_identity="_row_id" in columns)
    if "_deleted" in frame.carried:
        rows = rows.where(F.expr("`_deleted` IS NOT TRUE"))
    return rows.selectExpr(*aliased_sql(chosen))


def stored_rows(frame: SourceFrame, load: LoadStep, context: RunContext, ids: Collection[str]) -> "DataFrame":
    """The rows that got these ids when they were loaded, as they are stored; the id is `__row_id`.

    With their position in a file where the source knows it.
    """
    from pyspark.sql import functions as F

    row_id = loaded_row_columns(frame, load, context)["_row_id"]
    rows = filter_by_time(frame, load, context).selectExpr(
        f"{row_id} AS {LOADED_ID_COLUMN}",
        *quote_identifiers(*load.types, *sorted(frame.carried - load.types.keys())),
        *((POSITION_COLUMN,) if frame.has_positions else ()),
    )
    return rows.where(F.col(LOADED_ID_COLUMN).isin(list(ids)))


def locate_row(
    check: NullValue | MalformedRowId, frame: SourceFrame, load: LoadStep, context: RunContext
) -> NullValue | MalformedRowId:
    """A failed check with the first row that fails it: rows that pass are read without their place in a file."""
    from pyspark.sql import functions as F

    if isinstance(check, NullValue):
        failed = f"{quote_identifier(check.column)} IS NULL"
    else:
        failed = f"({_MALFORMED_ROW_ID}) AND {text_sql('`_row_id`')} = {quote_literal(check.value, STRING)}"
    if load.role != "input" and "_deleted" in frame.carried:
        failed = f"({failed}) AND `_deleted` IS NOT TRUE"
    first = F.expr(f"MIN(STRUCT({ORIGIN_COLUMN} AS place, {ORDINAL_COLUMN} AS ordinal))").alias("first")
    row = filter_by_time(frame, load, context).where(F.expr(failed)).agg(first).first()
    if row is None or row["first"] is None:
        return check
    return replace(check, place=str(row["first"]["place"]), ordinal=str(row["first"]["ordinal"]))


def may_fail(frame: SourceFrame, load: LoadStep) -> bool:
    """Whether loaded rows are checked at all."""
    return _loaded_row_fault(frame, load) != null_sql(STRING)


def _loaded_row_fault(frame: SourceFrame, load: LoadStep) -> str:
    """SQL of the first check a loaded row fails: a NULL where none may be, a row id that is none."""
    branches = [
        f"WHEN {quote_identifier(name)} IS NULL "
        f"THEN {failed_check_sql(load.operation_seq, NullValue, {'load_key': load.key, 'column': name}, {})}"
        for name in load.required_columns
    ]
    if "_row_id" in frame.carried:
        text = failed_check_sql(load.operation_seq, MalformedRowId, {"load_key": load.key}, {"value": "`_row_id`"})
        branches.append(f"WHEN {_MALFORMED_ROW_ID} THEN {text}")
    return f"CASE {' '.join(branches)} END" if branches else null_sql(STRING)
