"""The working dataset while steps are applied to it, with added rows, and the rows that an output selects."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import partial, reduce
from typing import TYPE_CHECKING, Protocol

from daybook.engine.context import RunContext, aliased_sql, literal_path_pattern, null_sql
from daybook.engine.counters import Counters, ObservedFrame
from daybook.engine.failures import VALUE, mark_sql
from daybook.engine.layer import Layer, guarded_condition, updated_at_sql
from daybook.engine.measures import OutputSums
from daybook.expression import CompiledExpression, cast_sql, quote_identifier, quote_literal, spark_type
from daybook.model.types import DATE, SYSTEM_COLUMNS, TIMESTAMP, ColumnType
from daybook.plan.conditions import excludes_all
from daybook.plan.steps import CheckStep, OutputStep, RowStep, working_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class AddedRows:
    """Rows that operations add, made when they are used.

    `columns` are those of the working dataset in order, as SQL over what is observed; only rows where `is_new` holds
    are added. `schema` has the business columns of that moment. `kept` are the same rows, read back from storage.
    """

    seqs: tuple[int, ...]
    schema: Mapping[str, ColumnType]
    observed: ObservedFrame
    columns: Mapping[str, str]
    is_new: str | None = None
    kept: "DataFrame | None" = None

    def frame(self) -> "DataFrame":
        from pyspark.sql import functions as F

        if self.kept is not None:
            return self.kept
        rows = self.observed.frame.where(F.expr(self.is_new)) if self.is_new else self.observed.frame
        return rows.selectExpr(*aliased_sql(self.columns))

    def aligned(self, schema: Mapping[str, ColumnType]) -> "DataFrame":
        """The rows with the business columns of a later moment: more of them, or wider ones."""
        df = self.frame()
        if list(self.schema.items()) == list(schema.items()):
            return df
        # The names are known; the frame itself would ask the server for them.
        others = [quote_identifier(name) for name in self.columns if name not in self.schema]
        return df.selectExpr(*(self._column(name, target) for name, target in schema.items()), *others)

    def _column(self, name: str, target: ColumnType) -> str:
        quoted = quote_identifier(name)
        value = cast_sql(quoted, self.schema[name], target) if name in self.schema else null_sql(target)
        return f"{value} AS {quoted}"


class Staging(Protocol):
    """Where intermediate results are kept that would otherwise be computed again."""

    def keep(self, df: "DataFrame", label: str) -> "DataFrame":
        """The same rows, from where they are kept."""
        ...


class DividedStaging(Staging, Protocol):
    """Staging of which a part can be had."""

    def below(self, name: str) -> "DividedStaging":
        """A place of its own inside of this one."""
        ...


class StagingFolder:
    """Intermediate results, written once as Parquet and read back; the caller removes the folder.

    `options` say how Spark reaches the folder where it is on an object store.
    """

    def __init__(self, spark: "SparkSession", folder: str, options: Mapping[str, str] | None = None) -> None:
        self._spark = spark
        self._folder = folder.rstrip("/")
        self._options = dict(options or {})
        self._count = 0

    def below(self, name: str) -> "StagingFolder":
        """A folder of its own inside of this one."""
        return StagingFolder(self._spark, f"{self._folder}/{name}", self._options)

    def keep(self, df: "DataFrame", label: str) -> "DataFrame":
        """The same rows, from storage."""
        self._count += 1
        path = f"{self._folder}/{self._count:03d}-{label}"
        df.write.options(**self._options).mode("overwrite").parquet(path)
        return self._spark.read.options(**self._options).schema(df.schema).parquet(literal_path_pattern(path))


class WorkingDataset:
    """All rows, live and deleted: a frame, the projection on it that is still being folded, and rows added since."""

    def __init__(
        self,
        context: RunContext,
        df: "DataFrame",
        schema: Mapping[str, ColumnType],
        *,
        may_be_deleted: bool,
        seqs: Iterable[int] = (0,),
    ) -> None:
        self._context = context
        self._df = df
        self._layer = Layer(context, dict(schema), may_be_deleted)
        self._seqs = {*seqs}
        self._added: list[AddedRows] = []
        # Projections since the data was last read, which Spark analyses again with every one that is added.
        self.depth = 0
        # Added rows in the union since then: each repeats every later projection in the plan.
        self.width = 0

    @property
    def schema(self) -> Mapping[str, ColumnType]:
        return self._layer.after

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column in order: business, system, hidden."""
        return (*self.schema, *self._context.system, *self._context.hidden)

    @property
    def seqs(self) -> frozenset[int]:
        """The operations that the rows of the frame come from; 0 is the input."""
        return frozenset(self._seqs)

    @property
    def makers(self) -> frozenset[int]:
        """The operations that all rows come from, those that stand apart included."""
        return frozenset(self._seqs).union(*(rows.seqs for rows in self._added))

    @property
    def layer(self) -> Layer:
        return self._layer

    @property
    def df(self) -> "DataFrame":
        """One frame with everything folded and added so far."""
        self._flush()
        self._merge()
        return self._df

    def rows_for(
        self,
        selector: CompiledExpression | None,
        passing: "Callable[[DataFrame], DataFrame] | None" = None,
        *,
        is_all: bool = False,
    ) -> "Callable[[], DataFrame]":
        """The rows that a selector can pick at all.

        Rows of the frame are among them anyway where `is_all` asks for them or `passing` takes a look at them.
        """
        from pyspark.sql import DataFrame

        self._flush()
        schema = dict(self.schema)
        beside = [rows for rows in self._added if not excludes_all(selector, rows.seqs)]
        is_read = is_all or passing or not beside or not excludes_all(selector, self._seqs)
        own = [passing(self._df) if passing else self._df] if is_read else []
        return lambda: reduce(DataFrame.union, (*own, *(rows.aligned(schema) for rows in beside)))

    def frame_for(self, step: RowStep) -> "DataFrame":
        """Everything folded so far, with the added rows unless a step picks none of them."""
        self._flush()
        self._bring_together(step)
        return self._df

    def added_for(self, step: CheckStep) -> AddedRows | None:
        """The added rows that a check looks at, where it looks at no other rows."""
        if not excludes_all(step.selector, self._seqs) or "_updated_at" in working_columns(*step.expressions):
            return None
        added_rows = [rows for rows in self._added if not excludes_all(step.selector, rows.seqs)]
        return added_rows[0] if len(added_rows) == 1 else None

    def replace_added(self, old: AddedRows, new: AddedRows) -> None:
        self._added = [new if rows is old else rows for rows in self._added]

    def is_picked_entirely(self, step: RowStep) -> bool:
        """Whether a step picks every row, and all of them come from the input."""
        return self._layer.picked_by(step) is None and self._seqs == {0} and not self._added

    def add_rows(self, added: AddedRows) -> None:
        """Rows that an operation added; they become one frame with the others when an operation changes rows."""
        self._layer.extend(added.schema)
        self._added.append(added)

    def add(self, step: RowStep) -> None:
        self._bring_together(step)
        if not self._layer.accepts(step):
            self._flush()
        self.settle_for(*step.expressions)
        self._layer.add(step)

    def settle_for(self, *expressions: CompiledExpression | None) -> None:
        """Write `_updated_at` down when expressions are going to read it."""
        if self._context.words and "_updated_at" in working_columns(*expressions):
            self._flush()
            self._project({"_updated_at": updated_at_sql(self._context)})

    def continue_from(self, df: "DataFrame") -> None:
        """The same dataset from another frame; columns it has beyond ours go with the next projection."""
        self._flush()
        self._df = df

    def begin_anew(self, df: "DataFrame") -> None:
        """The same dataset read back from where it was written down."""
        self.continue_from(df)
        self.depth = self.width = 0

    def _bring_together(self, step: RowStep) -> None:
        """Added rows stay apart as long as no operation changes or checks them together with others."""
        if not all(excludes_all(step.selector, rows.seqs) for rows in self._added):
            self._flush()
            self._merge()

    def _merge(self) -> None:
        from pyspark.sql import DataFrame

        self.width += len(self._added)
        self._df = reduce(DataFrame.union, (self._df, *(rows.aligned(self.schema) for rows in self._added)))
        self._seqs.update(*(rows.seqs for rows in self._added))
        self._added.clear()

    def _flush(self) -> None:
        changed = self._layer.columns()
        may_be_deleted = self._layer.may_be_deleted or bool(self._layer.deletes)
        if changed:
            self._project(changed)
        self._layer = Layer(self._context, dict(self._layer.after), may_be_deleted)

    def _project(self, changed: Mapping[str, str]) -> None:
        names = {name: quote_identifier(name) for name in self.columns}
        texts = [f"{changed[name]} AS {quoted}" if name in changed else quoted for name, quoted in names.items()]
        self._df = self._df.selectExpr(*texts)
        self.depth += 1


