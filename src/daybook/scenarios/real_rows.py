"""A few rows that a run read, chosen so that every operation that did something has something to do."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from daybook.engine.context import RunContext
from daybook.engine.load_rows import filter_by_time, stored_rows
from daybook.engine.pipeline import Pipeline
from daybook.expression import quote_identifier
from daybook.expression.typed_tree import ColumnValue
from daybook.model.types import STRING
from daybook.plan.conditions import split_join_condition
from daybook.plan.partial_plan import RowKey, RowKeys, key_columns, picked_rows
from daybook.plan.steps import (
    INPUT_KEY,
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
from daybook.runs.environment import RunEnvironment, remove_folder
from daybook.runs.explain.restored_run import RestoredRun, group_columns

Row = Mapping[str, Any]

# Rows of a group that a summary row needs, and rows of a source where no key says which ones.
_MOST_ROWS = 20
_ID = "_row_id"


class RealRows:
    """Rows of the sources of one run, as they are stored, by load."""

    def __init__(self, around: RunEnvironment, spark: SparkSession, run: RestoredRun) -> None:
        self._environment = around
        self._spark = spark
        self._run = run
        self._plan = run.plan
        self._context = RunContext.of(run.plan, run.snapshot.as_of)
        self._staging = f"{around.state}/staging/{run.run_id}.scenario-{secrets.token_hex(4)}"
        self._ids: dict[str, dict[str, None]] = {load.key: {} for load in run.plan.loads}

    def choose(self) -> dict[str, list[Row]]:
        """The rows of each load: those that operations pick, and those that joins find for them."""
        steps = self._plan.steps[: count_until_last_output(self._plan.steps)]
        try:
            for step in steps:
                self._add_witness(step, ())
            updates = [step for step in steps if isinstance(step, UpdateStep)]
            joined = dict(self._joined_rows(step, join) for step in updates for join in step.joins)
            return {**{load.key: self._stored(load) for load in self._plan.loads if load.role != "join"}, **joined}
        finally:
            remove_folder(self._staging)

    def _add_witness(self, step: Step, keys: RowKeys, depth: int = 0) -> None:
        """A row that the operation picks, or the rows that it is made of."""
        limit = _MOST_ROWS if keys else 1
        for row in self._picked(step, keys, limit):
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
            self._add_witness(maker, keys, depth + 1)
        else:
            self._add_witness(maker, (), depth + 1)

    def _picked(self, step: Step, keys: RowKeys, limit: int) -> list[Row]:
        """The first rows that an operation picks; loaded ones come before those that operations made."""
        groups = [name for each in self._plan.steps if each.seq < step.seq for name in group_columns(each)]
        more = [] if isinstance(step, AppendStep) else groups
        plan = self._plan
        if isinstance(step, CheckStep):
            # All rows that it checks, not only those that it would fail for.
            checked = DeleteStep(step.seq, step.operation_id, step.name, step.selector, step.schema)
            plan = replace(plan, steps=tuple(checked if each is step else each for each in plan.steps))
            step = checked
        cut = picked_rows(plan, step, keys, more)
        sources = self._run.read(self._environment, self._spark, cut.feeds.values())
        frames = {key: sources[whole].frame for key, whole in cut.feeds.items()}
        as_of = self._run.snapshot.as_of
        with Pipeline(self._spark, cut.plan, frames, staging=self._staging, as_of=as_of, is_counting=False) as pipeline:
            (group,) = pipeline.groups()
            (output,) = group.outputs
            order = ("_operation_seq", *cut.order)
            rows = output.df.orderBy(*map(quote_identifier, order)).limit(limit)
            found: list[Row] = rows.toArrow().to_pylist()
            return found

    def _stored(self, load: LoadStep) -> list[Row]:
        ids = list(self._ids[load.key])
        if not ids:
            return []
        frame = self._frame(load)
        return _in_order(stored_rows(frame, load, self._context, ids), load)

    def _joined_rows(self, step: UpdateStep, join: JoinStep) -> tuple[str, list[Row]]:
        """The rows of a join that the chosen rows meet, as far as equal keys tell; otherwise the first ones."""
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
        return load.key, _in_order(rows.limit(_MOST_ROWS), load)

    def _frame(self, load: LoadStep) -> Any:
        return self._run.read(self._environment, self._spark, (load.key,))[load.key].frame


def _in_order(rows: DataFrame, load: LoadStep) -> list[Row]:
    """In the order of what people know them by, so that the same run gives the same scenario."""
    found: list[Row] = rows.toArrow().to_pylist()
    names: Sequence[str] = load.version.dataset.natural_key_columns or tuple(load.types)
    return sorted(found, key=lambda row: [(row[name] is not None, str(row[name])) for name in names])
