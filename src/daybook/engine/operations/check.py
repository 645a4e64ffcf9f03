"""A check that only looks at rows which an operation added: they are checked where they are, beside the others."""

from dataclasses import replace

from pyspark.sql import DataFrame

from daybook.engine.context import RunContext
from daybook.engine.counters import FAULT_TEXT_METRIC, FIRST_FAULT_SQL, ObservedFrame, picked_metric, picked_rows_sql
from daybook.engine.layer import Layer
from daybook.engine.working_dataset import AddedRows, WorkingDataset
from daybook.expression import quote_identifier
from daybook.plan.steps import CheckStep


def checked_rows(working: WorkingDataset, added: AddedRows, step: CheckStep, context: RunContext) -> AddedRows:
    """The same rows with the text of the check where they fail it; rows that are added are never deleted yet."""
    schema, names = dict(working.schema), working.columns
    layer = Layer(context, schema, may_be_deleted=False)
    layer.add(step)
    changed = layer.columns()
    texts = {name: changed.get(name, quote_identifier(name)) for name in names}

    def rows() -> DataFrame:
        return added.aligned(schema).selectExpr(*(f"{sql} AS {quote_identifier(name)}" for name, sql in texts.items()))

    metrics = {picked_metric(step.seq): picked_rows_sql(step, context), FAULT_TEXT_METRIC: FIRST_FAULT_SQL}
    same = {name: quote_identifier(name) for name in names}
    observed = ObservedFrame(rows, metrics)
    return replace(added, schema=schema, observed=observed, columns=same, is_new=None, kept=None)
