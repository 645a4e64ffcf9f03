"""Chooses a few stored rows of a run's sources, such that every operation picks one."""

import secrets
import threading
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from daybook.engine.context import RunContext
from daybook.engine.jobs import carry_tags, wait_for
from daybook.engine.load_rows import filter_by_time, stored_rows
from daybook.engine.pipeline import Pipeline
from daybook.expression import quote_identifier
from daybook.expression.typed_tree import ColumnValue
from daybook.io.filesystem import remove_folder
from daybook.model.types import STRING
from daybook.plan.conditions import split_join_condition
from daybook.plan.loads import INPUT_KEY
from daybook.plan.partial_plan import RowKey, RowKeys, key_columns, picked_rows
from daybook.plan.steps import (
    AggregateStep,
    AppendStep,
    CheckStep,
    DeleteStep,
    JoinStep,
    LoadStep,
    Step,
    UpdateStep,
    count_until_last_output,
)
from daybook.runs.environment import RunEnvironment
from daybook.runs.explain.row_origins import RestoredRun, group_columns
from daybook.scenarios.time_limit import TimeLimit

Row = Mapping[str, Any]
_ID = "_row_id"
# Looking for the rows of an operation is a job of its own; several share the cores better than one.
_THREADS = 4


@dataclass(frozen=True, slots=True)
class DatasetRows:
    """A dataset with the rows that a scenario has of it."""

    load: LoadStep
    rows: tuple[Row, ...]

    @property
    def is_joined(self) -> bool:
        return self.load.role == "join"


