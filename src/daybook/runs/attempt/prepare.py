"""Prepares runs: everything that is known and checked before a run exists, each thing once.

The steps stand in `prepare_runs` and `prepare` in their order. What is prepared is trusted from then on. Only the
commit looks again at the lock of the period and the owner of the slice, since others may have changed them meanwhile.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from daybook.definitions.activated import as_activated
from daybook.definitions.changes import find_changes, with_changes
from daybook.definitions.loading import LoadedWorkspace
from daybook.definitions.reachable import reachable_definitions
from daybook.definitions.value import Definitions
from daybook.errors import Notice, notice, raise_all
from daybook.io.location_checks import is_same_location, refuse_overlap
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.io.target import Target
from daybook.model.calendar import Period
from daybook.model.datasource import DataSource
from daybook.model.definition import Definition
from daybook.model.operation import OutputOperation, TableDestination
from daybook.model.parameter import parameter_texts
from daybook.model.serialization import to_yaml
from daybook.plan.plan_project import plan_project
from daybook.plan.registered_datasets import registration_errors
from daybook.plan.steps import LoadStep, Plan
from daybook.resolve.location import Location, Resolution
from daybook.resolve.resolution import ANY_PERIOD, PeriodLookup
from daybook.resolve.sandbox_schema import sandbox_source, sandbox_text, with_sandbox_source
from daybook.runs.attempt.run_request import CheckedRequest
from daybook.runs.environment import RunEnvironment
from daybook.runs.lifecycle.apply import apply
from daybook.runs.lifecycle.runnable import find_version
from daybook.runs.outputs import PlannedOutput, check_outputs, fit_plan, plan_targets
from daybook.runs.permissions import (
    check_period,
    conflict_notices,
    refuse_live_sandbox,
    refuse_workspace_files,
    require_approved,
    require_unlocked,
)
from daybook.runs.sandbox import SandboxPeriods, with_sandbox
from daybook.runs.snapshot import RunSettings, RunSnapshot, new_run_id, provenance, recorded_definitions, used_resolvers
from daybook.runs.sources import StoredPeriods, absent_period_notices, check_sources, resolve_sources
from daybook.store.database.projects import ProjectVersion
from daybook.store.store import Transaction


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
    definitions: Definitions,
    root: Path,
    allowed_hosts: tuple[str, ...] = (),
    lookup: PeriodLookup = ANY_PERIOD,
    storage: Storage = PROVIDER_STORAGE,
) -> PreparedRun:
    """Resolve every source and place every output; all that is wrong is raised before anything is created.

    `snapshot` says what runs; what it reads and writes is added to it.
    """
    project, period = snapshot.project, snapshot.period
    sources = resolve_sources(plan, period, definitions, root, allowed_hosts, lookup)
    datasets = tuple({(load.dataset_id, load.version.version): load.version for load in plan.loads}.values())
    whole = replace(
        snapshot,
        datasets=datasets,
        resolvers=used_resolvers(definitions, project, datasets),
        datasources=_used_datasources(definitions, snapshot, (source.resolution for source in sources)),
        calendars=tuple(filter(None, (definitions.calendar(period.calendar_id),))),
        sources=sources,
    )
    outputs = plan_targets(plan.outputs, whole, definitions, root, storage)
    _refuse_overlaps(plan, whole, outputs)
    return PreparedRun(whole, plan, outputs, plan.notices)


def fit_run(prepared: PreparedRun, fitted: Mapping[int, Mapping[str, str]]) -> PreparedRun:
    """The run with outputs whose columns have the types of their tables."""
    if not fitted:
        return prepared
    snapshot, plan = replace(prepared.snapshot, fitted=fitted), fit_plan(prepared.plan, fitted)
    steps = {step.seq: step for step in plan.outputs}
    outputs = tuple(planned.fitted(steps[planned.step.seq]) for planned in prepared.outputs)
    return replace(prepared, snapshot=snapshot, plan=plan, outputs=outputs)


def restore_run(snapshot: RunSnapshot, root: Path, storage: Storage = PROVIDER_STORAGE) -> PreparedRun:
    """The same run from its snapshot alone."""
    definitions = recorded_definitions(snapshot)
    plan = plan_project(snapshot.project, snapshot.project_source(root), definitions, snapshot.constants)
    plan = fit_plan(plan, snapshot.fitted)
    return PreparedRun(snapshot, plan, plan_targets(plan.outputs, snapshot, definitions, root, storage))


def _used_datasources(
    definitions: Definitions, snapshot: RunSnapshot, resolutions: Iterable[Resolution]
) -> tuple[DataSource, ...]:
    """The data sources that reading and writing the project again would ask for."""
    project, sandbox = snapshot.project, sandbox_source(snapshot.settings.sandbox, definitions)
    datasources = {
        location.datasource.id: location.datasource
        for resolution in resolutions
        for location in resolution.locations
        if location.datasource is not None
    }
    written_ids = {
        operation.arguments.destination.datasource_id
        for operation in project.operations
        if isinstance(operation, OutputOperation) and isinstance(operation.arguments.destination, TableDestination)
    }
    if sandbox is not None:
        datasources[sandbox.id] = sandbox
    for datasource_id in written_ids:
        if (datasource := definitions.datasource(datasource_id)) is not None:
            datasources[datasource_id] = datasource
    return tuple(datasources[datasource_id] for datasource_id in sorted(datasources))


def _refuse_overlaps(plan: Plan, snapshot: RunSnapshot, outputs: tuple[PlannedOutput, ...]) -> None:
    """An output never overlaps an input of the same run, but for slices of earlier periods beside its own."""
    sources = {load.key: (load, snapshot.source(load.key).resolution.locations) for load in plan.loads}
    for output in outputs:
        target = output.target
        read = [(load, location) for load, locations in sources.values() for location in locations]
        refuse_overlap(target, [location for load, location in read if not _is_earlier_slice(load, location, target)])


def _is_earlier_slice(load: LoadStep, location: Location, target: Target) -> bool:
    """Whether the output's own table is read through a window that ends before the run's period."""
    is_slice = target.mode == "replace_period" and load.looks_back
    return is_slice and is_same_location(location, target.location, target.workspace)


def _file_below(root: Path, file: str | None) -> str | None:
    """A file by its path from the workspace, which may be moved as a whole."""
    path = Path(file).resolve() if file else root
    return path.relative_to(root.resolve()).as_posix() if file and path.is_relative_to(root.resolve()) else None


def _draft_notices(transaction: Transaction, version: ProjectVersion, sandbox: str | None) -> list[Notice]:
    """Where a draft writes, when that is not where its active version does or when it is."""
    project_id = version.project.id
    if sandbox is not None:
        hint = f"`daybook activate {project_id}` makes it write to its destinations."
        return [notice("RUN_009", project=project_id, sandbox=sandbox, hint=hint)]
    if version.is_draft and transaction.projects.get(project_id).active_version is not None:
        return [notice("RUN_014", project=project_id)]
    return []


def prepare_runs(
    environment: RunEnvironment, checked: CheckedRequest, *, are_files_applied: bool = False
) -> Iterator[PreparedRun]:
    """One run per period, each prepared when its turn comes, since it may read what the one before it wrote.

    With `are_files_applied` that has been done and reported for several projects together.
    """
    notices: tuple[Notice, ...] = ()
    if not are_files_applied:
        notices = (*checked.notices, *moved_notices(environment), *apply_files(environment, checked))
    with environment.store.read() as transaction:
        version, definitions = _find_version(environment, transaction, checked)
        first, *later = checked.periods(definitions)
        # A range with a locked period in it is refused before its first run.
        _check_later_periods(transaction, checked, version, later)
        prepared = prepare(environment, transaction, checked, version, definitions, first)
    prepared = fit_run(prepared, check_outputs(prepared.outputs))
    yield replace(prepared, notices=(*notices, *prepared.notices))
    for period in later:
        with environment.store.read() as transaction:
            prepared = prepare(
                environment, transaction, checked, *_find_version(environment, transaction, checked), period
            )
        yield fit_run(prepared, check_outputs(prepared.outputs))


def _find_version(
    environment: RunEnvironment, transaction: Transaction, checked: CheckedRequest
) -> tuple[ProjectVersion, Definitions]:
    """The version that runs, and the definitions of the store; those of the sandbox only for a draft.

    Where changes of definitions need approval, a draft on an embedded store tries them out before.
    """
    version = find_version(transaction, checked.definition.model, as_draft=checked.request.is_draft)
    definitions = transaction.stored_definitions(with_sandbox=version.is_draft)
    if not version.is_draft or environment.store.is_shared or transaction.policies.in_force().activate is None:
        return version, definitions
    reached = [
        definition
        for definition in reachable_definitions(checked.workspace, checked.definition.id)
        if definition.kind != "project"
    ]
    name, heads = checked.workspace.settings.name, transaction.definitions.heads()
    changes = [
        change for change in find_changes(reached, heads, workspace=name, prune=False) if change.action != "unchanged"
    ]
    return version, with_changes(definitions, changes)


def check_runs(environment: RunEnvironment, checked: CheckedRequest) -> Iterator[PreparedRun]:
    """Everything a run checks, and that the data it would read is there."""
    for prepared in prepare_runs(environment, checked):
        check_sources(prepared.plan.loads, prepared.snapshot, environment.storage)
        yield prepared


def apply_files(environment: RunEnvironment, checked: CheckedRequest) -> tuple[Notice, ...]:
    """On an embedded store a run applies its project and what it reaches; other projects that this breaks are named."""
    if environment.store.is_shared:
        return ()
    return apply_projects(environment, checked.workspace, [checked.definition.id])


def apply_projects(
    environment: RunEnvironment, workspace: LoadedWorkspace, project_ids: Collection[str]
) -> tuple[Notice, ...]:
    """Apply projects with what they reach; other projects that this breaks are named."""
    applied = apply(
        environment.store,
        reachable_definitions(workspace, *project_ids),
        workspace=workspace.settings.name,
        now=environment.clock(),
        files=workspace.all(),
        is_looking_ahead=False,
        plans=environment.plans,
    )
    return (*applied.notices, *applied.held_notices, *conflict_notices(applied.effects, but=project_ids))


def _check_later_periods(
    transaction: Transaction, checked: CheckedRequest, version: ProjectVersion, periods: Iterable[Period]
) -> None:
    if not (version.is_draft and checked.workspace.settings.sandbox is not None):
        for period in periods:
            require_unlocked(transaction, period)


def prepare(
    environment: RunEnvironment,
    transaction: Transaction,
    checked: CheckedRequest,
    version: ProjectVersion,
    definitions: Definitions,
    period: Period,
) -> PreparedRun:
    """The run of a version for one period, from the definitions and the state of the store."""
    workspace, request = checked.workspace, checked.request
    sandbox = sandbox_text(workspace.settings) if version.is_draft else None
    require_approved(transaction, version.project.id, is_draft=version.is_draft, is_sandboxed=sandbox is not None)
    notices = [
        *check_period(transaction, period, is_sandboxed=sandbox is not None),
        *_draft_notices(transaction, version, sandbox),
    ]
    snapshot = _describe_run(environment, transaction, checked, version, sandbox, period)
    periods: PeriodLookup = StoredPeriods(transaction, workspace.root, environment.storage, session=environment.session)
    seen = definitions.with_makers(checked.files.makers)
    if sandbox is not None:
        seen = with_sandbox_source(seen, workspace)
    if sandbox is not None and request.reads_sandbox:
        periods = in_sandbox = SandboxPeriods(
            transaction,
            snapshot.provenance.user,
            workspace.root,
            environment.storage,
            session=environment.session,
            source=sandbox_source(sandbox, seen),
        )
        seen = with_sandbox(seen, transaction, in_sandbox)
    seen = as_activated(seen, version.inputs)
    plan = _plan(environment, checked, snapshot, seen)
    hosts = workspace.settings.catalogs.allowed_hosts
    prepared = resolve_run(snapshot, plan, seen, workspace.root, hosts, periods, environment.storage)
    if sandbox is not None and transaction.policies.in_force().activate is not None:
        live = [output.live for output in prepared.outputs if output.live is not None]
        places = (output.place for output in prepared.outputs)
        refuse_live_sandbox(transaction, places, live, definitions, workspace.root, sandbox)
    targets = (output.place for output in prepared.outputs)
    refuse_workspace_files(workspace, targets, environment.own_places, is_sandboxed=sandbox is not None)
    absent = absent_period_notices(plan, prepared.snapshot.sources, periods)
    return replace(prepared, notices=(*notices, *prepared.notices, *absent))


def moved_notices(environment: RunEnvironment) -> tuple[Notice, ...]:
    before = environment.store.moved_from
    return (notice("STORE_040", before=before, root=environment.root),) if before is not None else ()


def _describe_run(
    environment: RunEnvironment,
    transaction: Transaction,
    checked: CheckedRequest,
    version: ProjectVersion,
    sandbox: str | None,
    period: Period,
) -> RunSnapshot:
    """What runs, without what it reads and writes."""
    workspace, request, definition = checked.workspace, checked.request, checked.definition
    project, now = version.project, environment.clock()
    own_id = transaction.identity.ids().own
    origin = provenance(workspace.root, environment.version, workspace.settings.name, own_id, environment.user)
    return RunSnapshot(
        run_id=new_run_id(now),
        project=project,
        project_version=version.version,
        project_text=definition.source.text or to_yaml("project", project),
        project_file=_file_below(workspace.root, definition.file),
        period=period,
        as_of=request.as_of or period.start_date,
        timestamp=now,
        parameters=parameter_texts(checked.parameters),
        settings=RunSettings(
            version.is_draft, sandbox, request.allow_empty, dict(workspace.settings.engine.conf), request.build_id
        ),
        provenance=origin,
    )


def _plan(environment: RunEnvironment, checked: CheckedRequest, snapshot: RunSnapshot, seen: Definitions) -> Plan:
    # The file has the structure of the version that runs, so its spans are those of the version.
    source = checked.definition.source
    plan = environment.plans.plan(Definition("project", snapshot.project, source), seen, snapshot.constants)
    raise_all(registration_errors(plan, source, seen))
    return plan
