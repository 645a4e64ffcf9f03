"""Plans recorded runs with changed definitions, on their pinned inputs and on the results of each other."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from daybook.compare.alignment import align_operations
from daybook.compare.compared_output import RecordedRun, find_recorded_run
from daybook.definitions.value import Definitions, RecordedVersions
from daybook.graph.chain import ReadSlice, find_made_sources
from daybook.io.pins import Pin
from daybook.model.definition import DatasetVersion, Definition
from daybook.model.parameter import parameter_texts, parameter_values
from daybook.model.project import Project
from daybook.model.source_map import SourceMap
from daybook.model.types import value_text
from daybook.plan.plan_project import plan_project
from daybook.plan.steps import LoadStep
from daybook.runs.attempt.prepare import PreparedRun
from daybook.runs.environment import RunEnvironment
from daybook.runs.outputs import fit_plan, plan_targets
from daybook.runs.snapshot import RunSnapshot, SourceSnapshot
from daybook.runs.sources import StoredPeriods, resolve_sources

# The ids of recorded runs do not end like this.
_PLANNED = "-planned"


@dataclass(frozen=True, slots=True)
class ChangedDefinitions:
    """The projects and datasets that the files change, and the definitions that projects see with them."""

    projects: Mapping[str, Definition[Project]]
    datasets: frozenset[str]
    definitions: Definitions
    allowed_hosts: tuple[str, ...] = ()


@dataclass(slots=True)
class PlannedRuns:
    """Recorded runs and their plans, by id; only runs of `nodes`, projects and periods, are planned.

    A run has no plan where neither a change nor another planned run affects it.
    """

    environment: RunEnvironment
    changed: ChangedDefinitions
    nodes: Collection[tuple[str, str]]
    _recorded: dict[str, RecordedRun] = field(default_factory=dict)
    _planned: dict[str, RecordedRun | None] = field(default_factory=dict)
    _made: dict[str, Mapping[str, tuple[ReadSlice, ...]]] = field(default_factory=dict)

    def load(self, run_id: str) -> RecordedRun:
        """A recorded run, or a planned one by the id that it has in slices."""
        if run_id.endswith(_PLANNED):
            planned = self.planned(run_id.removesuffix(_PLANNED))
            if planned is None:
                raise AssertionError(f"{run_id} is not planned")
            return planned
        if run_id not in self._recorded:
            self._recorded[run_id] = find_recorded_run(self.environment, run_id)
        return self._recorded[run_id]

    def made_sources(self, run: RecordedRun) -> Mapping[str, tuple[ReadSlice, ...]]:
        """The slices behind the sources of a run; a planned one reads those of planned runs in their place."""
        if run.id not in self._made:
            with self.environment.store.read() as transaction:
                slices_by_key = find_made_sources(transaction, run.snapshot, run.pins, self.environment.root)
            if run.id.endswith(_PLANNED):
                slices_by_key = {key: tuple(map(self._replanned, slices)) for key, slices in slices_by_key.items()}
            self._made[run.id] = slices_by_key
        return self._made[run.id]

    def _replanned(self, slice_: ReadSlice) -> ReadSlice:
        """The slice of a planned run, where one has an output in the place of the one that wrote it."""
        planned = self.planned(slice_.run_id)
        if planned is None:
            return slice_
        recorded = self.load(slice_.run_id)
        pairs = align_operations(recorded.snapshot.project, planned.snapshot.project)
        seq = next((pair.b.seq for pair in pairs if pair.a and pair.b and pair.a.seq == slice_.seq), None)
        return slice_ if seq is None else replace(slice_, run_id=planned.id, seq=seq)

    def planned(self, run_id: str) -> RecordedRun | None:
        """The run with the changed definitions; None where they do not affect it."""
        if run_id not in self._planned:
            recorded = self.load(run_id)
            self._planned[run_id] = self._plan(recorded) if self._is_concerned(recorded) else None
        return self._planned[run_id]

    def _is_concerned(self, run: RecordedRun) -> bool:
        if (run.record.project_id, run.record.period) not in self.nodes:
            return False
        if run.record.project_id in self.changed.projects:
            return True
        if any(source.dataset_id in self.changed.datasets for source in run.snapshot.sources):
            return True
        read = (slice_ for slices in self.made_sources(run).values() for slice_ in slices)
        return any(self.planned(slice_.run_id) is not None for slice_ in read)

    def _plan(self, run: RecordedRun) -> RecordedRun:
        before = run.snapshot
        definition = self.changed.projects.get(run.record.project_id)
        project = before.project if definition is None else definition.model
        parameters = _parameters(before, project)
        snapshot = replace(before, project=project, parameters=parameters)
        definitions = self._definitions(run, project)
        source = SourceMap.empty() if definition is None else definition.source
        plan = plan_project(project, source, definitions, snapshot.constants, with_locations=False)
        fitted = {
            step.seq: {name: type_ for name, type_ in before.fitted[step.seq].items() if name in step.columns}
            for step in plan.outputs
            if step.seq in before.fitted
        }
        plan = fit_plan(plan, fitted)
        keys = {source.dataset_id: source.key for source in before.sources}
        new = tuple(load for load in plan.loads if load.dataset_id not in keys)
        sources = (*(_same_source(before, keys, load) for load in plan.loads if load not in new), *self._now(run, new))
        pins: dict[str, tuple[Pin, ...]] = {
            load.key: run.pins[keys[load.dataset_id]]
            for load in plan.loads
            if load.dataset_id in keys and keys[load.dataset_id] in run.pins
        }
        datasets = tuple({(load.dataset_id, load.version.version): load.version for load in plan.loads}.values())
        snapshot = replace(snapshot, datasets=datasets, sources=sources, fitted=fitted)
        outputs = plan_targets(
            plan.outputs, snapshot, self.changed.definitions, self.environment.root, self.environment.storage
        )
        prepared = PreparedRun(snapshot, plan, outputs)
        return RecordedRun(replace(run.record, id=f"{run.id}{_PLANNED}"), prepared, pins, {})

    def _now(self, run: RecordedRun, loads: tuple[LoadStep, ...]) -> tuple[SourceSnapshot, ...]:
        """Sources that the run did not read, as a run would find them now."""
        if not loads:
            return ()
        with self.environment.store.read() as transaction:
            period, root = run.snapshot.period, self.environment.root
            lookup = StoredPeriods(transaction, root, self.environment.storage, session=self.environment.session)
            definition = self.changed.projects[run.record.project_id]
            definitions = self.changed.definitions
            plan = replace(plan_project(definition.model, definition.source, definitions, None), loads=loads)
            return resolve_sources(plan, period, definitions, root, self.changed.allowed_hosts, lookup)

    def _definitions(self, run: RecordedRun, project: Project) -> Definitions:
        """What the project sees: datasets as the run read them, but for those that changed or that it did not read."""
        recorded = {version.dataset.id: version for version in run.snapshot.datasets}
        versions: dict[str, RecordedVersions] = {}
        for _, reference in project.reads():
            dataset_id = reference.dataset_id
            version: DatasetVersion | None = recorded.get(dataset_id)
            if version is None or dataset_id in self.changed.datasets:
                version = self.changed.definitions.dataset(dataset_id, reference.dataset_version) or version
            if version is not None:
                versions[dataset_id] = RecordedVersions(version, {version.version: version}, serves_every_version=True)
        return replace(self.changed.definitions, datasets=versions)


def _same_source(before: RunSnapshot, keys: Mapping[str, str], load: LoadStep) -> SourceSnapshot:
    """What the run read of a dataset, for a load of another operation or by another version of the definition."""
    source = before.source(keys[load.dataset_id])
    return replace(source, key=load.key, dataset_version=load.version.version)


def _parameters(before: RunSnapshot, project: Project) -> dict[str, str]:
    """The values that were passed to the run, and the present defaults in place of former ones."""
    requested = {
        name: text
        for name, text in before.parameters.items()
        if name in project.parameters and not _is_default(before.project, name, text)
    }
    return parameter_texts(parameter_values(project.id, project.parameters, requested))


def _is_default(project: Project, name: str, text: str) -> bool:
    default = project.parameters[name].default if name in project.parameters else None
    return default is not None and value_text(default) == text
