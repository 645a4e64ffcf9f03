"""What changed definitions would do to the last closes: their runs are computed again, and nothing is written."""

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import groupby

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from daybook.compare.alignment import align_operations
from daybook.compare.bridge_result import CauseName
from daybook.compare.causes import RunDifferences
from daybook.compare.chained_states import Chain
from daybook.compare.compared_output import (
    SEQ_COLUMN,
    SUMMED_INTEGER,
    ComparedOutput,
    RecordedRun,
    SliceRows,
    choose_key,
    choose_rows,
    written_slice,
)
from daybook.compare.compared_run import ComparedRows
from daybook.compare.diff import ComparedColumn, compare_rows, compared_columns
from daybook.compare.exact_numbers import Number, subtract
from daybook.compare.hybrid import Swapped
from daybook.compare.planned_runs import PlannedRuns
from daybook.compare.run_pairs import PairFinder, RunPair, chain_differences
from daybook.compare.shared_rows import StatePass
from daybook.engine.failures import translate_failure
from daybook.errors import DaybookError
from daybook.expression import quote_identifier
from daybook.io.filesystem import remove_folder
from daybook.model.json_fields import ExactNumber, Hidden, Notices
from daybook.model.operation import OutputOperation
from daybook.model.types import INTEGER, SYSTEM_COLUMNS
from daybook.runs.environment import RunEnvironment


@dataclass(frozen=True, slots=True)
class ImpactCause:
    """A changed definition, and its share of the difference; `project` is None for a dataset."""

    project: str | None
    name: str
    share: ExactNumber
    label: Hidden[str] = ""


@dataclass(frozen=True, slots=True)
class MeasureImpact:
    """A total of an output before and after; the shares of the causes add up to the difference."""

    project: str
    period: str
    output: str
    measure: str
    before: ExactNumber
    after: ExactNumber
    difference: ExactNumber = field(init=False, default=0)
    rows_changed: int
    causes: tuple[ImpactCause, ...]
    # Other names of the output: its table, its operation, the dataset that it registers.
    names: Hidden[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "difference", subtract(self.after, self.before))


@dataclass(frozen=True, slots=True)
class ImpactResult:
    """The effect of the files on closes, compared with `against`: the active versions, or a commit."""

    against: str
    outputs: tuple[MeasureImpact, ...]
    notices: Hidden[Notices] = ()
    # The projects whose definitions differ, and how many runs were computed again.
    changed: Hidden[tuple[str, ...]] = ()
    runs: Hidden[int] = 0

    @property
    def single_cause(self) -> str | None:
        """The change that moves every total, if it is one."""
        labels = {cause.label for measure in self.outputs for cause in measure.causes}
        return labels.pop() if len(labels) == 1 else None

    @property
    def moved(self) -> tuple[MeasureImpact, ...]:
        """Totals with a difference; of an output where only rows change, the first total."""
        moved: list[MeasureImpact] = []
        for _, measures in groupby(self.outputs, key=lambda item: (item.project, item.period, item.output)):
            of_output = tuple(measures)
            changed = [measure for measure in of_output if measure.difference]
            moved += changed or [measure for measure in of_output[:1] if measure.rows_changed]
        return tuple(moved)


@dataclass(frozen=True, slots=True)
class OutputPair:
    """An output before and after, and the rows of it that are compared."""

    pair: RunPair
    rows: ComparedRows
    label: str
    names: tuple[str, ...]


def compute_impact(environment: RunEnvironment, outputs: Sequence[OutputPair]) -> tuple[MeasureImpact, ...]:
    """The totals of outputs, before and after, with the share of every changed definition."""
    if not outputs:
        return ()
    differences = chain_differences(*(output.pair for output in outputs))
    last = outputs[-1].pair.a.run
    environment.listener.prepared(last.id, last.record.project_id, last.record.period)
    staging = f"{environment.state}/staging/{last.id}.impact-{secrets.token_hex(4)}"
    with environment.spark(last.snapshot) as spark:
        try:
            folder = environment.staging(spark, staging)
            read_pairs = {
                slice_.pair
                for output in outputs
                for pair in output.pair.upstream()
                for slices in pair.made.values()
                for slice_ in slices
                if slice_.pair is not None
            }
            chain = Chain(
                environment, spark, folder, differences.causes, is_b_written=False, read_pairs=frozenset(read_pairs)
            )
            walk = _ImpactWalk(environment, spark, chain, differences)
            by_run = groupby(outputs, key=lambda output: output.pair.a.run.id)
            return tuple(measure for _, of_run in by_run for measure in walk.measures_of_run(tuple(of_run)))
        finally:
            remove_folder(staging, environment.storage)


