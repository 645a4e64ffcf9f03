"""Recorded runs, read from the store once: plan, pins, commits, and the runs that wrote their inputs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from daybook.errors import DaybookError, flatten
from daybook.io.pins import Pin
from daybook.io.read_source import ReadSource
from daybook.model.types import SYSTEM_COLUMNS
from daybook.plan.steps import AggregateStep, AppendStep, OutputStep, Plan, Step, UpdateStep
from daybook.runs.attempt.recorder import recorded_pins
from daybook.runs.attempt.start import PreparedRun, restore_run
from daybook.runs.environment import RunEnvironment
from daybook.runs.snapshot import RunSnapshot, snapshot_from_json
from daybook.runs.sources import read_sources
from daybook.store.records import OutputCommit, RunRecord


@dataclass(frozen=True)
class RestoredRun:
    """A run with its plan; sources that were read once are kept."""

    record: RunRecord
    prepared: PreparedRun
    pins: Mapping[str, tuple[Pin, ...]]
    commits: tuple[OutputCommit, ...]
    _sources: dict[str, ReadSource] = field(default_factory=dict)

    @property
    def run_id(self) -> str:
        return self.record.id

    @property
    def plan(self) -> Plan:
        return self.prepared.plan

    @property
    def snapshot(self) -> RunSnapshot:
        return self.prepared.snapshot

    def read(self, environment: RunEnvironment, spark: SparkSession, keys: Iterable[str]) -> Mapping[str, ReadSource]:
        """The data that the run read for these loads; RUN_012 when it is gone."""
        wanted = set(keys)
        loads = [load for load in self.plan.loads if load.key in wanted and load.key not in self._sources]
        try:
            found = read_sources(
                spark, loads, self.snapshot, environment.landing(self.run_id), environment.root, pinned=self.pins
            )
        except DaybookError as error:
            raise DaybookError("RUN_012", run_id=self.run_id, causes=flatten(error)) from error
        self._sources.update(found)
        return self._sources


@dataclass(frozen=True, slots=True)
class WrittenOutput:
    """An output of a run that others read."""

    run: RestoredRun
    step: OutputStep

    @property
    def makers(self) -> Iterator[AggregateStep | AppendStep]:
        """The operations before the output that make rows of groups."""
        for step in self.run.plan.steps:
            if step.seq < self.step.seq and group_columns(step):
                assert isinstance(step, AggregateStep | AppendStep)
                yield step

    @property
    def row_key(self) -> tuple[str, ...]:
        """What people know the rows by: what they are grouped by, and the natural key of the input."""
        groups = [name for maker in self.makers for name in maker.group_by]
        natural = self.run.plan.input.version.dataset.natural_key_columns
        return tuple(
            name for name in dict.fromkeys((*groups, *natural)) if name in self.step.columns and not _is_system(name)
        )


class RestoredRuns:
    """Runs by their ids, each restored once."""

    def __init__(self, environment: RunEnvironment) -> None:
        self.environment = environment
        self._known: dict[str, RestoredRun] = {}

    def get(self, run_id: str) -> RestoredRun:
        if run_id not in self._known:
            with self.environment.store.read() as transaction:
                record = transaction.runs.get(run_id)
                snapshot = snapshot_from_json(transaction.runs.snapshot(run_id))
                pins = recorded_pins(transaction, run_id)
                commits = transaction.outcomes.commits(run_id)
            prepared = restore_run(snapshot, self.environment.root)
            self._known[run_id] = RestoredRun(record, prepared, pins, commits)
        return self._known[run_id]

    def writers(self, run: RestoredRun, load_key: str) -> dict[str | None, str]:
        """The runs that wrote what a run read, by the period of the slice; None where it is no slice."""
        source = run.snapshot.source(load_key)
        found: dict[str | None, str] = {}
        if not source.slices or run.plan.load(load_key).temporal_mode in (None, "snapshot"):
            with self.environment.store.read() as transaction:
                for location in source.resolution.locations:
                    own = location.period.identifier if location.period else None
                    written = transaction.outcomes.writers(
                        location.label, before=run.record.created_at, version=location.version
                    )
                    found |= {period if own is None else own: run_id for period, run_id in written.items()}
        for period, run_id in source.slices.items():
            found[period] = run_id
        return found

    def written_output(self, run_id: str, reader: RestoredRun, load_key: str) -> WrittenOutput | None:
        """What a run wrote where another one read; None when the run is no longer kept."""
        labels = {location.label for location in reader.snapshot.source(load_key).resolution.locations}
        try:
            run = self.get(run_id)
        except DaybookError:
            return None
        seqs = [commit.operation_seq for commit in run.commits if commit.destination in labels]
        steps = [step for step in run.plan.outputs if step.seq in seqs]
        return WrittenOutput(run, steps[0]) if steps else None


def group_columns(step: Step) -> tuple[str, ...]:
    return step.group_by if isinstance(step, AggregateStep | AppendStep) else ()


def columns_assigned(plan: Plan, after: int, before: int) -> set[str]:
    """The columns that updates between two operations assign."""
    return {
        value.column
        for step in plan.steps
        if isinstance(step, UpdateStep) and after < step.seq < before
        for value in step.assignments
    }


def _is_system(name: str) -> bool:
    return name in SYSTEM_COLUMNS
