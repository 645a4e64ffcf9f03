"""Groups of rows become one row each."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from daybook.engine.context import RunContext
from daybook.engine.hidden import FAULT
from daybook.engine.marking import VALUE, mark
from daybook.expression import quote_identifier
from daybook.plan.steps import Value

# How many rows a summary row stands for.
WEIGHT = "__weight"


def summarise(
    rows: DataFrame, group_by: Sequence[str], values: Sequence[Value], context: RunContext, seq: int, *, faults: bool
) -> DataFrame:
    """Group columns, values, the number of rows in WEIGHT, and the first failed check where rows bring any."""
    results = [
        F.expr(mark(context.fitted(value), seq, VALUE, number)).alias(_result(number))
        for number, value in enumerate(values)
    ]
    counted = F.expr("COUNT(1)").alias(WEIGHT)
    checked = [F.expr(f"MIN({FAULT})").alias(FAULT)] if faults else []
    keys = [F.expr(quote_identifier(name)).alias(_key(number)) for number, name in enumerate(group_by)]
    return rows.groupBy(*keys).agg(*results, counted, *checked)


def summary_columns(group_by: Sequence[str], values: Sequence[Value]) -> Mapping[str, str]:
    """Where group columns and values are found in what `summarise` gives, as SQL."""
    keys = {name: quote_identifier(_key(number)) for number, name in enumerate(group_by)}
    return {**keys, **{value.column: quote_identifier(_result(number)) for number, value in enumerate(values)}}


def _key(number: int) -> str:
    return f"__key_{number}"


def _result(number: int) -> str:
    return f"__result_{number}"
