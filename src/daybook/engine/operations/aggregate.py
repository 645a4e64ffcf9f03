"""Applies an aggregate: live, picked rows are grouped and the summary rows appended."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from daybook.engine.context import RunContext, new_row_columns, null
from daybook.engine.counters import Counters
from daybook.engine.folding import both
from daybook.engine.identity import row_id
from daybook.engine.operations.new_rows import NewRows
from daybook.engine.operations.summaries import summarise, summary_columns
from daybook.engine.working import Working
from daybook.plan.steps import AggregateStep


def summary_rows(working: Working, step: AggregateStep, context: RunContext, counters: Counters | None) -> NewRows:
    """The rows an aggregate adds; with counters, all rows are counted on the way."""
    working.settle_for(step.selector, *(value.expression for value in step.aggregations))
    rows = working.rows_for(step.selector, counters)
    picked = both(working.layer.live(), context.selector(step))

    def summaries() -> DataFrame:
        df = rows().where(F.expr(picked)) if picked else rows()
        return summarise(df, step.group_by, step.aggregations, context, step.seq, faults=False)

    found = summary_columns(step.group_by, step.aggregations)
    keys = [found[name] for name in step.group_by]
    known = (context.project_id, str(step.seq))
    columns = {
        **{name: null(column_type) for name, column_type in step.schema.items()},
        **new_row_columns(context, context.dataset_id, context.table, step.seq),
        "_row_id": row_id(context.period, "summary", known, keys),
        **found,
    }
    if "_labels" in step.group_by:
        columns["_labels"] = f"COALESCE({found['_labels']}, '')"
    return NewRows(summaries, columns)
