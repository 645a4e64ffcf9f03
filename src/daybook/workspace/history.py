"""Lists runs and periods, shows a run or a definition from the store, cancels a run, and closes or reopens periods."""

import datetime
import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args

from pydantic import computed_field

from daybook.definitions.activated import ProjectInput
from daybook.definitions.column_usage import StoredColumnUsage
from daybook.definitions.files import definitions_of_files
from daybook.definitions.loading.workspace import read_workspace
from daybook.definitions.value import Definitions
from daybook.errors import DaybookError, findings_of_record
from daybook.errors.error import closest_match
from daybook.errors.render import Finding
from daybook.model.calendar import Period, PeriodStatus
from daybook.model.definition import DEFINITION_KINDS, SANDBOX_PREFIX, DefinitionKind, RegisteredDataPin, TableVersion
from daybook.model.json_fields import DescribedAs, Hidden, Merged, PeriodByName, ShownAs, UnlessNone, named
from daybook.model.serialization import decode_definition, to_yaml
from daybook.resolve.calendars.calendar import PeriodCalendar
from daybook.resolve.calendars.periods import calendar_for, level_position, nearest_period, period_of
from daybook.runs.approvals.acts import period_act
from daybook.runs.approvals.requests import request_if_needed, request_made_error
from daybook.runs.lifecycle.period_status import PERIOD_ACTS, change_period_status
from daybook.runs.result import NamedOperation, name_operations
from daybook.store.database.periods import EffectiveStatus
from daybook.store.database.runs import format_page_mark, is_page_mark
from daybook.store.records import (
    Action,
    OutputCommit,
    ProjectState,
    RequestedAct,
    RunFilter,
    RunRecord,
    RunStatus,
    StatusChange,
    StoredDefinition,
    VersionEntry,
)
from daybook.store.store import Transaction
from daybook.workspace.open_workspace import OpenedWorkspace

RUN_STATUSES: tuple[RunStatus, ...] = get_args(RunStatus)


@dataclass(frozen=True, slots=True)
class RunListing:
    """Newest first; `next_page` continues the list, `suggestion` is a known project or period close to a wrong one."""

    runs: tuple[RunRecord, ...]
    next_page: Annotated[str | None, named("next")]
    suggestion: Hidden[str | None] = None


@dataclass(frozen=True, slots=True)
class SourceRead:
    """One dataset version that a run read, and from where."""

    dataset_id: str
    dataset_version: int
    locations: tuple[str, ...]


def _operation_names(snapshot: Mapping[str, Any]) -> Mapping[int, str]:
    return {operation["seq"]: operation["name"] for operation in snapshot["project"]["operations"]}


@dataclass(frozen=True, slots=True)
class RunDetails:
    """A run with what it did and committed, and why it did not complete, one JSON object per error.

    `snapshot_text` is the JSON text that was stored at its creation.
    """

    record: Merged[RunRecord]
    errors: Annotated[tuple[Mapping[str, Any], ...], ShownAs(list, list[DescribedAs[Finding]])]
    operations: tuple[NamedOperation, ...]
    commits: tuple[OutputCommit, ...]
    snapshot_text: Hidden[str]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def snapshot(self) -> Mapping[str, Any]:
        content: Mapping[str, Any] = json.loads(self.snapshot_text)
        return content

    @property
    def own_as_of(self) -> Mapping[str, datetime.date]:
        """The day of each dataset that was read as of another day than the run."""
        days = {source["dataset_id"]: source["resolution"].get("as_of") for source in self.snapshot["sources"]}
        own = {dataset_id: datetime.date.fromisoformat(day) for dataset_id, day in days.items() if day is not None}
        return {dataset_id: day for dataset_id, day in own.items() if day != self.record.as_of}

    @property
    def operation_names(self) -> Mapping[int, str]:
        return _operation_names(self.snapshot)

    @property
    def sources(self) -> tuple[SourceRead, ...]:
        """What it read, one entry per load of the project."""
        return tuple(
            SourceRead(
                source["dataset_id"],
                source["dataset_version"],
                tuple(location.get("uri") or location["table"] for location in source["resolution"]["locations"]),
            )
            for source in self.snapshot["sources"]
        )


