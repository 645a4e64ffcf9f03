"""Computes the rows that an operation of a run selected, and the rows it added, in few Spark jobs."""

import datetime
import secrets
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from daybook.engine.context import POSITION_COLUMN, SourceFrame
from daybook.engine.counters import observe_rows, read_observation
from daybook.engine.jobs import wait_for
from daybook.engine.load_rows import LOADED_ID_COLUMN, stored_rows
from daybook.engine.pipeline import Pipeline, may_lose_tasks
from daybook.errors import DaybookError
from daybook.expression import CompiledExpression, quote_identifier
from daybook.io.bindings import carried_types
from daybook.model.types import NULL, STRING, TIMESTAMP
from daybook.plan.conditions import is_exact, summands, total_columns
from daybook.plan.partial_plan import (
    PartialPlan,
    RowKey,
    RowKeys,
    key_columns,
    picked_rows,
    selectable_columns,
    summary_rows,
)
from daybook.plan.references import INPUT_KEY
from daybook.plan.steps import AggregateStep, AppendStep, Plan, Schema, Step
from daybook.runs.environment import RunEnvironment
from daybook.runs.explain.row_origins import ROW_ID, RestoredRun, Row, RowOrigins, group_columns

# What a row adds to a total; no project can make a column of this name.
_SUMMAND_PREFIX = "__daybook_summand_"
_COUNT = "__daybook_rows"


