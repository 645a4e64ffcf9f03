"""Starts a run: the version of a project that may run, the period, and everything the execution needs."""

import datetime
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from daybook.definitions.activated import as_activated
from daybook.definitions.files import definitions_of_files
from daybook.definitions.reachable import reachable_definitions
from daybook.definitions.registered import with_makers
from daybook.definitions.value import Definitions
from daybook.errors import DaybookError, Notice, notice, raise_all
from daybook.io.location_checks import is_same_location, refuse_overlap
from daybook.io.target import Target
from daybook.model.calendar import Period
from daybook.model.datasource import DataSource
from daybook.model.definition import Definition
from daybook.model.loading import LoadedWorkspace
from daybook.model.operation import OutputOperation, TableDestination
from daybook.model.parameter import parameter_texts, parameter_values
from daybook.model.project import Project
from daybook.model.serialization import to_yaml
from daybook.plan.plan_project import plan_project
from daybook.plan.registration import registration_errors
from daybook.plan.steps import LoadStep, Plan
from daybook.resolve.calendars.periods import calendar_for, period_range
from daybook.resolve.location import Location, Resolution
from daybook.resolve.project_files import load_project
from daybook.resolve.resolution import ANY_PERIOD, PeriodLookup
from daybook.runs.environment import RunEnvironment
from daybook.runs.lifecycle.apply import apply
from daybook.runs.lifecycle.runnable import require_runnable
from daybook.runs.outputs import PlannedOutput, fit_plan, plan_targets
from daybook.runs.permissions import check_period, conflict_notices, refuse_workspace_files
from daybook.runs.sandbox import SandboxPeriods, with_sandbox
from daybook.runs.snapshot import RunSettings, RunSnapshot, new_run_id, provenance, recorded_definitions, used_resolvers
from daybook.runs.sources import StoredPeriods, absent_period_notices, resolve_sources
from daybook.store.database.projects import ProjectVersion
from daybook.store.process import current_process
from daybook.store.records import Lease
from daybook.store.store import MetadataStore, Transaction


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
        datasources=_used_datasources(definitions, project, (source.resolution for source in sources)),
        calendars=tuple(filter(None, (definitions.calendar(period.calendar_id),))),
        sources=sources,
    )
    outputs = plan_targets(plan.outputs, whole, definitions, root)
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


def restore_run(snapshot: RunSnapshot, root: Path) -> PreparedRun:
    """The same run from its snapshot alone."""
    definitions = recorded_definitions(snapshot)
    plan = plan_project(snapshot.project, snapshot.project_source(root), definitions, snapshot.constants)
    plan = fit_plan(plan, snapshot.fitted)
    return PreparedRun(snapshot, plan, plan_targets(plan.outputs, snapshot, definitions, root))


def _used_datasources(
    definitions: Definitions, project: Project, resolutions: Iterable[Resolution]
) -> tuple[DataSource, ...]:
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
        if (datasource := definitions.datasource(datasource_id)) is not None:
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


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a user asks for: a project by id or file, a period or a range of them."""

    project: str
    period: str
    as_of: datetime.date | None = None
    is_draft: bool = False
    allow_empty: bool = False
    build_id: str | None = None
    # Whether a run is refused that would read something out of date.
    requires_fresh: bool = False
    # Whether a draft reads what other drafts of its user wrote into the sandbox.
    reads_sandbox: bool = True
    # Values for parameters of the project, as text or as values of Python.
    parameters: Mapping[str, Any] = field(default_factory=dict)


def check_request(workspace: LoadedWorkspace, request: RunRequest) -> tuple[Definition[Project], tuple[Notice, ...]]:
    """The project that is asked for, with what else there is to say; nothing is applied or opened for a wrong name.

    Raises what is wrong with anything the project reaches.
    """
    definition, notices = load_project(workspace, request.project)
    parameter_values(definition.id, definition.model.parameters, request.parameters)
    calendar_id = definition.model.calendar_id
    if calendar_id is None or workspace.get("calendar", calendar_id) is not None:
        parse_periods(definition, request.period, definitions_of_files(workspace))
    return definition, notices


def apply_project_files(
    workspace: LoadedWorkspace, definition: Definition[Project], environment: RunEnvironment
) -> tuple[Notice, ...]:
    """On an embedded store a run applies the project's file and what it reaches; other projects it broke are named."""
    return apply_files_of(workspace, (definition.id,), environment)


def apply_files_of(
    workspace: LoadedWorkspace, project_ids: Collection[str], environment: RunEnvironment
) -> tuple[Notice, ...]:
    """Apply the files of projects and what they reach; a project among them that is broken now says so when it runs."""
    applied = apply(
        environment.store,
        reachable_definitions(workspace, *project_ids),
        workspace=workspace.settings.name,
        now=environment.clock(),
        files=workspace.all(),
        is_looking_ahead=False,
        plans=environment.plans,
    )
    return (*applied.notices, *conflict_notices(applied.effects, but=project_ids))


