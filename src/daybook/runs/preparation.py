"""From a project and a period to everything an execution needs, before Spark is involved."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from daybook.errors import Notice
from daybook.io.location_checks import is_same_location, refuse_overlap
from daybook.io.target import Target
from daybook.model.datasource import DataSource
from daybook.model.definition import Catalog
from daybook.model.operation import OutputOperation, TableDestination
from daybook.model.project import Project
from daybook.plan.plan_project import plan_project
from daybook.plan.steps import LoadStep, Plan
from daybook.resolve.locations.location import Location, Resolution
from daybook.resolve.resolution import ANY_PERIOD, PeriodLookup
from daybook.runs.outputs import PlannedOutput, plan_targets
from daybook.runs.snapshot import RunSnapshot, SnapshotCatalog, used_resolvers
from daybook.runs.sources import resolve_sources


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A run that is checked and resolved, and only has to be executed; `notices` are what was found on the way."""

    snapshot: RunSnapshot
    plan: Plan
    outputs: tuple[PlannedOutput, ...]
    notices: tuple[Notice, ...] = ()

    def output(self, seq: int) -> PlannedOutput:
        return next(output for output in self.outputs if output.step.seq == seq)


def resolve_run(
    snapshot: RunSnapshot,
    plan: Plan,
    catalog: Catalog,
    root: Path,
    allowed_hosts: tuple[str, ...] = (),
    lookup: PeriodLookup = ANY_PERIOD,
) -> PreparedRun:
    """Resolve every source and place every output; all that is wrong is raised before anything is created.

    `snapshot` says what runs; what it reads and writes is added to it.
    """
    project, period = snapshot.project, snapshot.period
    sources = resolve_sources(plan, period, catalog, root, allowed_hosts, lookup)
    datasets = tuple({(load.dataset_id, load.version.version): load.version for load in plan.loads}.values())
    whole = replace(
        snapshot,
        datasets=datasets,
        resolvers=used_resolvers(catalog, project, datasets),
        datasources=_used_datasources(catalog, project, (source.resolution for source in sources)),
        calendars=tuple(filter(None, (catalog.calendar(period.calendar_id),))),
        sources=sources,
    )
    outputs = plan_targets(plan.outputs, whole, catalog, root)
    _refuse_overlaps(plan, whole, outputs)
    return PreparedRun(whole, plan, outputs, plan.notices)


def restore_run(snapshot: RunSnapshot, root: Path) -> PreparedRun:
    """The same run from its snapshot alone."""
    catalog = SnapshotCatalog(snapshot)
    plan = plan_project(snapshot.project, snapshot.project_source(root), catalog, snapshot.constants)
    return PreparedRun(snapshot, plan, plan_targets(plan.outputs, snapshot, catalog, root))


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
        target = output.target
        read = [(load, each) for load, locations in sources.values() for each in locations]
        refuse_overlap(target, [each for load, each in read if not _is_earlier_slice(load, each, target)])


def _is_earlier_slice(load: LoadStep, location: Location, target: Target) -> bool:
    """Whether the output's own table is read through a window that ends before the run's period."""
    is_slice = target.mode == "replace_period" and load.looks_back
    return is_slice and is_same_location(location, target.location, target.workspace)
