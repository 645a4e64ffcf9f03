"""Computes the rows that an operation of a run selected, and the rows it added, in few Spark jobs."""

import datetime
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

from daybook.engine.context import POSITION_COLUMN, RunContext, SourceFrame, aliased_sql
from daybook.engine.counters import observe_rows, read_observation
from daybook.engine.jobs import carry_tags, wait_for
from daybook.engine.load_rows import LOADED_ID_COLUMN, stored_rows
from daybook.engine.operations.aggregate import appended_group_id_sql, appended_row_id_sql, summary_id_sql
from daybook.engine.pipeline import Pipeline, may_lose_tasks
from daybook.errors import DaybookError
from daybook.expression import CompiledExpression, quote_identifier, quote_literal
from daybook.io.bindings import carried_types
from daybook.model.types import DATE, NULL, STRING, TIMESTAMP, FloatType
from daybook.plan.conditions import has_columns_beside_aggregates, is_exact, summands
from daybook.plan.loads import INPUT_KEY
from daybook.plan.measures import columns_not_summed, summed_totals
from daybook.plan.partial_plan import (
    PartialPlan,
    RowKey,
    RowKeys,
    key_columns,
    picked_rows,
    pruned,
    rows_column,
    selectable_columns,
    summary_rows,
)
from daybook.plan.steps import AggregateStep, AppendStep, ComputedColumn, LoadStep, OutputStep, Plan, Schema, Step
from daybook.runs.environment import RunEnvironment
from daybook.runs.explain.row_origins import ROW_ID, RestoredRun, Row, RowOrigins, group_columns, key_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# What a row adds to a total; no project can make a column of this name.
_SUMMAND_PREFIX = "__daybook_summand_"
_COUNT = "__daybook_rows"
# A value of the summary row of a group.
_SUMMARY_PREFIX = "__daybook_summary_"