@dataclass(frozen=True, slots=True)
class FoundRows:
    """The rows of a partial plan: the first ones, how many there are, and the sums of what each adds to a total."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    count: int
    sums: Mapping[str, Decimal | int]
    stored: Mapping[str, Row] = field(default_factory=dict)


class RowsComputation:
    """Computes rows of one run."""

    def __init__(
        self, environment: RunEnvironment, spark: SparkSession, run: RestoredRun, staging: str, limit: int
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
        cut = summary_rows(self._run.plan, step, (), ids)
        types = key_columns(self._run.plan, step)
        rows = self._collect(cut, {}).rows if cut else ()
        if not rows:
            raise DaybookError(
                "RUN_044", operation_seq=step.seq, seq=step.seq, run_id=self._run.run_id, ids=", ".join(ids)
            )
        return [tuple(RowKey(name, row[name], types[name]) for name in types) for row in rows]

    def rows_and_summary(
        self, step: Step, keys: RowKeys, origins: RowOrigins, columns: Sequence[str]
    ) -> tuple[FoundRows | None, FoundRows]:
        """The summary rows and the picked rows, at the same time: Spark is idle for a good part of each."""
        if not group_columns(step):
            return None, self._picked_rows(step, keys, origins, columns)
        # Both read from the same frames.
        self._run.read(self._environment, self._spark, _loads_before(self._run.plan, step))
        with ThreadPoolExecutor(1, thread_name_prefix="daybook-explain") as pool:
            made = pool.submit(self._summary_rows, step, keys)
            found = self._picked_rows(step, keys, origins, columns)
            return wait_for(made), found

    def _summary_rows(self, step: Step, keys: RowKeys) -> FoundRows | None:
        cut = summary_rows(self._run.plan, step, keys)
        if cut is None or not isinstance(step, AggregateStep | AppendStep):
            return None
        return self._collect(cut, {name: quote_identifier(name) for name in total_columns(step)})

    def _picked_rows(self, step: Step, keys: RowKeys, origins: RowOrigins, columns: Sequence[str]) -> FoundRows:
        """`columns` are wanted beside the usual ones; those with amounts are summed up where nothing is grouped."""
        plan = self._run.plan
        seen = selectable_columns(plan, step)
        usual = picked_rows(plan, step, keys)
        cut = picked_rows(plan, step, keys, (*columns, *origins.columns))
        added: Mapping[str, str | CompiledExpression]
        if isinstance(step, AggregateStep | AppendStep) and group_columns(step):
            added = summands(step)
        else:
            added = {name: quote_identifier(name) for name in columns if name in seen and is_exact(seen[name])}
        return replace(self._collect(cut, added, origins), columns=tuple(usual.output.columns))

    def _collect(
        self, cut: PartialPlan, added: Mapping[str, str | CompiledExpression], origins: RowOrigins | None = None
    ) -> FoundRows:
        sources = self._run.read(self._environment, self._spark, cut.feeds.values())
        frames = {key: sources[whole].frame for key, whole in cut.feeds.items()}
        staging = f"{self._staging}/{secrets.token_hex(4)}"
        as_of = self._run.snapshot.as_of
        # What a completed run computed was checked then; a failed one may have rows that match twice.
        is_counting = self._run.record.status != "completed"
        with Pipeline(self._spark, cut.plan, frames, staging=staging, as_of=as_of, is_counting=is_counting) as pipeline:
            try:
                (group,) = pipeline.groups()
                (output,) = group.outputs
                names = {name: f"{_SUMMAND_PREFIX}{number}" for number, name in enumerate(added)}
                values = {
                    names[name]: each if isinstance(each, str) else pipeline.context.sql(each)
                    for name, each in added.items()
                }
                df = output.df.selectExpr("*", *(f"{sql} AS {name}" for name, sql in values.items()))
                totals = RowTotals(self._spark, df, tuple(names.values()))
                first = totals.frame.orderBy(*map(quote_identifier, cut.order)).limit(self._limit + 1)
                types = {**output.step.columns, **dict.fromkeys(names.values(), NULL)}
                rows = _collect_rows(first, types)
                if len(rows) <= self._limit:
                    count = len(rows)
                    sums = {name: _sum(row[column] for row in rows) for name, column in names.items()}
                else:
                    found = totals.compute()
                    count, sums = found[_COUNT], {name: found[column] or 0 for name, column in names.items()}
                if is_counting:
                    group.verify()
                shown = tuple({name: row[name] for name in output.step.columns} for row in rows[: self._limit])
                stored = self._stored_rows(pipeline, cut, frames[INPUT_KEY], shown, origins)
            except Exception as failure:
                raise pipeline.failure(failure) from failure
        return FoundRows(tuple(output.step.columns), shown, count, sums, stored)

    def _stored_rows(
        self, pipeline: Pipeline, cut: PartialPlan, frame: SourceFrame, rows: Sequence[Row], origins: RowOrigins | None
    ) -> dict[str, Row]:
        """The loaded rows as they are stored, by their ids, where that says more than the rows themselves."""
        ids = [row[ROW_ID] for row in rows if row.get("_operation_seq") == 0]
        if not ids or origins is None or not (frame.has_positions or origins.needs_stored(frame)):
            return {}
        load = cut.plan.input
        types = {name: type_ for name, type_ in carried_types().items() if name in frame.carried}
        positions = {POSITION_COLUMN: STRING} if frame.has_positions else {}
        found = stored_rows(frame, load, pipeline.context, ids)
        rows = _collect_rows(found, {LOADED_ID_COLUMN: STRING, **types, **load.types, **positions})
        return {row[LOADED_ID_COLUMN]: row for row in rows}


class RowTotals:
    """The number of all rows and the sums of columns, counted while the first rows are sought.

    Sorting looks at all rows anyway. On a cluster, where tasks may be done twice, another query counts.
    """

    def __init__(self, spark: SparkSession, df: DataFrame, columns: Sequence[str]) -> None:
        self._df = df
        self._columns = columns
        self._observation = None if may_lose_tasks(spark) else Observation()

    @property
    def frame(self) -> DataFrame:
        if self._observation is None:
            return self._df
        # A sum that does not fit must fail only if it is used.
        sums = [F.try_sum(column).alias(column) for column in self._columns]
        return observe_rows(self._df, self._observation, F.count("*").alias(_COUNT), *sums)

    def compute(self) -> Mapping[str, Any]:
        """After all rows of the frame were looked at."""
        found = read_observation(self._observation) if self._observation is not None else {}
        if found and None not in found.values():
            return found
        sums = [F.sum(column).alias(column) for column in self._columns]
        (row,) = self._df.agg(F.count("*").alias(_COUNT), *sums).collect()
        return row.asDict()


def _loads_before(plan: Plan, step: Step) -> list[str]:
    """What explaining an operation may read."""
    return [load.key for load in plan.loads if load.operation_seq <= step.seq]


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def _collect_rows(df: DataFrame, types: Schema) -> list[dict[str, Any]]:
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
            row[name] = None if row[name] is None else _EPOCH + datetime.timedelta(microseconds=row[name])
    return rows


def _sum(values: Iterable[Any]) -> Decimal | int:
    total: Decimal | int = sum((value for value in values if value is not None), start=0)
    return total