class RealRows:
    """Rows of the sources of one run, as they are stored, by load.

    `most` is how many rows of a group a summary row may need, and of a source where no key says which ones.
    """

    def __init__(
        self, environment: RunEnvironment, spark: SparkSession, run: RestoredRun, most: int, limit: TimeLimit
    ) -> None:
        self._environment = environment
        self._spark = spark
        self._run = run
        self._most = most
        self._limit = limit
        self._plan = run.plan
        self._context = RunContext.of(run.plan, run.snapshot.as_of)
        self._staging = f"{environment.state}/staging/{run.run_id}.scenario-{secrets.token_hex(4)}"
        self._ids: dict[str, dict[str, None]] = {load.key: {} for load in run.plan.loads}

    def choose(self, seqs: Collection[int]) -> dict[str, list[Row]]:
        """The rows of each load: those that these operations pick, and those that joins find for them."""
        steps = self._plan.steps[: count_until_last_output(self._plan.steps)]
        try:
            self._run.read(self._environment, self._spark, [load.key for load in self._plan.loads])
            self._find_witnesses([step for step in steps if step.seq in seqs])
            # These rows are read even when the time is over: otherwise there would be no scenario.
            self._environment.listener.stage("reading these rows and what joins find for them")
            updates = [step for step in steps if isinstance(step, UpdateStep)]
            joined = dict(self._joined_rows(step, join) for step in updates for join in step.joins)
            return {**{load.key: self._stored(load) for load in self._plan.loads if load.role != "join"}, **joined}
        finally:
            remove_folder(self._staging, self._environment.storage)

    def _find_witnesses(self, steps: Sequence[Step]) -> None:
        """Finds a row for each step, until the time is over."""
        search, listener, lock = self._limit, self._environment.listener, threading.Lock()
        left = {step.seq: step.name for step in steps}

        def find(step: Step) -> None:
            if search.is_over():
                return
            try:
                self._add_witness(step)
            except Exception:
                # A stopped job fails in many ways; the rows found until then are used.
                if not search.is_over():
                    raise
                return
            with lock:
                del left[step.seq]
                listener.stage(f"rows found for {len(steps) - len(left)} of {len(steps)} operations")

        with search.stopping(self._spark), ThreadPoolExecutor(_THREADS) as pool:
            for future in [pool.submit(carry_tags(self._spark, find), step) for step in steps]:
                wait_for(future)
        if left:
            listener.stage(f"no rows found in time for {', '.join(left.values())}")

    def _add_witness(self, step: Step, keys: RowKeys = (), depth: int = 0, summary: Row | None = None) -> None:
        """A row that the operation picks, or the rows that it is made of."""
        limit = self._most if keys else 1
        for row in self._picked(step, keys, limit, _largest_first(step, summary)):
            seq = row["_operation_seq"]
            if isinstance(step, AppendStep):
                self._ids[step.load_key][row[_ID]] = None
            elif seq == 0:
                self._ids[INPUT_KEY][row[_ID]] = None
            elif depth < len(self._plan.steps):
                self._add_makers(self._plan.step(seq), row, depth)

    def _add_makers(self, maker: Step, row: Row, depth: int) -> None:
        if not isinstance(maker, AggregateStep | AppendStep):
            return
        columns = key_columns(self._plan, maker)
        if group_columns(maker) and all(name in row for name in columns):
            keys = [tuple(RowKey(name, row[name], type_) for name, type_ in columns.items())]
            self._add_witness(maker, keys, depth + 1, row)
        else:
            self._add_witness(maker, (), depth + 1)

    def _picked(self, step: Step, keys: RowKeys, limit: int, largest: Mapping[str, bool] | None = None) -> list[Row]:
        """The first rows that an operation picks; loaded ones come before those that operations made.

        `largest` are columns that decide before the usual order, the smallest first where they are true.
        """
        makers = [earlier for earlier in self._plan.steps if earlier.seq < step.seq and group_columns(earlier)]
        more = [] if isinstance(step, AppendStep) else [name for maker in makers for name in _made_columns(maker)]
        plan = self._plan
        if isinstance(step, CheckStep):
            # All rows that it checks, not only those that it would fail for.
            checked = DeleteStep(step.seq, step.operation_id, step.name, step.selector, step.schema)
            plan = replace(plan, steps=tuple(checked if other is step else other for other in plan.steps))
            step = checked
        cut = picked_rows(plan, step, keys, more)
        sources = self._run.read(self._environment, self._spark, cut.feeds.values())
        frames = {key: sources[whole].frame for key, whole in cut.feeds.items()}
        as_of = self._run.snapshot.as_of
        # A folder of its own: other threads search at the same time.
        staging = f"{self._staging}/{secrets.token_hex(4)}"
        # The checks of a completed run have held already.
        is_counting = self._run.record.status != "completed"
        folder = self._environment.staging(self._spark, staging)
        with Pipeline(self._spark, cut.plan, frames, staging=folder, as_of=as_of, is_counting=is_counting) as pipeline:
            (group,) = pipeline.groups()
            (output,) = group.outputs
            order = [F.col(quote_identifier(name)) for name in ("_operation_seq", *cut.order)]
            sizes = [
                F.col(quote_identifier(name)).asc_nulls_last() if is_negative else F.col(quote_identifier(name)).desc()
                for name, is_negative in (largest or {}).items()
                if name in output.step.columns
            ]
            rows = output.df.orderBy(order[0], *sizes, *order[1:]).limit(limit)
            picked: list[Row] = rows.toArrow().to_pylist()
            return picked

    def _stored(self, load: LoadStep) -> list[Row]:
        ids = list(self._ids[load.key])
        if not ids:
            return []
        frame = self._frame(load)
        return _in_order(stored_rows(frame, load, self._context, ids), load)

    def _joined_rows(self, step: UpdateStep, join: JoinStep) -> tuple[str, list[Row]]:
        """The rows of a join that the chosen rows meet, as far as equal keys show; otherwise the first ones."""
        load = self._plan.load(join.load_key)
        frame = self._frame(load)
        rows = filter_by_time(frame, load, self._context)
        pairs = [
            (own.use.name, joined.use.name)
            for own, joined in split_join_condition(join.on.tree, join.alias).keys
            if isinstance(own, ColumnValue) and isinstance(joined, ColumnValue) and own.use.qualifier is None
        ]
        keys = [(RowKey(_ID, row_id, STRING),) for row_id in self._ids[INPUT_KEY]]
        if pairs and keys:
            chosen = self._picked(step, keys, len(keys))
            for own, name in pairs:
                values = [row[own] for row in chosen if own in row and row[own] is not None]
                rows = rows.where(F.col(quote_identifier(name)).isin(values))
        return load.key, _in_order(rows.limit(self._most), load)

    def _frame(self, load: LoadStep) -> Any:
        return self._run.read(self._environment, self._spark, (load.key,))[load.key].frame


def _made_columns(step: Step) -> tuple[str, ...]:
    """The columns of a summary row: its group, and its aggregations."""
    assert isinstance(step, AggregateStep | AppendStep)
    return (*step.group_by, *(value.column for value in step.aggregations))


def _largest_first(step: Step, summary: Row | None) -> dict[str, bool]:
    """The columns that a summary row sums, each with whether its sum is negative.

    The rows with the largest values come first, so that few rows make up most of a sum.
    """
    if summary is None or not isinstance(step, AggregateStep | AppendStep):
        return {}
    largest: dict[str, bool] = {}
    for value in step.aggregations:
        total = summary.get(value.column)
        if isinstance(total, int | float | Decimal) and not isinstance(total, bool):
            names = [use.name for use in value.expression.uses if use.qualifier is None]
            largest |= {name: total < 0 for name in sorted(names) if name not in largest}
    return largest


def _in_order(rows: DataFrame, load: LoadStep) -> list[Row]:
    """Rows sorted by their natural key, so that the same run gives the same scenario."""
    unordered: list[Row] = rows.toArrow().to_pylist()
    names: Sequence[str] = load.version.dataset.natural_key_columns or tuple(load.types)
    return sorted(unordered, key=lambda row: [(row[name] is not None, str(row[name])) for name in names])
