"""Applies an append: rows of another dataset, copied or aggregated, aligned with the working dataset."""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from daybook.engine.context import FAULT_COLUMN, RunContext, null_sql
from daybook.engine.counters import (
    FAULT_TEXT_METRIC,
    FAULTY_METRIC,
    FAULTY_ROWS_SQL,
    FIRST_FAULT_SQL,
    ObservedFrame,
    added_metric,
    picked_metric,
)
from daybook.engine.failures import SELECTOR, VALUE, mark_sql
from daybook.engine.load_rows import new_row_columns, row_id_sql
from daybook.engine.operations.aggregate import Summaries
from daybook.engine.working_dataset import AddedRows
from daybook.expression import cast_sql, quote_identifier
from daybook.plan.steps import AppendStep, LoadStep

_CARRIED_COLUMNS = ("_period", "_valid_from", "_valid_to", "_origin_seq", "_created_at", "_updated_at", "_labels")


def appended_rows(
    source: DataFrame, load: LoadStep, step: AppendStep, context: RunContext, *, may_fail: bool
) -> AddedRows:
    """The rows an append adds; checks hold whether a row that fails one is picked or not."""
    selector = mark_sql(context.sql(step.source_selector), step.seq, SELECTOR) if step.source_selector else None
    columns = {
        **{name: null_sql(column_type) for name, column_type in step.schema.items()},
        **new_row_columns(context, load.dataset_id, load.table, step.seq),
    }
    if step.aggregations:
        return _aggregated_rows(source, selector, load, step, context, columns, may_fail=may_fail)
    rows = source.where(F.expr(f"({selector}) OR {FAULT_COLUMN} IS NOT NULL")) if selector else source
    values = {name: _fitted_column(quote_identifier(name), name, load, step) for name in step.columns}
    for number, value in enumerate(step.mapped):
        fitted = cast_sql(context.sql(value.expression), value.expression.type, step.schema[value.column])
        values[value.column] = mark_sql(fitted, step.seq, VALUE, number)
    identity = row_id_sql(context.period, "appended", _id_scope(step, context), ["'row'", "`_row_id`"])
    columns |= {**values, **{name: quote_identifier(name) for name in _CARRIED_COLUMNS}, "_row_id": identity}
    metrics = {picked_metric(step.seq): "COUNT(1)", added_metric(step.seq): "COUNT(1)"}
    metrics |= {FAULT_TEXT_METRIC: FIRST_FAULT_SQL} if may_fail else {}
    return AddedRows((step.seq,), step.schema, ObservedFrame(lambda: rows, metrics), columns)


def _aggregated_rows(
    source: DataFrame,
    selector: str | None,
    load: LoadStep,
    step: AppendStep,
    context: RunContext,
    columns: Mapping[str, str],
    *,
    may_fail: bool,
) -> AddedRows:
    summaries = Summaries(context, (step,), selector, {FAULTY_METRIC: FAULTY_ROWS_SQL} if may_fail else {})
    found = summaries.columns_of(step)
    values = {**found, **{name: cast_sql(found[name], load.types[name], step.schema[name]) for name in step.columns}}
    if "_labels" in values:
        values["_labels"] = f"COALESCE({values['_labels']}, '')"
    parts = ["'group'", *(found[name] for name in step.group_by)]
    identity = row_id_sql(context.period, "appended", _id_scope(step, context), parts)
    columns = {**columns, **values, "_row_id": identity}
    observed = ObservedFrame(lambda: summaries.of(source), summaries.metrics, lambda: source)
    return AddedRows((step.seq,), step.schema, observed, columns, summaries.is_new)


def _id_scope(step: AppendStep, context: RunContext) -> tuple[str, str]:
    return context.project_id, str(step.seq)


def _fitted_column(sql: str, name: str, load: LoadStep, step: AppendStep) -> str:
    return mark_sql(cast_sql(sql, load.types[name], step.schema[name]), step.seq, VALUE, step.columns.index(name))
