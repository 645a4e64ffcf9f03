"""From a project and a period to everything an execution needs, before Spark is involved.

Reading what a run reads: every dataset version once, however many operations use it.

How much a run is going to read, as far as that can be seen without reading it.
"""

import datetime
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from daybook.errors import DaybookError, flatten, raise_all
from daybook.expression import Constants
from daybook.io.filesystem import list_files
from daybook.io.landing.area import LandingArea
from daybook.io.location_checks import check_locations_exist, location_exists, refuse_overlap
from daybook.io.pins import Pin
from daybook.io.read_source import ReadSource, read_source
from daybook.model.datasource import DataSource
from daybook.model.definition import Catalog, Definition
from daybook.model.operation import OutputOperation, TableDestination
from daybook.model.period import Period
from daybook.model.project import Project
from daybook.model.serialization import to_yaml
from daybook.model.source_map import SourceMap
from daybook.plan.plan_project import plan_project
from daybook.plan.references import looks_back
from daybook.plan.steps import LoadStep, Plan
from daybook.resolve.locations.location import Location, Resolution
from daybook.resolve.resolution import ANY_PERIOD, PeriodLookup, resolve_dataset
from daybook.runs.outputs import PlannedOutput, plan_targets
from daybook.runs.snapshot import Provenance, RunSettings, RunSnapshot, SnapshotCatalog, SourceSnapshot, used_resolvers
from daybook.store.store import Transaction


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A run that is checked and resolved, and only has to be executed."""

    snapshot: RunSnapshot
    plan: Plan
    outputs: tuple[PlannedOutput, ...]

    def output(self, seq: int) -> PlannedOutput:
        return next(output for output in self.outputs if output.step.seq == seq)


@dataclass(frozen=True, slots=True)
class RunSpecification:
    """What somebody wants to run."""

    run_id: str
    definition: Definition[Project]
    project_version: int
    period: Period
    timestamp: datetime.datetime
    as_of: datetime.date | None
    settings: RunSettings
    provenance: Provenance


class StoredPeriods:
    """Which periods of a table runs wrote, as the store knows it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def slices(self, location: Location) -> frozenset[str] | None:
        found = self._transaction.slices.of(location.label)
        return frozenset(each.period for each in found) if found else None

    def exists(self, location: Location) -> bool:
        return location_exists(location)


def plan_run(
    request: RunSpecification,
    catalog: Catalog,
    root: Path,
    allowed_hosts: tuple[str, ...] = (),
    lookup: PeriodLookup = ANY_PERIOD,
) -> PreparedRun:
    """Plan, resolve every source, place every output; all that is wrong is raised before anything is created."""
    project = request.definition.model
    constants = Constants(request.timestamp, request.period)
    plan = plan_project(project, request.definition.source, catalog, constants)
    sources = _resolve_sources(plan, request.period, catalog, root, allowed_hosts, lookup)
    datasets = tuple({(load.dataset_id, load.version.version): load.version for load in plan.loads}.values())
    snapshot = RunSnapshot(
        run_id=request.run_id,
        project=project,
        project_version=request.project_version,
        project_text=request.definition.source.text or to_yaml("project", project),
        period=request.period,
        as_of=request.as_of or request.period.start_date,
        timestamp=request.timestamp,
        datasets=datasets,
        resolvers=used_resolvers(catalog, project, datasets),
        datasources=_used_datasources(catalog, project, (source.resolution for source in sources)),
        calendars=tuple(filter(None, (catalog.calendar(request.period.calendar_id),))),
        sources=sources,
        settings=request.settings,
        provenance=request.provenance,
    )
    outputs = plan_targets(plan.outputs, snapshot, catalog, root)
    _refuse_overlaps(plan, snapshot, outputs)
    return PreparedRun(snapshot, plan, outputs)


def restore_run(snapshot: RunSnapshot, root: Path) -> PreparedRun:
    """The same run from its snapshot alone."""
    catalog = SnapshotCatalog(snapshot)
    constants = Constants(snapshot.timestamp, snapshot.period)
    plan = plan_project(snapshot.project, SourceMap.empty(), catalog, constants)
    return PreparedRun(snapshot, plan, plan_targets(plan.outputs, snapshot, catalog, root))


