"""What changed definitions would do to the last closes: their runs are computed again, and nothing is written."""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from daybook.compare.alignment import align_operations
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
from daybook.compare.diff import ComparedColumn, compare_rows, compared_columns
from daybook.compare.hybrid import Swapped
from daybook.compare.planned_runs import PlannedRuns
from daybook.compare.result import CauseName, ComparedRows, Number, subtract
from daybook.compare.run_pairs import PairFinder, RunPair, chain_differences
from daybook.engine.failures import translate_failure
from daybook.errors import DaybookError
from daybook.expression import quote_identifier
from daybook.model.json_fields import ExactNumber, Hidden, Notices
from daybook.model.operation import OutputOperation
from daybook.model.types import INTEGER, SYSTEM_COLUMNS
from daybook.runs.environment import RunEnvironment, remove_folder


@dataclass(frozen=True, slots=True)
class ImpactCause:
    """A change of a definition, and what it moves; `project` is None for a dataset."""

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
    """What the files would do to closes, compared with `against`: the active versions, or a commit."""

    against: str
    outputs: tuple[MeasureImpact, ...]
    notices: Hidden[Notices] = ()
    # The projects whose definitions differ, and how many runs were computed again.
    changed: Hidden[tuple[str, ...]] = ()
    runs: Hidden[int] = 0

    @property
    def moved(self) -> tuple[MeasureImpact, ...]:
        return tuple(output for output in self.outputs if output.difference or output.rows_changed)


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
            chain = Chain(environment, spark, folder, differences.causes, is_b_written=False)
            walk = _ImpactWalk(environment, spark, chain, differences)
            return tuple(measure for output in outputs for measure in walk.measures(output))
        finally:
            remove_folder(staging, environment.storage)


def find_output_pairs(planned: PlannedRuns, run_id: str) -> Iterator[OutputPair]:
    """The outputs that a run has before and after; definitions are read only here."""
    before, after = planned.load(run_id), planned.planned(run_id)
    if after is None:
        return
    finder = PairFinder(planned.load, planned.made_sources, before, after)
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


class _ImpactWalk:
    """Computes outputs with the changes, and with one change after the other where there are several."""

    def __init__(
        self, environment: RunEnvironment, spark: SparkSession, chain: Chain, differences: RunDifferences
    ) -> None:
        self._environment = environment
        self._spark = spark
        self._chain = chain
        self._differences = differences

    def measures(self, output: OutputPair) -> Iterator[MeasureImpact]:
        """A total for every column that can be added up."""
        pair = output.pair
        order = [cause for cause in self._differences.causes if cause in pair.relevant]
        self._environment.listener.stage(pair.label)
        steps = tuple(self._steps(pair, order))
        key = choose_key(pair.a, pair.b, output.rows, ())
        keys, values, _ = compared_columns(pair.a, pair.b, key, output.rows)
        summed = [column for column in values if column.has_total]
        totals = [self._totals(output, name, summed) for name in ("a", *(name for _, name in steps))]
        changed = self._rows_changed(output, steps[-1][1] if steps else "a", keys, values)
        run = pair.a.run.record
        for column in summed:
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
                changed,
                tuple(causes),
                output.names,
            )

    def _steps(self, pair: RunPair, order: Sequence[CauseName]) -> Iterator[tuple[tuple[CauseName, ...], str]]:
        """One change after the other, with the state that it gives; what cannot be computed takes the next along."""
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

    def _totals(self, output: OutputPair, name: str, columns: Sequence[ComparedColumn]) -> dict[str, Number]:
        df = self._rows(output, name)
        present = [column for column in columns if column.name in df.columns]
        sums = []
        for number, column in enumerate(present):
            value = F.col(quote_identifier(column.name))
            value = value.cast(SUMMED_INTEGER) if column.type == INTEGER else value
            sums.append(F.coalesce(F.sum(value), F.lit(0)).alias(f"v{number}"))
        row = df.agg(*sums).toArrow().to_pylist()[0] if sums else {}
        # A state in which a column is not there yet has no total of it.
        totals = {column.name: row[f"v{number}"] for number, column in enumerate(present)}
        return {column.name: totals.get(column.name, Decimal(0)) for column in columns}

    def _rows(self, output: OutputPair, name: str) -> DataFrame:
        """The compared rows of an output in a state."""
        pair = output.pair
        if name == "a":
            written = written_slice(self._environment, self._spark, pair.a)
            if written is not None and (len(pair.a.makers) == 1 or SEQ_COLUMN in pair.a.step.columns):
                return written if len(pair.a.makers) == 1 else written.where(F.col(SEQ_COLUMN) == output.rows.seq_a)
            name = self._chain.computed_again(pair)
        computed = self._chain.rows[name]
        seq = self._chain.plans_of(pair, output.rows).plan(computed.swapped).rows
        return computed.df.where(F.col(SEQ_COLUMN) == seq)

    def _rows_changed(
        self, output: OutputPair, name: str, keys: Sequence[ComparedColumn], values: Sequence[ComparedColumn]
    ) -> int:
        """How many rows were added, removed or changed; without a key all of their columns are one."""
        if name == "a":
            return 0
        before, after = self._rows(output, "a"), self._rows(output, name)
        if any(column.name in SYSTEM_COLUMNS and column.name not in before.columns for column in keys) or any(
            column.name not in after.columns for column in keys
        ):
            keys, values = [*values, *(column for column in keys if column.name not in SYSTEM_COLUMNS)], ()
        names = [column.name for column in (*keys, *values)]
        left, right = (
            SliceRows(
                df.select(*map(quote_identifier, names)),
                {column.name: column.type for column in (*keys, *values)},
                True,
                lambda: None,
                lambda failure: translate_failure(output.pair.b.plan, failure),
            )
            for df in (before, after)
        )
        counts = compare_rows(left, right, keys, values, limit=1).counts
        return counts.added + counts.removed + counts.changed


def _project(group: Iterable[CauseName]) -> str | None:
    projects = {cause.project for cause in group}
    return projects.pop() if len(projects) == 1 else None


def _label(group: Iterable[CauseName]) -> str:
    return " + ".join(cause.label for cause in group)
