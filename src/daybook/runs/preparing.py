"""From a project and a period to everything an execution needs, before Spark is involved."""

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from daybook.errors import DaybookError, flatten, raise_all
from daybook.expression import Constants
from daybook.io.overlap import refuse_overlap
from daybook.model.catalog import Catalog
from daybook.model.datasource import DataSource
from daybook.model.definition import Definition
from daybook.model.dump import to_yaml
from daybook.model.operation import OutputOperation, TableDestination
from daybook.model.period import Period
from daybook.model.project import Project
from daybook.model.source_map import SourceMap
from daybook.plan.plan import Plan
from daybook.plan.planning import plan_project
from daybook.plan.steps import LoadStep
from daybook.resolve.location import Resolution
from daybook.resolve.resolving import resolve
from daybook.runs.provenance import Provenance
from daybook.runs.snapshot import RunSettings, RunSnapshot, SnapshotCatalog, SourceSnapshot, used_resolvers
from daybook.runs.targets import PlannedOutput, plan_targets


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that is checked and resolved, and only has to be executed."""

    snapshot: RunSnapshot
    plan: Plan
    outputs: tuple[PlannedOutput, ...]

    def output(self, seq: int) -> PlannedOutput:
        return next(output for output in self.outputs if output.step.seq == seq)


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody wants to run."""

    run_id: str
    definition: Definition[Project]
    project_version: int
    period: Period
    timestamp: datetime.datetime
    as_of: datetime.date | None
    settings: RunSettings
    provenance: Provenance


def prepare(request: Request, catalog: Catalog, root: Path, allowed_hosts: tuple[str, ...] = ()) -> Prepared:
    """Plan, resolve every source, place every output; all that is wrong is raised before anything is created."""
    project = request.definition.model
    constants = Constants(request.timestamp, request.period)
    plan = plan_project(project, request.definition.source, catalog, constants)
    sources = _resolve_all(plan, request.period, catalog, root, allowed_hosts)
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
        datasources=_datasources(catalog, project, (source.resolution for source in sources)),
        calendars=tuple(filter(None, (catalog.calendar(request.period.calendar_id),))),
        sources=sources,
        settings=request.settings,
        provenance=request.provenance,
    )
    outputs = plan_targets(plan.outputs, snapshot, catalog, root)
    _refuse_overlaps(snapshot, outputs)
    return Prepared(snapshot, plan, outputs)


def restore(snapshot: RunSnapshot, root: Path) -> Prepared:
    """The same run from its snapshot alone."""
    catalog = SnapshotCatalog(snapshot)
    constants = Constants(snapshot.timestamp, snapshot.period)
    plan = plan_project(snapshot.project, SourceMap.empty(), catalog, constants)
    return Prepared(snapshot, plan, plan_targets(plan.outputs, snapshot, catalog, root))


def _resolve_all(
    plan: Plan, period: Period, catalog: Catalog, root: Path, allowed_hosts: tuple[str, ...]
) -> tuple[SourceSnapshot, ...]:
    """One question per dataset version, however often it is used."""
    known: dict[tuple[str, int], Resolution] = {}
    errors: list[DaybookError] = []
    sources: list[SourceSnapshot] = []
    for load in plan.loads:
        key = (load.dataset_id, load.version.version)
        try:
            if key not in known:
                known[key] = resolve(
                    load.version,
                    period,
                    catalog,
                    root=root,
                    overrides=plan.project.resolver_overrides,
                    allowed_hosts=allowed_hosts,
                )
            sources.append(SourceSnapshot(load.key, *key, known[key]))
        except DaybookError as error:
            errors += [_of_operation(single, load) for single in flatten(error)]
    raise_all(errors)
    return tuple(sources)


def _of_operation(error: DaybookError, load: LoadStep) -> DaybookError:
    """Inside an append its own code wins, and the finding is the cause."""
    if load.role != "append":
        return error
    if error.code == "RESOLVE_040":
        return DaybookError("APPEND_007", operation_seq=load.operation_seq, causes=[error], dataset_id=load.dataset_id)
    return DaybookError("APPEND_008", operation_seq=load.operation_seq, causes=[error], dataset_id=load.dataset_id)


def _datasources(catalog: Catalog, project: Project, resolutions: Iterable[Resolution]) -> tuple[DataSource, ...]:
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


def _refuse_overlaps(snapshot: RunSnapshot, outputs: tuple[PlannedOutput, ...]) -> None:
    """An output never overlaps an input of the same run."""
    locations = [location for source in snapshot.sources for location in source.resolution.locations]
    for output in outputs:
        refuse_overlap(output.target, locations)