def _resolve_sources(
    plan: Plan,
    period: Period,
    catalog: Catalog,
    root: Path,
    allowed_hosts: tuple[str, ...],
    lookup: PeriodLookup,
) -> tuple[SourceSnapshot, ...]:
    """One question per dataset version, however often it is used."""
    known: dict[tuple[str, int], Resolution] = {}
    errors: list[DaybookError] = []
    sources: list[SourceSnapshot] = []
    for load in plan.loads:
        key = (load.dataset_id, load.version.version)
        try:
            if key not in known:
                known[key] = resolve_dataset(
                    load.version,
                    period,
                    catalog,
                    root=root,
                    overrides=plan.project.resolver_overrides,
                    allowed_hosts=allowed_hosts,
                    lookup=lookup,
                )
            sources.append(SourceSnapshot(load.key, *key, known[key]))
        except DaybookError as error:
            errors += [_resolution_error(single, load) for single in flatten(error)]
    raise_all(errors)
    return tuple(sources)


def _resolution_error(error: DaybookError, load: LoadStep) -> DaybookError:
    """Inside an append its own code wins, and the finding is the cause."""
    if load.role != "append":
        return error
    if error.code == "RESOLVE_040":
        return DaybookError("APPEND_007", operation_seq=load.operation_seq, causes=[error], dataset_id=load.dataset_id)
    return DaybookError("APPEND_008", operation_seq=load.operation_seq, causes=[error], dataset_id=load.dataset_id)


def _used_datasources(catalog: Catalog, project: Project, resolutions: Iterable[Resolution]) -> tuple[DataSource, ...]:
    """The data sources that reading and writing the project again would ask for."""
    found = {
        location.datasource.id: location.datasource
        for resolution in resolutions
        for location in resolution.locations
        if location.datasource is not None
    }
    wanted = {
        operation.arguments.destination.datasource_id
        for operation in project.operations
        if isinstance(operation, OutputOperation) and isinstance(operation.arguments.destination, TableDestination)
    }
    for datasource_id in wanted:
        if (datasource := catalog.datasource(datasource_id)) is not None:
            found[datasource_id] = datasource
    return tuple(found[datasource_id] for datasource_id in sorted(found))


def _refuse_overlaps(plan: Plan, snapshot: RunSnapshot, outputs: tuple[PlannedOutput, ...]) -> None:
    """An output never overlaps an input of the same run, but for slices of earlier periods beside its own."""
    sources = {load.key: (load, snapshot.source(load.key).resolution.locations) for load in plan.loads}
    for output in outputs:
        is_slice = output.target.mode == "replace_period"
        refuse_overlap(
            output.target,
            [
                location
                for load, locations in sources.values()
                for location in locations
                if not (is_slice and looks_back(load) and location.label == output.target.place)
            ],
        )


def read_sources(
    spark: SparkSession,
    prepared: PreparedRun,
    landing: LandingArea,
    root: Path,
    *,
    pinned: Mapping[str, tuple[Pin, ...]] | None = None,
    before_each: Callable[[], None] = lambda: None,
) -> dict[str, ReadSource]:
    """A source for the key of every load; with `pinned` the very data of an earlier attempt, or an error."""
    known: dict[tuple[str, int], ReadSource] = {}
    sources: dict[str, ReadSource] = {}
    for load in prepared.plan.loads:
        key = (load.dataset_id, load.version.version)
        if key not in known:
            before_each()
            resolution = prepared.snapshot.source(load.key).resolution
            pins = None if pinned is None else pinned.get(load.key, ())
            try:
                known[key] = read_source(spark, resolution, load.version, landing, workspace=root, pinned=pins)
            except DaybookError as error:
                raise _reading_error(error, load) from error
        sources[load.key] = known[key]
    return sources


def check_sources(prepared: PreparedRun) -> None:
    """All that is not there to be read, as far as that can be told without Spark."""
    errors: list[DaybookError] = []
    for load in prepared.plan.loads:
        try:
            check_locations_exist(prepared.snapshot.source(load.key).resolution)
        except DaybookError as error:
            errors.append(_reading_error(error, load))
    raise_all(errors)


def _reading_error(error: DaybookError, load: LoadStep) -> DaybookError:
    """Inside an append its own code wins, and the finding is the cause."""
    if load.role != "append":
        return error
    seq, causes = load.operation_seq, flatten(error)
    return DaybookError("APPEND_008", operation_seq=seq, causes=causes, dataset_id=load.dataset_id)


def input_bytes(prepared: PreparedRun) -> int | None:
    """The size of the files that the input and what is joined and appended lie in; None with a database among them."""
    locations = {
        location.uri: location for source in prepared.snapshot.sources for location in source.resolution.locations
    }
    if any(location.is_database for location in locations.values()):
        return None
    return sum(file.size for uri in locations if uri is not None for file in list_files(uri))