@dataclass(frozen=True, slots=True)
class FoundRows:
    """The rows of a partial plan: the first ones, how many there are, and the sums of what each adds to a total."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    count: int
    sums: Mapping[str, Decimal | int]
    stored: Mapping[str, Row] = field(default_factory=dict)
    # What the rows of one group add up to, where that was counted on the way.
    summary: "FoundRows | None" = None


class RowsComputation:
    """Computes rows of one run."""

    def __init__(
        self, environment: RunEnvironment, spark: "SparkSession", run: RestoredRun, staging: str, limit: int
    ) -> None:
        self._environment = environment
        self._spark = spark
        self._run = run
        self._staging = staging
        self._limit = limit

    def frame(self, load_key: str) -> SourceFrame:
        return self._run.read(self._environment, self._spark, (load_key,))[load_key].frame

    def groups_with_ids(self, step: Step, ids: Sequence[str]) -> list[tuple[RowKey, ...]]:
        """The keys of the groups whose summary rows have these ids."""
        cut = self._cut(step, summary_rows(self._run.plan, step, (), ids))
        types = key_columns(self._run.plan, step)
        rows = self._collect(step, cut, {}).rows if cut else ()
        if not rows:
            raise DaybookError(
                "RUN_044", operation_seq=step.seq, seq=step.seq, run_id=self._run.run_id, ids=", ".join(ids)
            )
        return [tuple(RowKey(name, row[name], types[name]) for name in types) for row in rows]

    def rows_and_summary(
        self, step: Step, keys: RowKeys, origins: RowOrigins, columns: Sequence[str]
    ) -> tuple[FoundRows | None, FoundRows]:
        """The summary rows and the picked rows."""
        if not isinstance(step, AggregateStep | AppendStep) or not step.group_by:
            return None, self._picked_rows(step, keys, origins, columns)
        if self._is_one_group(step, keys):
            group_rows = self._picked_rows(step, keys, origins, columns, is_summarized=True)
            if group_rows.summary is not None or not group_rows.count:
                return group_rows.summary or _no_summary(self._run.plan, step), group_rows
        summary_cut = self._cut(step, summary_rows(self._run.plan, step, keys))
        assert summary_cut is not None
        picked = self._picked_cut(step, keys, origins, columns)
        # Both read from the same frames.
        self._run.read(self._environment, self._spark, {*summary_cut.feeds.values(), *picked.feeds.values()})
        # At the same time: Spark is idle for a good part of each.
        with ThreadPoolExecutor(1, thread_name_prefix="daybook-explain") as pool:
            totals = {name: quote_identifier(name) for name in summed_totals(self._run.plan, step)}
            summing = pool.submit(carry_tags(self._spark, self._collect), step, summary_cut, totals)
            group_rows = self._picked_rows(step, keys, origins, columns)
            return wait_for(summing), group_rows

    def ids_by_content(self, step: OutputStep, keys: RowKeys) -> dict[tuple[str | None, ...], list[str]]:
        """The ids of the rows of an output that have these values, computed again, by the texts of the values.

        All keys have the same columns. Of more than one row too many, the number is not counted.
        """
        from pyspark.sql import functions as F

        names = [key.column for key in keys[0]]
        types = {key.column: key.type for key in keys[0]}
        cut = picked_rows(self._run.plan, step, keys, names)
        cut = pruned(cut) if self._is_checked(step) else cut
        key_counts = Counter(tuple(key_text(key.value) for key in row) for row in keys)
        most = max(key_counts.values()) + 1
        with self._pipeline(step, cut) as pipeline:
            (group,) = pipeline.groups()
            (output,) = group.outputs
            ids = F.slice(F.sort_array(F.collect_list(ROW_ID)), 1, most).alias(ROW_ID)
            df = output.df.groupBy(*map(quote_identifier, names)).agg(ids)
            rows = _collect_rows(df, {**types, ROW_ID: NULL})
            if not self._is_checked(step):
                group.verify()
        return {tuple(key_text(row[name]) for name in names): row[ROW_ID] for row in rows}

    def _is_checked(self, step: Step) -> bool:
        """Whether the run checked the rows: what a completed run computed was, but nothing after its last output."""
        outputs = self._run.plan.outputs
        return self._run.record.status == "completed" and bool(outputs) and step.seq <= outputs[-1].seq

    def _is_one_group(self, step: AggregateStep | AppendStep, keys: RowKeys) -> bool:
        """Whether one group is asked for whose totals can be counted while its rows are sought."""
        types = key_columns(self._run.plan, step)
        return (
            len(keys) == 1
            and {key.column for key in keys[0]} == {*step.group_by}
            and self._is_checked(step)
            and not may_lose_tasks(self._spark)
            and all(types[name] == step.schema.get(name) for name in step.group_by)
            and not any(isinstance(types[name], FloatType) for name in step.group_by)
            and not any(has_columns_beside_aggregates(value.expression.tree) for value in step.aggregations)
        )

    def _cut(self, step: Step, cut: PartialPlan | None) -> PartialPlan | None:
        return pruned(cut) if cut is not None and self._is_checked(step) else cut

    def _picked_cut(self, step: Step, keys: RowKeys, origins: RowOrigins, columns: Sequence[str]) -> PartialPlan:
        cut = picked_rows(self._run.plan, step, keys, (*columns, *origins.columns))
        return pruned(cut) if self._is_checked(step) else cut

    def _picked_rows(
        self,
        step: Step,
        keys: RowKeys,
        origins: RowOrigins,
        columns: Sequence[str],
        *,
        is_summarized: bool = False,
    ) -> FoundRows:
        """`columns` are wanted beside the usual ones; those with amounts are summed up where nothing is grouped."""
        plan = self._run.plan
        made_ids: tuple[str, ...] = ()
        if isinstance(step, AppendStep) and not step.group_by and keys and _are_ids(keys):
            # Of a row of the source, or of the row that the append made of it.
            made_ids = tuple(str(key.value) for (key,) in keys)
            keys = ()
        seen = selectable_columns(plan, step)
        usual = picked_rows(plan, step, keys)
        cut = self._picked_cut(step, keys, origins, columns)
        added: Mapping[str, str | CompiledExpression]
        if isinstance(step, AggregateStep | AppendStep) and group_columns(step):
            totals = summed_totals(plan, step)
            added = {name: value for name, value in summands(step).items() if name in totals}
        else:
            exact = (name for name in columns if name in seen and is_exact(seen[name]))
            added = {name: quote_identifier(name) for name in exact if name not in self._columns_not_summed(step)}
        picked = self._collect(step, cut, added, origins, is_summarized=is_summarized, made_ids=made_ids)
        return replace(picked, columns=tuple(usual.output.columns))

    def _columns_not_summed(self, step: Step) -> frozenset[str]:
        plan = self._run.plan
        if isinstance(step, AppendStep):
            return frozenset(plan.load(step.load_key).version.dataset.natural_key_columns)
        return columns_not_summed(plan, step.seq, 0)

    def _collect(
        self,
        step: Step,
        cut: PartialPlan,
        added: Mapping[str, str | CompiledExpression],
        origins: RowOrigins | None = None,
        *,
        is_summarized: bool = False,
        made_ids: Sequence[str] = (),
    ) -> FoundRows:
        from pyspark.sql import functions as F

        is_counting = not self._is_checked(step)
        with self._pipeline(step, cut) as pipeline:
            (group,) = pipeline.groups()
            (output,) = group.outputs
            names = {name: f"{_SUMMAND_PREFIX}{number}" for number, name in enumerate(added)}
            values = {
                names[name]: summand if isinstance(summand, str) else pipeline.context.sql(summand)
                for name, summand in added.items()
            }
            rows_of_step = output.df
            if made_ids:
                assert isinstance(step, AppendStep)
                choices = ", ".join(quote_literal(row_id, STRING) for row_id in made_ids)
                made_id = appended_row_id_sql(step, pipeline.context)
                rows_of_step = rows_of_step.where(F.expr(f"`_row_id` IN ({choices}) OR {made_id} IN ({choices})"))
            df = rows_of_step.selectExpr("*", *(f"{sql} AS {name}" for name, sql in values.items()))
            summary = GroupSummary(self._run.plan, step, pipeline.context) if is_summarized else None
            totals = RowTotals(self._spark, df, tuple(names.values()), summary.aggregates if summary else {})
            first = totals.frame.orderBy(*map(quote_identifier, cut.order)).limit(self._limit + 1)
            types = {**output.step.columns, **dict.fromkeys(names.values(), NULL)}
            rows = _collect_rows(first, types)
            if len(rows) <= self._limit:
                count = len(rows)
                sums = {name: _sum(row[column] for row in rows) for name, column in names.items()}
            else:
                computed = totals.compute()
                count, sums = computed[_COUNT], {name: computed[column] or 0 for name, column in names.items()}
            if is_counting:
                group.verify()
            shown = tuple({name: row[name] for name in output.step.columns} for row in rows[: self._limit])
            load = self._run.plan.load(cut.feeds[INPUT_KEY])
            stored = self._stored_rows(pipeline, load, self.frame(load.key), shown, origins)
            group_summary = summary.found(totals.observed, rows[0], count) if summary and rows else None
        return FoundRows(tuple(output.step.columns), shown, count, sums, stored, group_summary)

    @contextmanager
    def _pipeline(self, step: Step, cut: PartialPlan) -> Iterator[Pipeline]:
        sources = self._run.read(self._environment, self._spark, cut.feeds.values())
        frames = {key: sources[whole].frame for key, whole in cut.feeds.items()}
        staging = f"{self._staging}/{secrets.token_hex(4)}"
        as_of = self._run.snapshot.as_of
        is_counting = not self._is_checked(step)
        folder = self._environment.staging(self._spark, staging)
        with Pipeline(self._spark, cut.plan, frames, staging=folder, as_of=as_of, is_counting=is_counting) as pipeline:
            yield pipeline

    def _stored_rows(
        self, pipeline: Pipeline, load: LoadStep, frame: SourceFrame, rows: Sequence[Row], origins: RowOrigins | None
    ) -> dict[str, Row]:
        """The loaded rows as they are stored, by their ids, where that says more than the rows themselves."""
        ids = [row[ROW_ID] for row in rows if row.get("_operation_seq") == 0]
        if not ids or origins is None or not (frame.has_positions or origins.needs_stored(frame)):
            return {}
        types = {name: type_ for name, type_ in carried_types().items() if name in frame.carried}
        positions = {POSITION_COLUMN: STRING} if frame.has_positions else {}
        df = stored_rows(frame, load, pipeline.context, ids)
        rows = _collect_rows(df, {LOADED_ID_COLUMN: STRING, **types, **load.types, **positions})
        return {row[LOADED_ID_COLUMN]: row for row in rows}


def _are_ids(keys: RowKeys) -> bool:
    return all([key.column for key in row] == [ROW_ID] and row[0].value is not None for row in keys)


class GroupSummary:
    """The summary row of a single group, as aggregates over its rows."""

    def __init__(self, plan: Plan, step: Step, context: RunContext) -> None:
        assert isinstance(step, AggregateStep | AppendStep)
        self._step = step
        self._totals = summed_totals(plan, step)
        self._context = context
        self._columns = {value.column: f"{_SUMMARY_PREFIX}{at}" for at, value in enumerate(step.aggregations)}

    @property
    def aggregates(self) -> dict[str, str]:
        """What to count, by name and SQL; all rows of the group give its id."""
        step = self._step
        group = {name: quote_identifier(name) for name in step.group_by}
        if isinstance(step, AggregateStep):
            row_id = summary_id_sql(step, group, self._context)
        else:
            row_id = appended_group_id_sql(step, group, self._context)
        values = {self._columns[value.column]: self._sql(value) for value in step.aggregations}
        return {**values, _SUMMARY_PREFIX: f"MIN({row_id})"}

    def found(self, observed: Mapping[str, Any], row: Row, count: int) -> FoundRows | None:
        """`row` is one of the group; None where nothing was observed."""
        if not observed:
            return None
        step = self._step
        aggregates = {value.column: self._value(value, observed) for value in step.aggregations}
        group = {name: row[name] for name in step.group_by}
        summary = {**group, **aggregates, rows_column(step): count, ROW_ID: observed[_SUMMARY_PREFIX]}
        sums = {name: aggregates[name] or 0 for name in self._totals}
        return FoundRows(tuple(summary), (summary,), 1, sums)

    def _sql(self, value: ComputedColumn) -> str:
        # Observed dates and times would come as times of another zone.
        sql = self._context.fitted(value)
        function = {TIMESTAMP: "UNIX_MICROS", DATE: "UNIX_DATE"}.get(value.type)
        return f"{function}({sql})" if function else sql

    def _value(self, value: ComputedColumn, observed: Mapping[str, Any]) -> Any:
        observation = observed[self._columns[value.column]]
        if value.type == TIMESTAMP:
            return _utc_time(observation)
        return (
            _EPOCH.date() + datetime.timedelta(days=observation)
            if value.type == DATE and observation is not None
            else observation
        )


def _no_summary(plan: Plan, step: AggregateStep | AppendStep) -> FoundRows:
    names = (*step.group_by, *(value.column for value in step.aggregations), rows_column(step), ROW_ID)
    return FoundRows(names, (), 0, dict.fromkeys(summed_totals(plan, step), 0))


class RowTotals:
    """The number of all rows and the sums of columns, counted while the first rows are sought.

    Sorting looks at all rows anyway. On a cluster, where tasks may be done twice, another query counts.
    """

    def __init__(
        self, spark: "SparkSession", df: "DataFrame", columns: Sequence[str], others: Mapping[str, str]
    ) -> None:
        from pyspark.sql import Observation

        self._df = df
        self._columns = columns
        # Further aggregates over the rows, by name and SQL, which only `observed` has.
        self._others = others
        self._observation = None if may_lose_tasks(spark) else Observation()

    @property
    def frame(self) -> "DataFrame":
        from pyspark.sql import functions as F

        if self._observation is None:
            return self._df
        # A sum that does not fit must fail only if it is used.
        sums = [F.try_sum(column).alias(column) for column in self._columns]
        others = [F.expr(text) for text in aliased_sql(self._others)]
        return observe_rows(self._df, self._observation, F.count("*").alias(_COUNT), *sums, *others)

    @cached_property
    def observed(self) -> Mapping[str, Any]:
        """What was counted when all rows of the frame were looked at; nothing where that was lost."""
        return read_observation(self._observation) if self._observation is not None else {}

    def compute(self) -> Mapping[str, Any]:
        """After all rows of the frame were looked at."""
        from pyspark.sql import functions as F

        totals = {name: self.observed.get(name) for name in (_COUNT, *self._columns)}
        if None not in totals.values():
            return totals
        sums = [F.sum(column).alias(column) for column in self._columns]
        (row,) = self._df.agg(F.count("*").alias(_COUNT), *sums).collect()
        return row.asDict()


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def _collect_rows(df: "DataFrame", types: Schema) -> list[dict[str, Any]]:
    """All rows, times in UTC. Asking for an Arrow table would take a request of its own for its schema."""
    times = [name for name, type_ in types.items() if type_ == TIMESTAMP]
    names = [
        f"UNIX_MICROS({quote_identifier(name)}) AS {quote_identifier(name)}"
        if name in times
        else quote_identifier(name)
        for name in types
    ]
    rows = [row.asDict() for row in df.selectExpr(*names).collect()]
    for row in rows:
        for name in times:
            row[name] = _utc_time(row[name])
    return rows


def _utc_time(microseconds: int | None) -> datetime.datetime | None:
    return None if microseconds is None else _EPOCH + datetime.timedelta(microseconds=microseconds)


def _sum(values: Iterable[Any]) -> Decimal | int:
    total: Decimal | int = sum((value for value in values if value is not None), start=0)
    return total
