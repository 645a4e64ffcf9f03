"""Applies aggregates that read the same rows: live, picked rows are grouped and the summary rows appended."""

from collections.abc import Mapping

from daybook.engine.context import RunContext, new_row_columns, null
from daybook.engine.folding import both
from daybook.engine.identity import row_id
from daybook.engine.operations.new_rows import NewRows
from daybook.engine.operations.summaries import Summaries
from daybook.engine.passes import AggregatePass
from daybook.engine.working import Working
from daybook.plan.steps import AggregateStep


def summary_rows(working: Working, together: AggregatePass, context: RunContext, counts: Mapping[str, str]) -> NewRows:
    """The rows aggregates add; `counts` are figures of all rows that are taken on the way."""
    first = together.steps[0]
    working.settle_for(*together.expressions)
    rows = working.rows_for(first.selector, is_all=bool(counts))
    picked = both(working.layer.live(), context.selector(first))
    summaries = Summaries(context, together.steps, picked, counts)
    empty = {name: null(column_type) for name, column_type in together.schema.items()}
    own = {step.seq: {**empty, **_columns(step, summaries.columns_of(step), context)} for step in together.steps}
    columns = {name: summaries.choice({seq: own[seq][name] for seq in own}) for name in own[first.seq]}
    return NewRows(lambda: summaries.of(rows()), columns, summaries.metrics, rows, summaries.is_new)


def _columns(step: AggregateStep, found: Mapping[str, str], context: RunContext) -> Mapping[str, str]:
    known = (context.project_id, str(step.seq))
    return {
        **new_row_columns(context, context.dataset_id, context.table, step.seq),
        "_row_id": row_id(context.period, "summary", known, [found[name] for name in step.group_by]),
        **found,
    }
