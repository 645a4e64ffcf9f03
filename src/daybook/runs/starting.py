"""Starting a run: which version of a project may run, on which period, and the lease that goes with it."""

import datetime
from dataclasses import dataclass
from typing import Any

from daybook.errors import DaybookError, Notice, notice
from daybook.model.catalog import Catalog
from daybook.model.definition import Definition
from daybook.model.loading import Workspace
from daybook.model.period import Period
from daybook.model.project import Project
from daybook.model.source_map import SourceMap
from daybook.resolve.known_calendars import calendar_for
from daybook.resolve.periods import period_range
from daybook.runs.conflicts import new_conflicts
from daybook.runs.own_files import refuse_own_files
from daybook.runs.period_status import check_period
from daybook.runs.preparing import Prepared, Request, prepare
from daybook.runs.provenance import provenance
from daybook.runs.run_id import new_run_id
from daybook.runs.snapshot import RunSettings
from daybook.store.activated_catalog import ActivatedCatalog
from daybook.store.apply import apply
from daybook.store.lifecycle import require_runnable
from daybook.store.process import current_process
from daybook.store.records import Lease, NewRun
from daybook.store.references import references
from daybook.store.store import Store, Transaction
from daybook.store.validation import Validate


@dataclass(frozen=True, slots=True)
class RunWish:
    """What a user asks for: a project by id or file, a period or a range of them."""

    project: str
    period: str
    as_of: datetime.date | None = None
    is_draft: bool = False
    allow_empty: bool = False


@dataclass(frozen=True, slots=True)
class Started:
    """A run that exists in the store and is ours to execute."""

    prepared: Prepared
    lease: Lease
    notices: tuple[Notice, ...]
    is_retry: bool = False


@dataclass(frozen=True, slots=True)
class Runnable:
    """The version of a project that runs, and the definitions it sees."""

    definition: Definition[Project]
    version: int
    is_draft: bool
    catalog: Catalog
    has_active_version: bool = True


def apply_reached(
    workspace: Workspace, definition: Definition[Project], store: Store, validate: Validate, now: datetime.datetime
) -> tuple[Notice, ...]:
    """On an embedded store a run brings the project's file, and what it reaches, with it; what that broke is told."""
    wanted = {reference.dataset_id for reference in references(definition.model)}
    reached: list[Definition[Any]] = [
        *(dataset for dataset in workspace.definitions["dataset"].values() if dataset.id in wanted),
        *workspace.definitions["datasource"].values(),
        *workspace.definitions["resolver"].values(),
        *workspace.definitions["calendar"].values(),
        definition,
    ]
    applied = apply(store, reached, workspace=workspace.settings.name, validate=validate, now=now)
    return (*applied.notices, *new_conflicts(applied.effects, but=definition.id))


def runnable(transaction: Transaction, definition: Definition[Project], *, as_draft: bool) -> Runnable:
    """The active version, or the written one as a draft when it was asked for or was never activated."""
    project = definition.model
    state = transaction.projects.find(project.id)
    if state is None:
        raise DaybookError("RUN_015", project=project.id)
    if as_draft or (state.active_version is None and state.status == "draft"):
        catalog = transaction.catalog(with_sandbox=True)
        return Runnable(definition, state.latest_version, True, catalog, state.active_version is not None)
    active = require_runnable(transaction, project.id, project)
    source = definition.source if active.project == project else SourceMap.empty()
    activated = ActivatedCatalog(transaction.catalog(), active.inputs)
    return Runnable(Definition("project", active.project, source), active.version, False, activated)


def periods_of(definition: Definition[Project], text: str, catalog: Catalog) -> tuple[Period, ...]:
    """One period, or `2026-01..2026-12` in order."""
    return period_range(text, calendar_for(definition.model.calendar_id, catalog))


def prepare_run(
    workspace: Workspace,
    transaction: Transaction,
    chosen: Runnable,
    period: Period,
    wanted: RunWish,
    *,
    now: datetime.datetime,
    version: str,
) -> tuple[Prepared, tuple[Notice, ...]]:
    """Everything that can be known and checked before the run exists."""
    notices = list(check_period(transaction, period))
    project_id = chosen.definition.id
    sandbox = workspace.settings.sandbox if chosen.is_draft else None
    if sandbox is not None:
        hint = f"`daybook activate {project_id}` makes it write to its destinations."
        notices.append(notice("RUN_009", project=project_id, sandbox=sandbox, hint=hint))
    elif chosen.is_draft and chosen.has_active_version:
        notices.append(notice("RUN_014", project=project_id))
    settings = RunSettings(chosen.is_draft, sandbox, wanted.allow_empty, dict(workspace.settings.engine.conf))
    request = Request(
        run_id=new_run_id(now),
        definition=chosen.definition,
        project_version=chosen.version,
        period=period,
        timestamp=now,
        as_of=wanted.as_of,
        settings=settings,
        provenance=provenance(workspace.root, version),
    )
    prepared = prepare(request, chosen.catalog, workspace.root, workspace.settings.catalogs.allowed_hosts)
    refuse_own_files(workspace, prepared.outputs, is_sandboxed=sandbox is not None)
    return prepared, (*notices, *prepared.plan.notices)


def start(store: Store, prepared: Prepared, notices: tuple[Notice, ...]) -> Started:
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
    return Started(prepared, lease, notices)
