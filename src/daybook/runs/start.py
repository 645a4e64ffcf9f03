"""Starting a run: which version of a project may run, on which period, and the lease that goes with it."""

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from daybook.errors import DaybookError, Notice, notice, raise_all
from daybook.model.calendar import Period
from daybook.model.definition import Catalog, Definition
from daybook.model.loading import LoadedWorkspace
from daybook.model.loading.workspace import WorkspaceCatalog
from daybook.model.parameter import parameter_texts, parameter_values
from daybook.model.project import Project
from daybook.model.serialization import to_yaml
from daybook.plan.registered_catalog import RegisteringProjects
from daybook.plan.registration import registration_errors
from daybook.resolve.calendars.periods import calendar_for, period_range
from daybook.resolve.resolution import PeriodLookup
from daybook.runs.environment import RunEnvironment
from daybook.runs.outputs import refuse_workspace_files
from daybook.runs.permissions import check_period, conflict_notices
from daybook.runs.preparation import PreparedRun, resolve_run
from daybook.runs.provenance import provenance
from daybook.runs.sandbox import SandboxCatalog, SandboxPeriods
from daybook.runs.snapshot import RunSettings, RunSnapshot, new_run_id
from daybook.runs.sources import StoredPeriods
from daybook.store.apply import apply
from daybook.store.catalog import ActivatedCatalog
from daybook.store.database.projects import ProjectVersion
from daybook.store.lifecycle import require_runnable
from daybook.store.process import current_process
from daybook.store.records import Lease
from daybook.store.references import load_project, reachable_definitions
from daybook.store.store import MetadataStore, Transaction


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
        parse_periods(definition, request.period, WorkspaceCatalog(workspace))
    return definition, notices


def apply_project_files(
    workspace: LoadedWorkspace, definition: Definition[Project], environment: RunEnvironment
) -> tuple[Notice, ...]:
    """On an embedded store a run applies the project's file and what it reaches; other projects it broke are named."""
    applied = apply(
        environment.store,
        reachable_definitions(workspace, definition.id),
        workspace=workspace.settings.name,
        now=environment.clock(),
        files=workspace.all(),
        is_looking_ahead=False,
        plans=environment.plans,
    )
    return (*applied.notices, *conflict_notices(applied.effects, but=definition.id))


def find_version(transaction: Transaction, written: Project, *, as_draft: bool) -> ProjectVersion:
    """The active version, or the written one as a draft when it was asked for or was never activated."""
    state = transaction.projects.find(written.id)
    if state is None:
        raise DaybookError("RUN_015", project=written.id)
    if as_draft or (state.active_version is None and state.status == "draft"):
        return ProjectVersion(written, state.latest_version, is_draft=True)
    return require_runnable(transaction, written.id, written)


def parse_periods(definition: Definition[Project], text: str, catalog: Catalog) -> tuple[Period, ...]:
    """One period, or `2026-01..2026-12` in order."""
    return period_range(text, calendar_for(definition.model.calendar_id, catalog))


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
    stored: Catalog = transaction.catalog(with_sandbox=found.is_draft)
    sandbox = workspace.settings.sandbox if found.is_draft else None
    periods: PeriodLookup = StoredPeriods(transaction, workspace.root)
    own_id = transaction.identity.ids().own
    origin = provenance(workspace.root, environment.version, workspace.settings.name, own_id, environment.user)
    if sandbox is not None and request.reads_sandbox:
        periods = in_sandbox = SandboxPeriods(transaction, origin.user, workspace.root)
        stored = SandboxCatalog(stored, transaction, in_sandbox)
    named = RegisteringProjects(stored, workspace.definitions["project"].values())
    catalog = ActivatedCatalog(named, found.inputs)
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
    plan = environment.plans.plan(Definition("project", found.project, definition.source), catalog, snapshot.constants)
    raise_all(registration_errors(plan, definition.source, catalog))
    prepared = resolve_run(snapshot, plan, catalog, workspace.root, hosts, periods)
    refuse_workspace_files(workspace, prepared.outputs, is_sandboxed=sandbox is not None)
    return replace(prepared, notices=(*notices, *prepared.notices))


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
    """Create the run; refused while another one of its project and period lives.

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
