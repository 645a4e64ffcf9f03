"""Applies an append: rows of another dataset, as they are or summed up, aligned with the working dataset."""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from daybook.engine.context import RunContext, new_row_columns, null
from daybook.engine.hidden import FAULT
from daybook.engine.identity import row_id
from daybook.engine.marking import SELECTOR, VALUE, mark
from daybook.engine.metrics import FAULT_TEXT, FAULTY, FAULTY_ROWS, FIRST_FAULT, added_by, picked_by
from daybook.engine.operations.new_rows import NewRows
from daybook.engine.operations.summaries import Summaries
from daybook.expression import fit, quote_identifier
from daybook.plan.steps import AppendStep, LoadStep

_KEPT = ("_period", "_valid_from", "_valid_to", "_origin_seq", "_created_at", "_updated_at", "_labels")


def appended_rows(
    source: DataFrame, load: LoadStep, step: AppendStep, context: RunContext, *, may_fail: bool
) -> NewRows:
    """The rows an append adds; checks hold whether a row that fails one is picked or not."""
    selector = mark(context.sql(step.source_selector), step.seq, SELECTOR) if step.source_selector else None
    columns = {
        **{name: null(column_type) for name, column_type in step.schema.items()},
        **new_row_columns(context, load.dataset_id, load.table, step.seq),
    }
    if step.aggregations:
        return _summed_up(source, selector, load, step, context, columns, may_fail=may_fail)
    rows = source.where(F.expr(f"({selector}) OR {FAULT} IS NOT NULL")) if selector else source
    values = {name: _fitted(quote_identifier(name), name, load, step) for name in step.columns}
    identity = row_id(context.period, "appended", _known(step, context), ["'row'", "`_row_id`"])
    columns |= {**values, **{name: quote_identifier(name) for name in _KEPT}, "_row_id": identity}
    metrics = {picked_by(step.seq): "COUNT(1)", added_by(step.seq): "COUNT(1)"}
    return NewRows(lambda: rows, columns, metrics | ({FAULT_TEXT: FIRST_FAULT} if may_fail else {}), lambda: source)


def _summed_up(
    source: DataFrame,
    selector: str | None,
    load: LoadStep,
    step: AppendStep,
    context: RunContext,
    columns: Mapping[str, str],
    *,
    may_fail: bool,
) -> NewRows:
    summaries = Summaries(context, (step,), selector, {FAULTY: FAULTY_ROWS} if may_fail else {})
    found = summaries.columns_of(step)
    values = {**found, **{name: fit(found[name], load.types[name], step.schema[name]) for name in step.columns}}
    if "_labels" in values:
        values["_labels"] = f"COALESCE({values['_labels']}, '')"
    parts = ["'group'", *(found[name] for name in step.group_by)]
    identity = row_id(context.period, "appended", _known(step, context), parts)
    columns = {**columns, **values, "_row_id": identity}
    return NewRows(lambda: summaries.of(source), columns, summaries.metrics, lambda: source, summaries.is_new)


def _known(step: AppendStep, context: RunContext) -> tuple[str, str]:
    return context.project_id, str(step.seq)


def _fitted(sql: str, name: str, load: LoadStep, step: AppendStep) -> str:
    return mark(fit(sql, load.types[name], step.schema[name]), step.seq, VALUE, step.columns.index(name))