_DATE_BOUNDS: Mapping[ColumnType, tuple[date, date]] = {
    DATE: (date.min, date.max),
    TIMESTAMP: (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)),
}


@dataclass(frozen=True, slots=True)
class _OutputSums:
    """Sums to take of all rows that pass an output, and of those that it writes, by name and SQL."""

    passing: Mapping[str, str] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)


_NO_SUMS = _OutputSums()


class OutputFrames:
    """The frames of outputs at one point of the pipeline."""

    def __init__(self, context: RunContext, working: WorkingDataset, staging: Staging) -> None:
        self._context = context
        self._working = working
        self._staging = staging

    def frame(self, step: OutputStep, counters: Counters | None, *, is_read_back: bool = False) -> "DataFrame":
        """What the output writes; with counters, all rows are counted when it is written.

        `is_read_back`: the caller sums what was written.
        """
        from pyspark.sql import functions as F

        self._working.settle_for(step.selector)
        ordering = [name for name in step.order_by if name not in step.columns]
        makers, schema = self._working.seqs, dict(self._working.schema)
        passing = None
        if counters is not None and counters.is_waiting:
            passing = partial(counters.passing, makers=makers, schema=schema)
        df = self._working.rows_for(step.selector, passing)()
        picked = self._picked(step)
        sums = self._sums(step, picked, is_read_back=is_read_back) if counters is not None else _NO_SUMS
        df = counters.summed(df, sums.passing) if counters is not None else df
        if picked:
            df = df.where(F.expr(picked))
        df = counters.summed(df, sums.written) if counters is not None else df
        columns = (
            self._column(name, target, step, number) for number, (name, target) in enumerate(step.columns.items())
        )
        types = {**step.schema, **SYSTEM_COLUMNS}
        df = df.selectExpr(*columns, *(self._column(name, types[name], step) for name in ordering))
        if not step.order_by:
            return df
        # Sorting looks at the data twice, to cut it into ranges, and would compute and count it twice.
        df = self._staging.keep(df, f"unsorted-{step.seq}")
        return df.orderBy(*(F.col(quote_identifier(name)).asc_nulls_last() for name in step.order_by)).drop(*ordering)

    def _sums(self, step: OutputStep, picked: str | None, *, is_read_back: bool) -> "_OutputSums":
        live, schema = self._working.layer.live(), self._working.schema
        sums = OutputSums(self._context.measures, step, self._working.makers, schema, picked, live)
        written = {} if is_read_back else sums.written()
        left_out = sums.left_out()
        if not left_out:
            return _OutputSums({}, written)
        # One look takes both.
        return _OutputSums({**left_out, **sums.written(of_all=True)} if written else left_out, {})

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
            own = step.schema.get(name, target)
            value = cast_sql(quote_identifier(name), own, target)
            if number is not None and own != target:
                value = mark_sql(value, step.seq, VALUE, number)
        return f"{value} AS {quote_identifier(name)}"


def _checked_date(column: str, column_type: ColumnType) -> str:
    """A date or timestamp that every format can hold; others fail the run, by a cast that names the value."""
    first, last = (quote_literal(value, column_type) for value in _DATE_BOUNDS[column_type])
    other = f"CAST(CONCAT('?', CAST({column} AS STRING)) AS {spark_type(column_type)})"
    return f"IF({column} BETWEEN {first} AND {last}, {column}, {other})"
