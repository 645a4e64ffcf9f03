"""Applies an append: rows of another dataset, as they are or summed up, aligned with the working dataset."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from daybook.engine.context import RunContext, new_row_columns, null
from daybook.engine.hidden import FAULT
from daybook.engine.identity import row_id
from daybook.engine.marking import SELECTOR, VALUE, mark
from daybook.engine.operations.new_rows import NewRows
from daybook.engine.operations.summaries import summarise, summary_columns
from daybook.expression import fit, quote_identifier
from daybook.plan.steps import AppendStep, LoadStep

_KEPT = ("_period", "_valid_from", "_valid_to", "_origin_seq", "_created_at", "_updated_at", "_labels")


def appended_rows(source: DataFrame, load: LoadStep, step: AppendStep, context: RunContext) -> NewRows:
    """The rows an append adds."""
    if step.source_selector:
        # A row that failed a check stays, so that the check holds whether the row is picked or not.
        selector = mark(context.sql(step.source_selector), step.seq, SELECTOR)
        source = source.where(F.expr(f"({selector}) OR {FAULT} IS NOT NULL"))
    known = (context.project_id, str(step.seq))
    columns = {
        **{name: null(column_type) for name, column_type in step.schema.items()},
        **new_row_columns(context, load.dataset_id, load.table, step.seq),
    }
    if step.aggregations:
        source = summarise(source, step.group_by, step.aggregations, context, step.seq, faults=True)
        found = summary_columns(step.group_by, step.aggregations)
        keys = [found[name] for name in step.group_by]
        values = dict(found) | {name: fit(found[name], load.types[name], step.schema[name]) for name in step.columns}
        if "_labels" in values:
            values["_labels"] = f"COALESCE({values['_labels']}, '')"
        columns |= {**values, "_row_id": row_id(context.period, "appended", known, ["'group'", *keys])}
    else:
        values = {name: _fitted(quote_identifier(name), name, load, step) for name in step.columns}
        identity = row_id(context.period, "appended", known, ["'row'", "`_row_id`"])
        kept = {name: quote_identifier(name) for name in _KEPT}
        columns |= {**values, **kept, "_row_id": identity}
    return NewRows(lambda: source, columns)


def _fitted(sql: str, name: str, load: LoadStep, step: AppendStep) -> str:
    return mark(fit(sql, load.types[name], step.schema[name]), step.seq, VALUE, step.columns.index(name))
