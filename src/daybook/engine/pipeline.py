"""A plan and the data it reads become outputs, group by group."""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import assert_never

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from daybook.engine.context import RunContext
from daybook.engine.counters import Counters, Counts, Observed, observed
from daybook.engine.failure import failure_of
from daybook.engine.faults import Checks
from daybook.engine.forks import is_too_deep, pays_to_stage, uses_from
from daybook.engine.hidden import FAULT
from daybook.engine.joins import Joining, RowCount
from daybook.engine.loading import load_input, load_source, may_fail
from daybook.engine.operations.aggregate import summary_rows
from daybook.engine.operations.append import appended_rows
from daybook.engine.operations.output import Writing
from daybook.engine.source import SourceFrame
from daybook.engine.staging import Staging
from daybook.engine.working import Working
from daybook.model.system_columns import SYSTEM_COLUMNS
from daybook.plan.plan import Plan
from daybook.plan.steps import INPUT, AggregateStep, AppendStep, DeleteStep, JoinStep, OutputStep, Step, UpdateStep


@dataclass(frozen=True, slots=True)
class Output:
    """What one output operation writes."""

    step: OutputStep
    df: DataFrame


@dataclass(frozen=True, slots=True)
class OutputGroup:
    """Outputs with no other operation between them: write all, then verify, then commit.

    The first of `outputs` carries the counters and the checks, so it must be written before they are read.
    """

    outputs: tuple[Output, ...]
    is_last: bool
    _counters: Counters
    _row_counts: tuple[RowCount, ...]
    _join_faults: tuple[Observed, ...]
    _checks: Checks

    def verify(self) -> None:
        """Raise what the rows failed: a NULL where none may be, a malformed row id, a row that matched twice."""
        for text in (self._counters.fault(), *(each.metrics().get("fault") for each in self._join_faults)):
            if text:
                raise self._checks.error(text)
        for count in self._row_counts:
            below, above = (observed(each).get("rows", 0) for each in (count.below, count.above))
            # Spark counts a task that it executed twice two times, so only a look at the rows can tell.
            if below != above and (found := count.doubles().first()):
                raise self._checks.fan_out(count.seq, count.alias, found[0])

    def counts(self) -> Counts:
        """Rows picked and added by the operations since the group before."""
        return self._counters.counts()