def find_output_pairs(planned: PlannedRuns, run_ids: Iterable[str]) -> Iterator[OutputPair]:
    """The outputs that runs have before and after; definitions are read only here."""
    finder: PairFinder | None = None
    for run_id in run_ids:
        before, after = planned.load(run_id), planned.planned(run_id)
        if after is not None:
            # A run and its plan are for one period, so that one finder serves runs of all periods.
            finder = finder or PairFinder(planned.load, planned.made_sources, before, after)
            yield from _output_pairs(finder, before, after)


def _output_pairs(finder: PairFinder, before: RecordedRun, after: RecordedRun) -> Iterator[OutputPair]:
    for pair in align_operations(before.snapshot.project, after.snapshot.project):
        if not isinstance(pair.a, OutputOperation) or not isinstance(pair.b, OutputOperation):
            continue
        if pair.a.seq not in before.commits:
            continue
        output = next(output for output in before.outputs if output.operation_seq == pair.a.seq)
        a, b = _compared(before, pair.a.seq), _compared(after, pair.b.seq)
        names = (output.destination, output.operation_id, output.dataset_id, output.destination.rpartition(".")[2])
        yield OutputPair(finder.pair(a, b), choose_rows(a, b, None), output.destination, tuple(filter(None, names)))


def _compared(run: RecordedRun, seq: int) -> ComparedOutput:
    return ComparedOutput(run, run.prepared.output(seq).step)


@dataclass(frozen=True, slots=True)
class _ComparedTotals:
    """The totals of columns before and after, and how many rows were added, removed or changed."""

    summed: tuple[ComparedColumn, ...]
    before: Mapping[str, Number]
    after: Mapping[str, Number]
    rows_changed: int


@dataclass(frozen=True, slots=True)
class _Step:
    """Changes that were made at once, and the rows after them."""

    causes: tuple[CauseName, ...]
    rows: "_StateRows"


@dataclass(frozen=True, slots=True, eq=False)
class _StateRows:
    """The compared rows of an output in a state: read where they are kept, else computed while they are used.

    Equal rows are one object, so that they are compared once.
    """

    open: Callable[[], AbstractContextManager[DataFrame]]

    @staticmethod
    def of(df: DataFrame) -> "_StateRows":
        return _StateRows(lambda: nullcontext(df))


def _no_rows() -> AbstractContextManager[DataFrame]:
    raise AssertionError("rows as before are those before")


# A state with the same rows as the run wrote.
_AS_BEFORE = _StateRows(_no_rows)


@dataclass(frozen=True, slots=True)
class _Unkept:
    """Rows that are computed while they are used, and what they are computed by."""

    run_id: str
    computed: StatePass
    seq: int
    rows: _StateRows