@dataclass(frozen=True, slots=True)
class ProjectDetails:
    """Status of a project, and what the shown version reads."""

    state: Merged[ProjectState]
    inputs: Annotated[tuple[ProjectInput, ...], named("datasets")]
    usage: Annotated[tuple[StoredColumnUsage, ...], named("column_usage")]


@dataclass(frozen=True, slots=True)
class RegisteredData:
    """Where the data of a dataset version is, and at which version."""

    uri: str
    table_version: TableVersion
    delta_version: int | None


def _show_data(pin: RegisteredDataPin) -> RegisteredData:
    return RegisteredData(pin.uri, pin.version, pin.version.number)


@dataclass(frozen=True, slots=True)
class DefinitionDetails:
    """One version of a definition; `project` is set for projects, `pin` for registered data at a fixed version."""

    kind: DefinitionKind
    id: str
    version: int
    versions: tuple[int, ...]
    status: str
    created_at: datetime.datetime
    workspace: str | None
    body: Annotated[str, ShownAs(json.loads, dict[str, Any]), named("definition")]
    definition: Hidden[StoredDefinition]
    project: Merged[ProjectDetails | None] = None
    # Of datasets.
    history: UnlessNone[tuple[VersionEntry, ...] | None] = None
    pin: UnlessNone[Annotated[RegisteredDataPin | None, ShownAs(_show_data, RegisteredData), named("data")]] = None

    @property
    def yaml(self) -> str:
        """A text that loads again."""
        return to_yaml(self.kind, decode_definition(self.kind, self.body))


@dataclass(frozen=True, slots=True)
class DefinitionSummary:
    """A definition in its latest version; `active_version` is that of a project that has been activated."""

    kind: DefinitionKind
    id: str
    version: int
    status: str
    active_version: int | None
    workspace: str | None


@dataclass(frozen=True, slots=True)
class VersionDifference:
    """`lines` begin with a blank, + or -; none where the versions read the same."""

    kind: DefinitionKind
    id: str
    before: int
    after: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CancelResult:
    """`is_active` is True while the run has not stopped yet."""

    run_id: str
    status: RunStatus
    is_active: bool


def list_runs(
    workspace: OpenedWorkspace,
    *,
    project: str | None = None,
    period: str | None = None,
    status: str | None = None,
    limit: int = 20,
    after: str | None = None,
) -> RunListing:
    """Runs, newest first; `after` is the id of a run or the `next_page` of a listing."""
    if status is not None and status not in RUN_STATUSES:
        expected = f"one of {', '.join(RUN_STATUSES)}"
        raise DaybookError("RUN_031", argument="status", expected=expected, value=repr(status))
    run_filter = RunFilter(project, period, status)
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        if after is not None and not is_page_mark(after):
            after = format_page_mark(transaction.runs.get(after))
        page = transaction.runs.page(run_filter, limit=limit, after=after)
        suggestion = None if page.runs else _suggest_filter(transaction, project, period)
    return RunListing(page.runs, page.next_page, suggestion)


def show_run(workspace: OpenedWorkspace, run_id: str) -> RunDetails:
    """Everything that is known of a run, by its id or as PROJECT@PERIOD."""
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        run_id = transaction.runs.id_of(run_id)
        record, snapshot = transaction.runs.shown(run_id), transaction.runs.snapshot(run_id)
        return RunDetails(
            record,
            tuple(findings_of_record(record.error)) if record.error else (),
            name_operations(transaction.outcomes.operations(run_id), _operation_names(json.loads(snapshot))),
            transaction.outcomes.commits(run_id),
            snapshot,
        )


