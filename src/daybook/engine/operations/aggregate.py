"""Applies an aggregate: live, picked rows are grouped and the summary rows appended."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from daybook.engine.context import RunContext, new_row_columns, null
from daybook.engine.folding import both
from daybook.engine.hidden import WEIGHT
from daybook.engine.identity import row_id
from daybook.engine.operations.summaries import summarise, summary_columns
from daybook.engine.working import Working
from daybook.expression import quote_identifier
from daybook.plan.steps import AggregateStep


def summary_rows(working: Working, step: AggregateStep, context: RunContext) -> DataFrame:
    """The rows an aggregate adds, with the columns of the working dataset in order."""
    working.settle_for(step.selector, *(value.expression for value in step.aggregations))
    rows = working.df
    picked = both(working.layer.live(), context.selector(step))
    if picked:
        rows = rows.where(F.expr(picked))
    summaries = summarise(rows, step.group_by, step.aggregations, context, step.seq, faults=False)
    found = summary_columns(step.group_by, step.aggregations)
    keys = [found[name] for name in step.group_by]
    known = (context.project_id, str(step.seq))
    columns = {
        **{name: null(column_type) for name, column_type in step.schema.items()},
        **new_row_columns(context, context.dataset_id, context.table, step.seq),
        "_row_id": row_id(context.period, "summary", known, keys),
        WEIGHT: WEIGHT,
        **found,
    }
    if "_labels" in step.group_by:
        columns["_labels"] = f"COALESCE({found['_labels']}, '')"
    return summaries.selectExpr(*(f"{sql} AS {quote_identifier(name)}" for name, sql in columns.items()))
