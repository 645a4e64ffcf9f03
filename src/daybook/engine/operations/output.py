"""Applies an output: selects the rows and columns that are written."""

from collections.abc import Mapping
from datetime import UTC, date, datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from daybook.engine.context import RunContext
from daybook.engine.counters import Counters
from daybook.engine.failures import VALUE, mark_sql
from daybook.engine.layer import guarded_condition, updated_at_sql
from daybook.engine.working_dataset import Staging, WorkingDataset
from daybook.expression import cast_sql, quote_identifier, quote_literal, spark_type
from daybook.model.types import DATE, SYSTEM_COLUMNS, TIMESTAMP, ColumnType
from daybook.plan.steps import OutputStep

_DATE_BOUNDS: Mapping[ColumnType, tuple[date, date]] = {
    DATE: (date.min, date.max),
    TIMESTAMP: (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)),
}


class OutputFrames:
    """The frames of outputs that stand at one point of the pipeline."""

    def __init__(self, context: RunContext, working: WorkingDataset, staging: Staging) -> None:
        self._context = context
        self._working = working
        self._staging = staging

    def frame(self, step: OutputStep, counters: Counters | None) -> DataFrame:
        """What the output writes; with counters, all rows are counted when it is written."""
        self._working.settle_for(step.selector)
        ordering = [name for name in step.order_by if name not in step.columns]
        df = self._working.rows_for(step.selector, counters.passing if counters else None)()
        if picked := self._picked(step):
            df = df.where(F.expr(picked))
        columns = (
            self._column(name, target, step, number) for number, (name, target) in enumerate(step.columns.items())
        )
        types = {**step.schema, **SYSTEM_COLUMNS}
        df = df.selectExpr(*columns, *(self._column(name, types[name], step) for name in ordering))
        if not step.order_by:
            return df
        # Sorting looks at the data twice, to cut it into ranges, and would compute and count it twice.
        df = self._staging.keep(df, f"unsorted-{step.seq}")
        return df.orderBy(*map(quote_identifier, step.order_by)).drop(*ordering)

    def _picked(self, step: OutputStep) -> str | None:
        live = None if step.arguments.include_deleted else self._working.layer.live()
        return guarded_condition(live, self._context.selector(step))

    def _column(self, name: str, target: ColumnType, step: OutputStep, number: int | None = None) -> str:
        """A column to be written has its number, one that is only sorted by has none."""
        if name == "_updated_at":
            value = updated_at_sql(self._context)
        elif number is not None and target in _DATE_BOUNDS:
            value = mark_sql(_checked_date(quote_identifier(name), target), step.seq, VALUE, number)
        else:
            value = cast_sql(quote_identifier(name), step.schema.get(name, target), target)
        return f"{value} AS {quote_identifier(name)}"


def _checked_date(column: str, column_type: ColumnType) -> str:
    """A date or timestamp that every format can hold; others fail the run, by a cast that names the value."""
    first, last = (quote_literal(value, column_type) for value in _DATE_BOUNDS[column_type])
    other = f"CAST(CONCAT('?', CAST({column} AS STRING)) AS {spark_type(column_type)})"
    return f"IF({column} BETWEEN {first} AND {last}, {column}, {other})"