def show_definition(
    workspace: OpenedWorkspace, kind: DefinitionKind, identifier: str, *, version: int | None = None
) -> DefinitionDetails:
    """A version of a definition, by default the latest."""
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        stored = transaction.definitions.get(kind, identifier, version)
        versions = transaction.definitions.versions(kind, identifier)
        project, pin, history = None, None, None
        if kind == "project":
            project = ProjectDetails(
                transaction.projects.get(identifier),
                transaction.projects.inputs(identifier, stored.version),
                transaction.projects.usage(identifier, stored.version),
            )
        elif kind == "dataset":
            pin = transaction.definitions.pin(identifier, stored.version)
            history = transaction.definitions.history(kind, identifier)
    return DefinitionDetails(
        kind=kind,
        id=stored.id,
        version=stored.version,
        versions=versions,
        status=project.state.status if project else stored.status,
        created_at=stored.created_at,
        workspace=stored.workspace,
        body=stored.body,
        definition=stored,
        project=project,
        history=history,
        pin=pin,
    )


def list_definitions(workspace: OpenedWorkspace) -> tuple[DefinitionSummary, ...]:
    """Every definition of the store with its status, by kind and id; sandboxes are left out."""
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        heads = transaction.definitions.heads()
        projects = {state.project_id: state for state in transaction.projects.all()}
    summaries = [
        DefinitionSummary(
            head.kind,
            head.id,
            head.version,
            projects[head.id].status if head.kind == "project" and head.id in projects else head.status,
            projects[head.id].active_version if head.kind == "project" and head.id in projects else None,
            head.workspace,
        )
        for head in heads.values()
        if not head.id.startswith(SANDBOX_PREFIX)
    ]
    return tuple(sorted(summaries, key=lambda summary: (DEFINITION_KINDS.index(summary.kind), summary.id)))


def compare_versions(
    workspace: OpenedWorkspace, kind: DefinitionKind, identifier: str, version_a: int, version_b: int
) -> VersionDifference:
    """What differs between two versions of a definition, as YAML, line by line."""
    first = show_definition(workspace, kind, identifier, version=version_a)
    second = show_definition(workspace, kind, identifier, version=version_b)
    names = f"version {version_a}", f"version {version_b}"
    lines = difflib.unified_diff(first.yaml.splitlines(), second.yaml.splitlines(), *names, lineterm="", n=3)
    return VersionDifference(kind, identifier, version_a, version_b, tuple(lines))


def list_actions(workspace: OpenedWorkspace, *, limit: int = 20) -> tuple[Action, ...]:
    """What was done on the page of `daybook serve`, newest first."""
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        return transaction.actions.latest(limit)


def cancel_run(workspace: OpenedWorkspace, run_id: str) -> CancelResult:
    """Ask a run to stop; a run whose process is gone is ended at once."""
    with workspace.open_store() as store, store.write() as transaction:
        run = transaction.runs.request_cancel(run_id, now=transaction.now())
    return CancelResult(run.id, run.status, run.is_active)


def _suggest_filter(transaction: Transaction, project: str | None, period: str | None) -> str | None:
    """A suggestion for an unknown project or period."""
    projects = [state.project_id for state in transaction.projects.all()]
    if project is not None and project not in projects:
        return closest_match(project, projects)
    if period is None:
        return None
    stored = transaction.stored_definitions()
    calendars = [calendar_for(calendar_id, stored) for calendar_id in (None, *stored.ids("calendar"))]
    if any(calendar.find(period) for calendar in calendars):
        return None
    near = [nearest for calendar in calendars if (nearest := nearest_period(period, calendar)) is not None]
    return closest_match(period, near) or next(iter(near), None)


@dataclass(frozen=True, slots=True)
class PeriodListing:
    """A period with the status that counts for it, its own or that of a period around it."""

    period: Merged[Period]
    status: Merged[EffectiveStatus]
    history: tuple[StatusChange, ...] = ()

    @property
    def is_own_status(self) -> bool:
        return self.status.because_of in (None, self.period.identifier)


@dataclass(frozen=True, slots=True)
class PeriodChange:
    """`is_changed` is False when the period had the status before."""

    period: Annotated[PeriodByName, named("identifier")]
    status: PeriodStatus
    is_changed: Annotated[bool, named("changed")]