def find_version(transaction: Transaction, written: Project, *, as_draft: bool) -> ProjectVersion:
    """The active version, or the written one as a draft when it was asked for or was never activated."""
    state = transaction.projects.find(written.id)
    if state is None:
        raise DaybookError("RUN_015", project=written.id)
    if as_draft or (state.active_version is None and state.status == "draft"):
        return ProjectVersion(written, state.latest_version, is_draft=True)
    return require_runnable(transaction, written.id, written)


def parse_periods(definition: Definition[Project], text: str, definitions: Definitions) -> tuple[Period, ...]:
    """One period, or `2026-01..2026-12` in order."""
    return period_range(text, calendar_for(definition.model.calendar_id, definitions))


def prepare_run(
    workspace: LoadedWorkspace,
    environment: RunEnvironment,
    transaction: Transaction,
    definition: Definition[Project],
    period: Period,
    request: RunRequest,
) -> PreparedRun:
    """Everything that can be known and checked before the run exists."""
    found = find_version(transaction, definition.model, as_draft=request.is_draft)
    stored = transaction.stored_definitions(with_sandbox=found.is_draft)
    sandbox = workspace.settings.sandbox if found.is_draft else None
    periods: PeriodLookup = StoredPeriods(transaction, workspace.root)
    own_id = transaction.identity.ids().own
    origin = provenance(workspace.root, environment.version, workspace.settings.name, own_id, environment.user)
    if sandbox is not None and request.reads_sandbox:
        periods = in_sandbox = SandboxPeriods(transaction, origin.user, workspace.root)
        stored = with_sandbox(stored, transaction, in_sandbox)
    named = with_makers(stored, workspace.definitions["project"].values())
    seen = as_activated(named, found.inputs)
    notices = [
        *check_period(transaction, period, is_sandboxed=sandbox is not None),
        *_draft_notices(transaction, found, sandbox),
    ]
    now = environment.clock()
    snapshot = RunSnapshot(
        run_id=new_run_id(now),
        project=found.project,
        project_version=found.version,
        project_text=definition.source.text or to_yaml("project", found.project),
        project_file=_file_below(workspace.root, definition.file),
        period=period,
        as_of=request.as_of or period.start_date,
        timestamp=now,
        parameters=parameter_texts(parameter_values(found.project.id, found.project.parameters, request.parameters)),
        settings=RunSettings(
            found.is_draft, sandbox, request.allow_empty, dict(workspace.settings.engine.conf), request.build_id
        ),
        provenance=origin,
    )
    hosts = workspace.settings.catalogs.allowed_hosts
    # The file has the structure of the version that runs, so its places are those of the version.
    plan = environment.plans.plan(Definition("project", found.project, definition.source), seen, snapshot.constants)
    raise_all(registration_errors(plan, definition.source, seen))
    prepared = resolve_run(snapshot, plan, seen, workspace.root, hosts, periods)
    places = (output.place for output in prepared.outputs)
    refuse_workspace_files(workspace, places, is_sandboxed=sandbox is not None)
    absent = absent_period_notices(plan, prepared.snapshot.sources, periods)
    return replace(prepared, notices=(*notices, *prepared.notices, *absent))


def _file_below(root: Path, file: str | None) -> str | None:
    """A file by its path from the workspace, which may be moved as a whole."""
    path = Path(file).resolve() if file else root
    return path.relative_to(root.resolve()).as_posix() if file and path.is_relative_to(root.resolve()) else None


def _draft_notices(transaction: Transaction, found: ProjectVersion, sandbox: str | None) -> list[Notice]:
    """Where a draft writes, when that is not where its active version does or when it is."""
    project_id = found.project.id
    if sandbox is not None:
        hint = f"`daybook activate {project_id}` makes it write to its destinations."
        return [notice("RUN_009", project=project_id, sandbox=sandbox, hint=hint)]
    if found.is_draft and transaction.projects.get(project_id).active_version is not None:
        return [notice("RUN_014", project=project_id)]
    return []


def start_run(
    store: MetadataStore, prepared: PreparedRun, before: Callable[[Transaction], None] = lambda _: None
) -> Lease:
    """Create the run; refused while another one of its project and period is running.

    `before` sees the store as it is when the run begins, and may refuse it, too.
    """
    snapshot = prepared.snapshot
    with store.write() as transaction:
        before(transaction)
        return transaction.runs.start(
            snapshot.run_id,
            snapshot.project.id,
            snapshot.project_version,
            snapshot.period.identifier,
            snapshot.to_json(),
            process=current_process(),
            now=transaction.now(),
            calendar_id=snapshot.period.calendar_id,
            as_of=snapshot.as_of,
            is_draft=snapshot.settings.is_draft,
            is_sandboxed=snapshot.settings.sandbox is not None,
            user=snapshot.provenance.user,
        )