class _ImpactWalk:
    """Computes outputs with all changes, and where there are several, with one more at a time.

    Rows that another run reads, or that are looked at more than once, are kept in scratch; all others are computed by
    the query that compares them.
    """

    def __init__(
        self, environment: RunEnvironment, spark: SparkSession, chain: Chain, differences: RunDifferences
    ) -> None:
        self._environment = environment
        self._spark = spark
        self._chain = chain
        self._differences = differences
        # By the identity of outputs, which live as long as the walk.
        self._written_rows: dict[int, _StateRows | None] = {}
        self._kept: dict[tuple[str, int], _StateRows] = {}
        self._unkept: list[_Unkept] = []
        self._results: dict[tuple[object, ...], _ComparedTotals] = {}

    def measures_of_run(self, outputs: Sequence[OutputPair]) -> Iterator[MeasureImpact]:
        """The totals of all outputs of a run, which is computed as a whole."""
        self._environment.listener.stage(outputs[0].pair.label)
        changed = [output for output in outputs if output.pair.relevant]
        unread = [output for output in changed if self._as_written(output, outputs) is None]
        states = [(output.pair, output.pair.relevant) for output in changed]
        self._chain.share([*states, *((output.pair, frozenset[CauseName]()) for output in unread)])
        for output in outputs:
            yield from self._measures(output, outputs)

    def _measures(self, output: OutputPair, others: Sequence[OutputPair]) -> Iterator[MeasureImpact]:
        """A total for every column that can be added up."""
        pair = output.pair
        order = [cause for cause in self._differences.causes if cause in pair.relevant]
        before = self._before(output, others)
        steps = tuple(self._steps(output, others, order))
        compared = self._compared(output, before, steps[-1].rows if steps else before)
        between = [self._totals(step.rows, before, compared.summed) for step in steps[:-1]]
        totals = [compared.before, *between, compared.after] if steps else [compared.before]
        run = pair.a.run.record
        for column in compared.summed:
            moved = [state[column.name] for state in totals]
            causes = [
                ImpactCause(_project(step.causes), " + ".join(name.name for name in step.causes), share, _label(step))
                for step, earlier, later in zip(steps, moved, moved[1:], strict=False)
                if (share := subtract(later, earlier))
            ]
            yield MeasureImpact(
                run.project_id,
                run.period,
                output.label,
                column.name,
                moved[0],
                moved[-1],
                compared.rows_changed,
                tuple(causes),
                output.names,
            )

    def _steps(self, output: OutputPair, others: Sequence[OutputPair], order: Sequence[CauseName]) -> Iterator[_Step]:
        """Each change with the state after it; a change that cannot be computed alone is grouped with the next one."""
        remaining = list(order)
        swapped: Swapped = frozenset()
        while remaining:
            bound = self._differences.bound_with(remaining[0]).causes
            group = [cause for cause in remaining if cause in bound]
            while True:
                try:
                    rows = self._after(output, others, swapped | frozenset(group))
                    break
                except DaybookError:
                    if len(group) == len(remaining):
                        raise
                    group.append(next(cause for cause in remaining if cause not in group))
            swapped |= frozenset(group)
            remaining = [cause for cause in remaining if cause not in group]
            yield _Step(tuple(group), rows)

    def _before(self, output: OutputPair, others: Sequence[OutputPair]) -> _StateRows:
        """The rows as the run wrote them, else computed again."""
        if (written := self._as_written(output, others)) is not None:
            return written
        if self._is_read(output, others, frozenset()) or self._chain.shares(output.pair, frozenset()):
            return self._kept_rows(output, self._chain.computed_again(output.pair))
        return self._unkept_rows(output, frozenset())

    def _after(self, output: OutputPair, others: Sequence[OutputPair], swapped: Swapped) -> _StateRows:
        """The rows with changes; those with all of them are only compared, unless another run reads them."""
        if swapped == output.pair.relevant and not self._is_read(output, others, swapped):
            return self._unkept_rows(output, swapped)
        name = self._chain.state(output.pair, swapped)
        return _AS_BEFORE if name == "a" else self._kept_rows(output, name)

    def _is_read(self, output: OutputPair, others: Sequence[OutputPair], swapped: Swapped) -> bool:
        """Whether another run reads the rows of an output in a state, here or where another output has the same."""
        if self._chain.is_read(output.pair):
            return True
        read = [other.pair for other in others if self._chain.is_read(other.pair)]
        return bool(read) and self._computed(output.pair, swapped) in [self._computed(pair, swapped) for pair in read]

    def _computed(self, pair: RunPair, swapped: Swapped) -> StatePass:
        """What is computed for an output in a state."""
        return StatePass.of(*self._chain.states_of(pair).plans.whole(swapped & pair.relevant))

    def _kept_rows(self, output: OutputPair, name: str) -> _StateRows:
        """The rows of a computation that is kept."""
        computed = self._chain.rows[name]
        seq = self._seq(output, computed.swapped)
        if (name, seq) not in self._kept:
            self._kept[name, seq] = _StateRows.of(computed.df.where(F.col(SEQ_COLUMN) == seq))
        return self._kept[name, seq]

    def _unkept_rows(self, output: OutputPair, swapped: Swapped) -> _StateRows:
        """The rows of a computation that is made where they are used."""
        pair = output.pair
        computed = self._computed(pair, swapped)
        seq, run_id = self._seq(output, swapped), pair.a.run.id
        for unkept in self._unkept:
            if (unkept.run_id, unkept.seq, unkept.computed) == (run_id, seq, computed):
                return unkept.rows

        @contextmanager
        def opened() -> Iterator[DataFrame]:
            with self._chain.opened(pair, swapped) as df:
                yield df.where(F.col(SEQ_COLUMN) == seq)

        rows = _StateRows(opened)
        self._unkept.append(_Unkept(run_id, computed, seq, rows))
        return rows

    def _seq(self, output: OutputPair, swapped: Swapped) -> int:
        """The operation that makes the compared rows in a state."""
        return self._chain.plans_of(output.pair, output.rows).plan(swapped).rows

    def _as_written(self, output: OutputPair, others: Sequence[OutputPair]) -> _StateRows | None:
        """The compared rows as the run wrote them, here or to another output with the same rows."""
        if (written := self._written(output)) is not None:
            return written
        own = self._computed(output.pair, frozenset())
        return next(
            (
                self._written(other)
                for other in others
                if self._written(other) is not None
                and other.rows.seq_a == output.rows.seq_a
                and self._computed(other.pair, frozenset()) == own
            ),
            None,
        )

    def _written(self, output: OutputPair) -> _StateRows | None:
        """The compared rows as the run wrote them; None where they are gone, or cannot be told from others."""
        a = output.pair.a
        if id(output) not in self._written_rows:
            written = written_slice(self._environment, self._spark, a)
            if written is not None and len(a.makers) > 1:
                has_seq = SEQ_COLUMN in a.step.columns
                written = written.where(F.col(SEQ_COLUMN) == output.rows.seq_a) if has_seq else None
            rows = _StateRows.of(written) if written is not None else None
            self._written_rows[id(output)] = rows
        return self._written_rows[id(output)]

    def _totals(self, rows: _StateRows, before: _StateRows, columns: Sequence[ComparedColumn]) -> dict[str, Number]:
        """The sums of columns; 0 for a column that a state does not have."""
        with (before if rows is _AS_BEFORE else rows).open() as df:
            present = [column for column in columns if column.name in df.columns]
            sums = []
            for number, column in enumerate(present):
                value = F.col(quote_identifier(column.name))
                value = value.cast(SUMMED_INTEGER) if column.type == INTEGER else value
                sums.append(F.coalesce(F.sum(value), F.lit(0)).alias(f"v{number}"))
            row = df.agg(*sums).toArrow().to_pylist()[0] if sums else {}
        totals = {column.name: row[f"v{number}"] for number, column in enumerate(present)}
        return {column.name: totals.get(column.name, Decimal(0)) for column in columns}

    def _compared(self, output: OutputPair, before: _StateRows, after: _StateRows) -> _ComparedTotals:
        """The rows before and after in one query; outputs with the same rows are compared once."""
        pair = output.pair
        key = choose_key(pair.a, pair.b, output.rows, ())
        keys, values, _ = compared_columns(pair.a, pair.b, key, output.rows)
        comparison = (id(before), id(after), tuple(keys), tuple(values))
        if comparison not in self._results:
            if after is before or after is _AS_BEFORE:
                summed = tuple(column for column in values if column.has_total)
                totals = self._totals(before, before, summed)
                self._results[comparison] = _ComparedTotals(summed, totals, totals, 0)
            else:
                self._results[comparison] = self._compare(pair, before, after, keys, values)
        return self._results[comparison]

    def _compare(
        self,
        pair: RunPair,
        before: _StateRows,
        after: _StateRows,
        keys: Sequence[ComparedColumn],
        values: Sequence[ComparedColumn],
    ) -> _ComparedTotals:
        """How many rows were added, removed or changed; without a key all of their columns are one."""
        summed = tuple(column for column in values if column.has_total)
        with before.open() as df_before, after.open() as df_after:
            if not all(column.name in df_before.columns and column.name in df_after.columns for column in keys):
                keys = [*values, *(column for column in keys if column.name not in SYSTEM_COLUMNS)]
                values = [replace(column, is_compared=False) for column in summed]
            types = {column.name: column.type for column in (*keys, *values)}
            left, right = (
                SliceRows(
                    df.select(*map(quote_identifier, types)),
                    types,
                    True,
                    lambda: None,
                    lambda failure: translate_failure(pair.b.plan, failure),
                )
                for df in (df_before, df_after)
            )
            compared = compare_rows(left, right, keys, values, limit=1)
        counts = compared.counts
        return _ComparedTotals(
            summed,
            {total.column: total.before for total in compared.totals},
            {total.column: total.after for total in compared.totals},
            counts.added + counts.removed + counts.changed,
        )


def _project(group: Iterable[CauseName]) -> str | None:
    projects = {cause.project for cause in group}
    return projects.pop() if len(projects) == 1 else None


def _label(step: _Step) -> str:
    return " + ".join(cause.label for cause in step.causes)