def list_periods(
    workspace: OpenedWorkspace, *, calendar: str | None = None, year: int | None = None, level: str | None = None
) -> tuple[PeriodListing, ...]:
    """The periods of a year, by default this one; without a level all but single days."""
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        period_calendar = _find_calendar(workspace, calendar, transaction.stored_definitions())
        shown = _periods_of_level(period_calendar, year or workspace.clock().year, level)
        return tuple(_listing(transaction, period) for period in shown)


def show_period(workspace: OpenedWorkspace, period: str, *, calendar: str | None = None) -> PeriodListing:
    """A period with its status and every change of it."""
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        return _listing(transaction, find_period(transaction, workspace, period, calendar))


def find_period(transaction: Transaction, workspace: OpenedWorkspace, period: str, calendar: str | None) -> Period:
    """A period of a calendar, by default the Gregorian one."""
    return period_of(period, _find_calendar(workspace, calendar, transaction.stored_definitions()))


def close_period(
    workspace: OpenedWorkspace, period: str, *, calendar: str | None = None, reason: str | None = None
) -> PeriodChange:
    """Close a period: runs on it and inside it warn."""
    return _set_status(workspace, period, calendar, "closed", reason)


def lock_period(
    workspace: OpenedWorkspace, period: str, *, calendar: str | None = None, reason: str | None = None
) -> PeriodChange:
    """Lock a period: runs on it and inside it are refused."""
    return _set_status(workspace, period, calendar, "locked", reason)


def reopen_period(workspace: OpenedWorkspace, period: str, *, reason: str, calendar: str | None = None) -> PeriodChange:
    """Open a closed or locked period again; the reason is recorded permanently."""
    if not reason.strip():
        raise DaybookError("STORE_032", action="Reopening a period")
    return _set_status(workspace, period, calendar, "open", reason)


def _listing(transaction: Transaction, period: Period) -> PeriodListing:
    return PeriodListing(period, transaction.periods.status(period), transaction.periods.history(period))


def _request_change(
    transaction: Transaction, period: Period, status: PeriodStatus, reason: str | None
) -> DaybookError | None:
    """That a request was made, where locking or reopening needs approval; closing never does."""
    own_status = transaction.periods.status(period)
    if status == "closed" or own_status.status == status:
        return None
    name: RequestedAct = "lock" if status == "locked" else "reopen"
    request = request_if_needed(
        transaction, name, lambda: period_act(transaction, name, period, reason=reason), reason=reason
    )
    return request_made_error(transaction, request) if request is not None else None


def _set_status(
    workspace: OpenedWorkspace, identifier: str, calendar: str | None, status: PeriodStatus, reason: str | None
) -> PeriodChange:
    now, user = workspace.clock(), workspace.user
    act = PERIOD_ACTS[status]
    with workspace.open_store() as store, store.logged_refusal(act, identifier), store.write() as transaction:
        period = period_of(identifier, _find_calendar(workspace, calendar, transaction.stored_definitions()))
        request_error = _request_change(transaction, period, status, reason)
        if request_error is None:
            is_changed = change_period_status(transaction, period, status, now=now, user=user, reason=reason)
    if request_error is not None:
        raise request_error
    return PeriodChange(period, status, is_changed)


def _periods_of_level(calendar: PeriodCalendar, year: int, level: str | None) -> Iterator[Period]:
    """A year's periods of one level; without a level, those longer than a day."""
    if level is not None:
        level_position(level, calendar)
    for period in calendar.of_year(year):
        if period.level == level or (level is None and period.start_date < period.end_date):
            yield period


def _find_calendar(workspace: OpenedWorkspace, calendar_id: str | None, stored: Definitions) -> PeriodCalendar:
    """As the store has it; as the files have it where the store does not know it."""
    if calendar_id is None or stored.calendar(calendar_id) is not None:
        return calendar_for(calendar_id, stored)
    definitions, _ = read_workspace(workspace.root)
    return calendar_for(calendar_id, definitions_of_files(definitions))
