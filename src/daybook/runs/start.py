"""Starting a run: which version of a project may run, on which period, and the lease that goes with it."""

import datetime
from dataclasses import dataclass
from typing import Any

from daybook.errors import DaybookError, Notice, notice
from daybook.model.definition import Catalog, Definition
from daybook.model.loading import LoadedWorkspace
from daybook.model.period import Period
from daybook.model.project import Project
from daybook.model.source_map import SourceMap
from daybook.model.view import View
from daybook.resolve.calendars.periods import calendar_for, period_range
from daybook.runs.outputs import refuse_workspace_files
from daybook.runs.permissions import check_period, conflict_notices
from daybook.runs.preparation import PreparedRun, RunSpecification, StoredPeriods, plan_run
from daybook.runs.snapshot import RunSettings, new_run_id, provenance
from daybook.store.apply import apply
from daybook.store.catalog import ActivatedCatalog
from daybook.store.lifecycle import require_runnable
from daybook.store.process import current_process
from daybook.store.records import Lease, NewRun, ValidateProject
from daybook.store.references import dataset_references
from daybook.store.store import MetadataStore, Transaction


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a user asks for: a project by id or file, a period or a range of them."""

    project: str
    period: str
    as_of: datetime.date | None = None
    is_draft: bool = False
    allow_empty: bool = False


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A run that exists in the store and is ours to execute."""

    prepared: PreparedRun
    lease: Lease
    notices: tuple[Notice, ...]
    is_retry: bool = False


@dataclass(frozen=True, slots=True)
class RunnableProject:
    """The version of a project that runs, and the definitions it sees."""

    definition: Definition[Project]
    version: int
    is_draft: bool
    catalog: Catalog
    has_active_version: bool = True


def apply_project_files(
    workspace: LoadedWorkspace,
    definition: Definition[Project],
    store: MetadataStore,
    validate: ValidateProject,
    now: datetime.datetime,
) -> tuple[Notice, ...]:
    """On an embedded store a run brings the project's file, and what it reaches, with it; what that broke is told."""
    wanted = {reference.dataset_id for reference in dataset_references(definition.model)}
    datasets = workspace.definitions["dataset"]
    waiting = list(wanted)
    while waiting:
        found = datasets.get(waiting.pop())
        if found is not None and isinstance(found.model, View) and found.model.view.of not in wanted:
            wanted.add(found.model.view.of)
            waiting.append(found.model.view.of)
    reached: list[Definition[Any]] = [
        *(dataset for dataset in datasets.values() if dataset.id in wanted),
        *workspace.definitions["datasource"].values(),
        *workspace.definitions["resolver"].values(),
        *workspace.definitions["calendar"].values(),
        definition,
    ]
    applied = apply(store, reached, workspace=workspace.settings.name, validate=validate, now=now)
    return (*applied.notices, *conflict_notices(applied.effects, but=definition.id))


def find_runnable(transaction: Transaction, definition: Definition[Project], *, as_draft: bool) -> RunnableProject:
    """The active version, or the written one as a draft when it was asked for or was never activated."""
    project = definition.model
    state = transaction.projects.find(project.id)
    if state is None:
        raise DaybookError("RUN_015", project=project.id)
    if as_draft or (state.active_version is None and state.status == "draft"):
        catalog = transaction.catalog(with_sandbox=True)
        return RunnableProject(definition, state.latest_version, True, catalog, state.active_version is not None)
    active = require_runnable(transaction, project.id, project)
    source = definition.source if active.project == project else SourceMap.empty()
    activated = ActivatedCatalog(transaction.catalog(), active.inputs)
    return RunnableProject(Definition("project", active.project, source), active.version, False, activated)


def parse_periods(definition: Definition[Project], text: str, catalog: Catalog) -> tuple[Period, ...]:
    """One period, or `2026-01..2026-12` in order."""
    return period_range(text, calendar_for(definition.model.calendar_id, catalog))


def prepare_run(
    workspace: LoadedWorkspace,
    transaction: Transaction,
    chosen: RunnableProject,
    period: Period,
    wanted: RunRequest,
    *,
    now: datetime.datetime,
    version: str,
) -> tuple[PreparedRun, tuple[Notice, ...]]:
    """Everything that can be known and checked before the run exists."""
    project_id = chosen.definition.id
    sandbox = workspace.settings.sandbox if chosen.is_draft else None
    notices = list(check_period(transaction, period, is_sandboxed=sandbox is not None))
    if sandbox is not None:
        hint = f"`daybook activate {project_id}` makes it write to its destinations."
        notices.append(notice("RUN_009", project=project_id, sandbox=sandbox, hint=hint))
    elif chosen.is_draft and chosen.has_active_version:
        notices.append(notice("RUN_014", project=project_id))
    settings = RunSettings(chosen.is_draft, sandbox, wanted.allow_empty, dict(workspace.settings.engine.conf))
    request = RunSpecification(
        run_id=new_run_id(now),
        definition=chosen.definition,
        project_version=chosen.version,
        period=period,
        timestamp=now,
        as_of=wanted.as_of,
        settings=settings,
        provenance=provenance(workspace.root, version),
    )
    lookup = StoredPeriods(transaction)
    hosts = workspace.settings.catalogs.allowed_hosts
    prepared = plan_run(request, chosen.catalog, workspace.root, hosts, lookup)
    refuse_workspace_files(workspace, prepared.outputs, is_sandboxed=sandbox is not None)
    return prepared, (*notices, *prepared.plan.notices)


def start_run(store: MetadataStore, prepared: PreparedRun, notices: tuple[Notice, ...]) -> StartedRun:
    """Create the run; refused while another one of its project and period lives."""
    snapshot = prepared.snapshot
    new = NewRun(
        id=snapshot.run_id,
        project_id=snapshot.project.id,
        project_version=snapshot.project_version,
        period=snapshot.period.identifier,
        snapshot=snapshot.to_json(),
        calendar_id=snapshot.period.calendar_id,
        as_of=snapshot.as_of,
        is_draft=snapshot.settings.is_draft,
        is_sandboxed=snapshot.settings.sandbox is not None,
        user=snapshot.provenance.user,
    )
    with store.write() as transaction:
        lease = transaction.runs.start(new, process=current_process(), now=transaction.now())
    return StartedRun(prepared, lease, notices)
