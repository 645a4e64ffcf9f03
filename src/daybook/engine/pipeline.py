"""Turns a plan and its source data into outputs, group by group."""

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, assert_never

from daybook.engine.context import RunContext, SourceFrame, aliased_sql
from daybook.engine.counters import (
    FAULT_TEXT_METRIC,
    FIRST_FAULT_SQL,
    Counters,
    DoubleMatch,
    DueCounts,
    FailedCheck,
    GroupCounts,
    MalformedRowId,
    NullValue,
    ObservedFrame,
    failed_check_error,
    picked_metric,
    picked_rows_sql,
    read_observation,
)
from daybook.engine.failures import translate_failure
from daybook.engine.java.session_conf import threads_of_session
from daybook.engine.layer import Layer
from daybook.engine.load_rows import load_input, load_source, locate_row, may_fail
from daybook.engine.measures import Measures
from daybook.engine.operations.aggregate import appended_rows, summary_rows
from daybook.engine.operations.join import JoinedRows, JoinRowCount, UpdateJoins
from daybook.engine.operations.window import UpdateWindows
from daybook.engine.stages import (
    AggregatePass,
    Stage,
    count_uses_from,
    count_uses_of_added,
    group_into_stages,
    is_grouped_later,
    is_read_by_next_outputs,
    is_too_deep,
    is_too_wide,
    pays_to_count,
    pays_to_stage,
    reads_every_join,
)
from daybook.engine.working_dataset import AddedRows, OutputFrames, Staging, StagingFolder, WorkingDataset
from daybook.errors import DaybookError, raise_all
from daybook.expression import quote_identifier, quote_literal, spark_type
from daybook.model.types import STRING, SYSTEM_COLUMNS
from daybook.plan.loads import INPUT_KEY
from daybook.plan.steps import (
    AppendStep,
    CheckStep,
    DeleteStep,
    JoinStep,
    OutputStep,
    Plan,
    RowStep,
    Schema,
    Step,
    UpdateStep,
    count_until_last_output,
)

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession


def checked_rows(working: WorkingDataset, added: AddedRows, step: CheckStep, context: RunContext) -> AddedRows:
    """The same rows with the text of the check where they fail it; rows that are added are never deleted yet."""
    schema, names = dict(working.schema), working.columns
    layer = Layer(context, schema, may_be_deleted=False)
    layer.add(step)
    changed = layer.columns()
    texts = {name: changed.get(name, quote_identifier(name)) for name in names}

    def rows() -> "DataFrame":
        return added.aligned(schema).selectExpr(*aliased_sql(texts))

    metrics = {picked_metric(step.seq): picked_rows_sql(step, context), FAULT_TEXT_METRIC: FIRST_FAULT_SQL}
    same = {name: quote_identifier(name) for name in names}
    observed = ObservedFrame(rows, metrics, is_awaited=True)
    return replace(added, schema=schema, observed=observed, columns=same, is_new=None, kept=None)


@dataclass(frozen=True, slots=True)
class OutputFrame:
    """What one output operation writes."""

    step: OutputStep
    df: "DataFrame"


@dataclass(frozen=True, slots=True)
class OutputGroup:
    """Outputs with no other operation between them: write all, in order, then verify, then commit."""

    outputs: tuple[OutputFrame, ...]
    is_last: bool
    _observed: tuple[ObservedFrame, ...]
    _row_counts: tuple[JoinRowCount, ...]
    _plan: Plan
    _measures: Measures
    _locate: Callable[[FailedCheck], FailedCheck]

    def verify(self) -> None:
        """Raise what the rows failed: a NULL where none may be, a malformed row id, a row that matched twice.

        Of several operations the first comes first, whatever order their rows were looked at in.
        """
        failed: dict[int, FailedCheck] = {}
        for observed in self._observed:
            for operation in observed.failed_checks():
                failed.setdefault(operation.seq, operation.check)
        for count in self._row_counts:
            below, above = (read_observation(observation).get("rows") for observation in (count.below, count.above))
            # Spark counts a task that it executed twice two times, so only a look at the rows can decide.
            if (below is None or below != above) and (double := count.doubles().first()):
                failed.setdefault(count.seq, DoubleMatch(str(count.seq), count.alias, double[0]))
        raise_all(failed_check_error(self._plan, self._locate(failed[seq])) for seq in sorted(failed))

    def counts(self) -> GroupCounts:
        """Rows picked and added by the operations since the group before."""
        return GroupCounts.of(self._observed, self._measures)