class Pipeline:
    """Executes a plan lazily: nothing is read before an output's frame is written, except where a plan forks.

    `sources` has a frame for the key of every load step. `staging` is a folder for intermediate results that the
    caller removes. Outputs in `skip` have been written by an earlier attempt and are left out.
    """

    def __init__(
        self,
        spark: SparkSession,
        plan: Plan,
        sources: Mapping[str, SourceFrame],
        *,
        staging: str,
        as_of: datetime.date | None = None,
        skip: frozenset[int] = frozenset(),
    ) -> None:
        self._plan = plan
        self._sources = sources
        self._context = RunContext.of(plan, as_of)
        self._staging = Staging(spark, staging)
        self._skip = skip
        self._checks = Checks(plan)
        self._uncounted: list[Step] = []
        self._row_counts: list[RowCount] = []
        self._join_faults: list[Observed] = []
        self._joins = 0

    @property
    def as_of(self) -> datetime.date:
        return self._context.as_of

    def __enter__(self) -> "Pipeline":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of what was kept for the groups."""
        self._row_counts.clear()
        self._join_faults.clear()
        self._uncounted.clear()

    def failure(self, error: Exception) -> Exception:
        """A Spark failure while an output was written, as an error that names operation, column and value."""
        return failure_of(self._plan, error)

    def groups(self) -> Iterator[OutputGroup]:
        """The groups in order; each must be committed before the next is asked for."""
        steps = self._effective()
        working = self._load()
        is_first = True
        index = 0
        while index < len(steps):
            step = steps[index]
            self._relieve(working, steps, index)
            if not isinstance(step, OutputStep):
                self._apply(working, step, uses_from(steps, index + 1))
                self._uncounted.append(step)
                index += 1
                continue
            outputs = _outputs_from(steps, index)
            index += len(outputs)
            wanted = [output for output in outputs if output.seq not in self._skip]
            if wanted:
                yield self._group(working, wanted, with_input=is_first, is_last=index == len(steps))
                self._uncounted, self._row_counts, self._join_faults = [], [], []
                is_first = False

    def _effective(self) -> Sequence[Step]:
        """The steps up to the last output; what follows is never seen."""
        last = max((index for index, step in enumerate(self._plan.steps) if isinstance(step, OutputStep)), default=-1)
        return self._plan.steps[: last + 1]

    def _load(self) -> Working:
        load, frame = self._plan.input, self._sources[INPUT]
        df = load_input(frame, load, self._context)
        return Working(self._context, df, load.types, may_be_deleted="_deleted" in frame.carried)

    def _relieve(self, working: Working, steps: Sequence[Step], index: int) -> None:
        """Write the rows down where the plan has become too deep, or forks so often that it pays."""
        is_used = isinstance(steps[index], AggregateStep | OutputStep)
        if is_too_deep(working.depth) or (is_used and pays_to_stage(self._joins, uses_from(steps, index))):
            self._restart(working, f"before-{steps[index].seq}")

    def _restart(self, working: Working, label: str) -> None:
        df = working.df
        try:
            working.continue_from(self._staging.keep(df, label))
        except Exception as error:
            raise self.failure(error) from error
        working.depth = 0
        self._joins = 0

    def _apply(self, working: Working, step: UpdateStep | AggregateStep | AppendStep | DeleteStep, uses: int) -> None:
        match step:
            case UpdateStep(joins=()) | DeleteStep():
                working.add(step)
            case UpdateStep():
                self._join(working, step)
            case AggregateStep():
                self._add_rows(working, step, summary_rows(working, step, self._context), is_kept=uses > 1)
            case AppendStep():
                load = self._plan.load(step.load_key)
                columns = {*load.types, *SYSTEM_COLUMNS}
                source = load_source(self._sources[load.key], load, self._context, columns)
                rows = appended_rows(source, load, step, self._context)
                self._add_rows(working, step, rows, is_kept=uses > 1 and bool(step.aggregations))
            case _:
                assert_never(step)

    def _join(self, working: Working, step: UpdateStep) -> None:
        joined = {join.alias: self._joined(join) for join in step.joins}
        self._row_counts += Joining(self._context, working, step).apply(joined)
        self._joins += len(step.joins)

    def _joined(self, join: JoinStep) -> DataFrame:
        """The rows of a join; those that match nothing are checked all the same."""
        load, frame = self._plan.load(join.load_key), self._sources[join.load_key]
        rows = load_source(frame, load, self._context, join.columns)
        if may_fail(frame, load):
            checked = Observed(rows, [F.expr(f"MIN({FAULT})").alias("fault")])
            self._join_faults.append(checked)
            return checked.frame
        return rows

    def _add_rows(self, working: Working, step: AggregateStep | AppendStep, rows: DataFrame, *, is_kept: bool) -> None:
        """Summaries are small, so where they are used again they are written down rather than computed again."""
        if is_kept:
            try:
                rows = self._staging.keep(rows, f"added-by-{step.seq}")
            except Exception as error:
                raise self.failure(error) from error
        working.extend(step.schema)
        working.continue_from(working.df.union(rows))

    def _group(
        self, working: Working, outputs: Sequence[OutputStep], *, with_input: bool, is_last: bool
    ) -> OutputGroup:
        counters = Counters(self._context, self._uncounted, with_input=with_input)
        writing = Writing(self._context, working, self._staging)
        carrier, *others = sorted(outputs, key=lambda output: bool(output.order_by))
        written = [Output(carrier, writing.frame(carrier, counters))]
        written += [Output(output, writing.frame(output, None)) for output in others]
        return OutputGroup(
            tuple(written), is_last, counters, tuple(self._row_counts), tuple(self._join_faults), self._checks
        )


def _outputs_from(steps: Sequence[Step], index: int) -> list[OutputStep]:
    outputs: list[OutputStep] = []
    for step in steps[index:]:
        if not isinstance(step, OutputStep):
            break
        outputs.append(step)
    return outputs
