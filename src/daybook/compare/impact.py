"""What changed definitions would do to the last closes: their runs are computed again, and nothing is written."""

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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


class _ImpactWalk:
    """Computes outputs with all changes, and where there are several, with one more at a time."""

    def __init__(
        self, environment: RunEnvironment, spark: SparkSession, chain: Chain, differences: RunDifferences
    ) -> None:
        self._environment = environment
        self._spark = spark
        self._chain = chain
        self._differences = differences
        # By the identity of outputs, which live as long as the walk.
        self._kept: dict[int, DataFrame | None] = {}
        self._frames: dict[tuple[str, int], DataFrame] = {}
        self._results: dict[tuple[object, ...], _ComparedTotals] = {}

    def measures_of_run(self, outputs: Sequence[OutputPair]) -> Iterator[MeasureImpact]:
        """The totals of all outputs of a run, which is computed as a whole."""
        self._environment.listener.stage(outputs[0].pair.label)
        changed = [output.pair for output in outputs if output.pair.relevant]
        unread = [
            output.pair for output in outputs if output.pair.relevant and self._kept_rows(output, outputs) is None
        ]
        self._chain.share([*((pair, pair.relevant) for pair in changed), *((pair, frozenset()) for pair in unread)])
        for output in outputs:
            yield from self._measures(output, outputs)

    def _measures(self, output: OutputPair, others: Sequence[OutputPair]) -> Iterator[MeasureImpact]:
        """A total for every column that can be added up."""
        pair = output.pair
        order = [cause for cause in self._differences.causes if cause in pair.relevant]
        steps = tuple(self._steps(pair, order))
        compared = self._compared(output, others, steps[-1][1] if steps else "a")
        between = [self._totals(self._rows(output, others, name), compared.summed) for _, name in steps[:-1]]
        totals = [compared.before, *between, compared.after] if steps else [compared.before]
        run = pair.a.run.record
        for column in compared.summed:
            moved = [state[column.name] for state in totals]
            causes = [
                ImpactCause(_project(group), " + ".join(name.name for name in group), share, _label(group))
                for (group, _), before, after in zip(steps, moved, moved[1:], strict=False)
                if (share := subtract(after, before))
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

    def _steps(self, pair: RunPair, order: Sequence[CauseName]) -> Iterator[tuple[tuple[CauseName, ...], str]]:
        """Each change with the state after it; a change that cannot be computed alone is grouped with the next one."""
        remaining = list(order)
        swapped: Swapped = frozenset()
        while remaining:
            bound = self._differences.bound_with(remaining[0]).causes
            group = [cause for cause in remaining if cause in bound]
            while True:
                try:
                    name = self._chain.state(pair, swapped | frozenset(group))
                    break
                except DaybookError:
                    if len(group) == len(remaining):
                        raise
                    group.append(next(cause for cause in remaining if cause not in group))
            swapped |= frozenset(group)
            remaining = [cause for cause in remaining if cause not in group]
            yield tuple(group), name

    def _totals(self, df: DataFrame, columns: Sequence[ComparedColumn]) -> dict[str, Number]:
        """The sums of columns; 0 for a column that a state does not have."""
        present = [column for column in columns if column.name in df.columns]
        sums = []
        for number, column in enumerate(present):
            value = F.col(quote_identifier(column.name))
            value = value.cast(SUMMED_INTEGER) if column.type == INTEGER else value
            sums.append(F.coalesce(F.sum(value), F.lit(0)).alias(f"v{number}"))
        row = df.agg(*sums).toArrow().to_pylist()[0] if sums else {}
        totals = {column.name: row[f"v{number}"] for number, column in enumerate(present)}
        return {column.name: totals.get(column.name, Decimal(0)) for column in columns}

    def _rows(self, output: OutputPair, others: Sequence[OutputPair], name: str) -> DataFrame:
        """The compared rows of an output in a state."""
        pair = output.pair
        if name == "a":
            if (written := self._kept_rows(output, others)) is not None:
                return written
            name = self._chain.computed_again(pair)
        key = (name, id(output))
        if key not in self._frames:
            computed = self._chain.rows[name]
            seq = self._chain.plans_of(pair, output.rows).plan(computed.swapped).rows
            self._frames[key] = computed.df.where(F.col(SEQ_COLUMN) == seq)
        return self._frames[key]

    def _kept_rows(self, output: OutputPair, others: Sequence[OutputPair]) -> DataFrame | None:
        """The compared rows as the run wrote them, here or to another output with the same rows."""
        if (written := self._written(output)) is not None:
            return written
        own = self._identity(output)
        return next(
            (
                self._written(other)
                for other in others
                if self._written(other) is not None
                and other.rows.seq_a == output.rows.seq_a
                and self._identity(other) == own
            ),
            None,
        )

    def _identity(self, output: OutputPair) -> StatePass:
        """What the run computed for an output."""
        return StatePass.of(*self._chain.states_of(output.pair).plans.whole(frozenset()))

    def _written(self, output: OutputPair) -> DataFrame | None:
        """The compared rows as the run wrote them; None where they are gone, or cannot be told from others."""
        a = output.pair.a
        if id(output) not in self._kept:
            written = written_slice(self._environment, self._spark, a)
            if written is not None and len(a.makers) > 1:
                has_seq = SEQ_COLUMN in a.step.columns
                written = written.where(F.col(SEQ_COLUMN) == output.rows.seq_a) if has_seq else None
            self._kept[id(output)] = written
        return self._kept[id(output)]

    def _compared(self, output: OutputPair, others: Sequence[OutputPair], name: str) -> _ComparedTotals:
        """The rows before and after in one query; outputs with the same rows are compared once."""
        pair = output.pair
        key = choose_key(pair.a, pair.b, output.rows, ())
        keys, values, _ = compared_columns(pair.a, pair.b, key, output.rows)
        summed = tuple(column for column in values if column.has_total)
        before = self._rows(output, others, "a")
        comparison = (id(before), name, tuple(keys), tuple(values))
        if comparison not in self._results:
            if name == "a":
                totals = self._totals(before, summed)
                self._results[comparison] = _ComparedTotals(summed, totals, totals, 0)
            else:
                self._results[comparison] = self._compare(pair, before, self._rows(output, others, name), keys, values)
        return self._results[comparison]

    def _compare(
        self,
        pair: RunPair,
        before: DataFrame,
        after: DataFrame,
        keys: Sequence[ComparedColumn],
        values: Sequence[ComparedColumn],
    ) -> _ComparedTotals:
        """How many rows were added, removed or changed; without a key all of their columns are one."""
        summed = tuple(column for column in values if column.has_total)
        has_key = all(column.name in before.columns and column.name in after.columns for column in keys)
        if not has_key:
            keys, values = [*values, *(column for column in keys if column.name not in SYSTEM_COLUMNS)], ()
        names = [column.name for column in (*keys, *values)]
        left, right = (
            SliceRows(
                df.select(*map(quote_identifier, names)),
                {column.name: column.type for column in (*keys, *values)},
                True,
                lambda: None,
                lambda failure: translate_failure(pair.b.plan, failure),
            )
            for df in (before, after)
        )
        compared = compare_rows(left, right, keys, values, limit=1)
        counts = compared.counts
        changed = counts.added + counts.removed + counts.changed
        if not has_key:
            return _ComparedTotals(summed, self._totals(before, summed), self._totals(after, summed), changed)
        return _ComparedTotals(
            summed,
            {total.column: total.before for total in compared.totals},
            {total.column: total.after for total in compared.totals},
            changed,
        )


def _project(group: Iterable[CauseName]) -> str | None:
    projects = {cause.project for cause in group}
    return projects.pop() if len(projects) == 1 else None


def _label(group: Iterable[CauseName]) -> str:
    return " + ".join(cause.label for cause in group)