@dataclass(frozen=True, slots=True)
class KeptRows:
    """The working dataset as it was before a stage, for other pipelines whose plans begin alike.

    Only the `columns` were written down; to read another fails. `seqs` are the operations that the rows come from.
    """

    df: "DataFrame"
    columns: frozenset[str]
    schema: Schema
    seqs: frozenset[int]

    def whole(self, names: Sequence[str]) -> "DataFrame":
        """All columns of a working dataset in order; a mark of an operation that came later is not set."""
        types = {**self.schema, **SYSTEM_COLUMNS}
        values = {name: quote_identifier(name) if name in self.columns else "0L" for name in names}
        for name in types.keys() - self.columns:
            values[name] = (
                f"CAST(RAISE_ERROR({quote_literal(f'{name} was not kept', STRING)}) AS {spark_type(types[name])})"
            )
        return self.df.selectExpr(*(f"{values[name]} AS {quote_identifier(name)}" for name in names))


class Pipeline:
    """Executes a plan lazily: nothing is read before an output's frame is written, except where a plan forks.

    `sources` has a frame for the key of every load step. `staging` keeps intermediate results: a folder, which the
    caller removes, or something else that keeps them. Outputs in `skip` have been written by an earlier attempt and are
    left out; of those in `read_back` the caller sums what was written. Unless it is counting, nothing is counted,
    checked or written down on the way, for a look at a few rows of a run that was checked before. `forks` are the
    columns to write down before the stages of these seqs; `kept` has them afterwards. With a `start` the pipeline goes
    on from such rows, before the stage of that seq.
    """

    def __init__(
        self,
        spark: "SparkSession",
        plan: Plan,
        sources: Mapping[str, SourceFrame],
        *,
        staging: str | Staging,
        as_of: datetime.date | None = None,
        skip: frozenset[int] = frozenset(),
        read_back: frozenset[int] = frozenset(),
        is_counting: bool = True,
        forks: Mapping[int, frozenset[str]] | None = None,
        start: tuple[int, KeptRows] | None = None,
    ) -> None:
        self._plan = plan
        self._forks = forks or {}
        self._start = start
        self.kept: dict[int, KeptRows] = {}
        self._is_counting = is_counting
        self._sources = sources
        also = frozenset().union(*self._forks.values())
        self._context = RunContext.of(plan, as_of, also, is_checking=is_counting)
        self._staging = StagingFolder(spark, staging) if isinstance(staging, str) else staging
        self._skip = skip
        self._read_back = read_back
        self._counters = Counters(self._context)
        self._may_lose_tasks = is_counting and may_lose_tasks(spark)
        self._row_counts: list[JoinRowCount] = []
        self._joins = 0
        # Columns that were not written down and not assigned since: to read one fails.
        self._unkept: set[str] = set()

    @property
    def as_of(self) -> datetime.date:
        return self._context.as_of

    @property
    def context(self) -> RunContext:
        return self._context

    def __enter__(self) -> "Pipeline":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Failures of Spark become errors that name operation, column and value; others pass with their cause."""
        from pyspark.errors import PySparkException

        self.close()
        if isinstance(error, PySparkException):
            raise self.failure(error) from error

    def close(self) -> None:
        """Forget what was kept for the groups."""
        self._row_counts.clear()
        self._counters.forget()

    def failure(self, error: "PySparkException") -> DaybookError:
        """A Spark failure while an output was written, as an error that names operation, column and value."""
        return translate_failure(self._plan, error)

    def groups(self) -> Iterator[OutputGroup]:
        """The groups in order; each must be committed before the next is asked for."""
        steps = group_into_stages(self._effective(), self._plan.input.types)
        index, working = self._begin(steps)
        while index < len(steps):
            step = steps[index]
            if step.seq in self._forks:
                self._fork(working, step.seq)
            else:
                self._relieve(working, steps, index)
            if isinstance(step, OutputStep):
                outputs = _consecutive_outputs(steps, index)
                index += len(outputs)
                yield self._group(working, outputs, is_last=index == len(steps))
                self._row_counts = []
            else:
                index += 1
                self._apply(working, step, steps[index:])

    def _effective(self) -> Sequence[Step]:
        """The steps up to the last output that is wanted; what follows is never seen."""
        steps = [step for step in self._plan.steps if step.seq not in self._skip or not isinstance(step, OutputStep)]
        return steps[: count_until_last_output(steps)]

    def _load(self) -> WorkingDataset:
        load, frame = self._plan.input, self._sources[INPUT_KEY]
        df = load_input(frame, load, self._context)
        schema = {**load.types, **load.empty}
        return WorkingDataset(self._context, df, schema, may_be_deleted="_deleted" in frame.carried)

    def _begin(self, steps: Sequence[Stage]) -> tuple[int, WorkingDataset]:
        """The number of the first stage to execute, and the rows before it."""
        if self._start is None:
            return 0, self._load()
        seq, kept = self._start
        index = next(number for number, step in enumerate(steps) if step.seq == seq)
        columns = (*kept.schema, *self._context.system, *self._context.hidden)
        self._unkept = {*columns} - kept.columns
        working = WorkingDataset(self._context, kept.whole(columns), kept.schema, may_be_deleted=True, seqs=kept.seqs)
        return index, working

    def _fork(self, working: WorkingDataset, seq: int) -> None:
        """Write down what others need of the rows, and go on from there."""
        names = working.columns
        columns = frozenset(name for name in names if name in self._forks[seq] or name in self._context.hidden)
        self.kept[seq] = self._write_down(working, columns, seq)

    def _write_down(self, working: WorkingDataset, columns: frozenset[str], seq: int) -> KeptRows:
        """Write these columns before the stage of this seq, and go on from what was written."""
        df, names = working.df, working.columns
        stored = self._keep(df.select(*(quote_identifier(name) for name in names if name in columns)), f"before-{seq}")
        kept = KeptRows(stored, columns, dict(working.schema), working.seqs)
        self._unkept = {*names} - columns
        working.begin_anew(kept.whole(names))
        self._joins = 0
        return kept

    def _relieve(self, working: WorkingDataset, steps: Sequence[Stage], index: int) -> None:
        """Write the rows down where the plan has become too deep, or forks so often that it pays."""
        is_used = isinstance(steps[index], AggregatePass | OutputStep)
        uses = count_uses_from(steps, index) if is_used else 0
        is_expensive = self._is_counting and pays_to_stage(self._joins, uses)
        if is_too_deep(working.depth) or is_expensive or is_too_wide(working.width, uses):
            self._write_down(working, frozenset(working.columns) - self._unkept, steps[index].seq)

    def _keep(self, df: "DataFrame", label: str) -> "DataFrame":
        from pyspark.errors import PySparkException

        try:
            return self._staging.keep(df, label)
        except PySparkException as error:
            raise self.failure(error) from error

    def _apply(
        self,
        working: WorkingDataset,
        step: RowStep | AggregatePass | AppendStep,
        following: Sequence[Stage],
    ) -> None:
        match step:
            case CheckStep() if not self._is_counting:
                pass
            case UpdateStep() | DeleteStep() | CheckStep():
                if isinstance(step, CheckStep) and (added := working.added_for(step)) is not None:
                    self._check_added(working, added, step)
                    return
                if self._is_counting:
                    self._counters.wait(step, is_input=working.is_picked_entirely(step))
                if isinstance(step, UpdateStep):
                    self._unkept.difference_update(value.column for value in step.assignments)
                if isinstance(step, UpdateStep) and (step.joins or step.windows):
                    self._update(working, step)
                else:
                    working.add(step)
            case AggregatePass():
                is_kept = self._is_kept(step.seqs, following)
                counts = DueCounts()
                if self._counts(step, following, is_kept=is_kept):
                    counts = self._counters.due(working.seqs, dict(working.schema))
                rows = summary_rows(working, step, self._context, counts)
                self._add_rows(working, rows, is_kept=is_kept)
            case AppendStep():
                load, frame = self._plan.load(step.load_key), self._sources[step.load_key]
                columns = {name for name in (*load.types, *self._system_of(step)) if load.needs(name)}
                source = load_source(frame, load, self._context, columns)
                is_checked = self._is_counting and may_fail(frame, load)
                rows = appended_rows(source, load, step, self._context, may_fail=is_checked)
                is_kept = bool(step.aggregations) and self._is_kept((step.seq,), following)
                self._add_rows(working, rows, is_kept=is_kept)
            case _:
                assert_never(step)

    def _system_of(self, step: AppendStep) -> set[str]:
        """The system columns of the source of an append; its ids are only read where something needs them."""
        expressions = (step.source_selector, *(value.expression for value in (*step.aggregations, *step.mapped)))
        read = {use.name for expression in expressions if expression is not None for use in expression.uses}
        return {name for name in SYSTEM_COLUMNS if name != "_row_id" or name in {*read, *self._context.system}}

    def _is_kept(self, seqs: tuple[int, ...], following: Sequence[Stage]) -> bool:
        """Summaries are small, so where they are used again they are written down rather than computed again.

        A task below a shuffle that is repeated counts twice, so where that may happen they are written down, too.
        """
        if not self._is_counting:
            return False
        if self._may_lose_tasks and is_grouped_later(seqs, following):
            return True
        return count_uses_of_added(seqs, following) > 1

    def _counts(self, step: AggregatePass, following: Sequence[Stage], *, is_kept: bool) -> bool:
        """Whether an aggregate is the best place to count what waits."""
        return (
            self._is_counting
            and self._counters.is_waiting
            and pays_to_count(len(self._counters.waiting))
            and (is_kept or is_read_by_next_outputs(step.seqs, following))
            and reads_every_join(step, self._counters.waiting)
            and self._sums_in(step)
        )

    def _sums_in(self, step: AggregatePass) -> bool:
        """Whether an aggregate may sum the measures: they are no groups, and no window is computed for them alone."""
        measures = self._context.measures
        assigned_by_window = {
            column
            for waiting in self._counters.waiting
            if isinstance(waiting, UpdateStep) and waiting.windows
            for column in measures.assigned.get(waiting.seq, ())
        }
        groups = {name for aggregate in step.steps for name in aggregate.group_by}
        return measures.types.keys().isdisjoint(groups) and assigned_by_window <= step.columns

    def _update(self, working: WorkingDataset, step: UpdateStep) -> None:
        """An update that needs more than the row begins a projection of its own, on all that was before."""
        working.settle_for(*step.expressions, *(join.on for join in step.joins))
        df = working.frame_for(step)
        faults: list[str] = []
        if step.joins:
            joined = {join.alias: self._joined(join) for join in step.joins}
            update = UpdateJoins(self._context, working, step).apply(df, joined)
            df = update.df
            faults += update.faults
            self._row_counts += update.counts
            self._joins += len(step.joins)
        if step.windows:
            natural_key = self._plan.input.version.dataset.natural_key_columns
            windows = UpdateWindows(self._context, step, working.layer.picked_by(step), natural_key)
            windowed = windows.apply(df)
            df, step = windowed.df, windowed.step
            faults += windowed.faults
            self._joins += windowed.shuffles
        working.continue_from(df)
        working.layer.faults += faults if self._is_counting else []
        working.layer.add(step)

    def _check_added(self, working: WorkingDataset, added: AddedRows, step: CheckStep) -> None:
        checked = checked_rows(working, added, step, self._context)
        self._counters.watch(checked.observed)
        working.replace_added(added, checked)

    def _joined(self, join: JoinStep) -> JoinedRows:
        """The rows of a join; those that match nothing are checked all the same."""
        load, frame = self._plan.load(join.load_key), self._sources[join.load_key]
        rows = load_source(frame, load, self._context, join.columns)
        is_checked = self._is_counting and may_fail(frame, load)
        return JoinedRows(self._counters.checked(rows) if is_checked else rows, frame.is_small)

    def _add_rows(self, working: WorkingDataset, added: AddedRows, *, is_kept: bool) -> None:
        if self._is_counting:
            self._counters.watch(added.observed)
        else:
            added = replace(added, observed=added.observed.uncounted())
        if is_kept:
            added = replace(added, kept=self._keep(added.frame(), f"added-by-{added.seqs[0]}"))
        working.add_rows(added)

    def _group(self, working: WorkingDataset, outputs: Sequence[OutputStep], *, is_last: bool) -> OutputGroup:
        writing = OutputFrames(self._context, working, self._staging)
        # An output without sorting counts, since sorting writes the rows down first.
        written = []
        for output in sorted(outputs, key=lambda output: bool(output.order_by)):
            counters = self._counters if self._is_counting else None
            is_read_back = output.seq in self._read_back
            written.append(OutputFrame(output, writing.frame(output, counters, is_read_back=is_read_back)))
        observed = self._counters.take(is_last=is_last)
        counts = tuple(self._row_counts)
        measures = self._context.measures
        return OutputGroup(tuple(written), is_last, observed, counts, self._plan, measures, self._locate)

    def _locate(self, check: FailedCheck) -> FailedCheck:
        """A check of a loaded row with where the row stands."""
        if not isinstance(check, NullValue | MalformedRowId):
            return check
        key = check.load_key
        return locate_row(check, self._sources[key], self._plan.load(key), self._context)


def may_lose_tasks(spark: "SparkSession") -> bool:
    """Whether work can be lost and done again: on machines of a cluster, not on threads of one process."""
    return threads_of_session(spark) is None


def _consecutive_outputs(steps: Sequence[Stage], index: int) -> list[OutputStep]:
    outputs: list[OutputStep] = []
    for step in steps[index:]:
        if not isinstance(step, OutputStep):
            break
        outputs.append(step)
    return outputs
