"""Lists, shows and cancels runs, and lists the actions of people."""

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args

from pydantic import computed_field

from daybook.errors import DaybookError, findings_of_record
from daybook.errors.error import closest_match
from daybook.errors.render import Finding
from daybook.model.json_fields import DescribedAs, Hidden, Merged, ShownAs, named
from daybook.resolve.calendars.periods import calendar_for, nearest_period
from daybook.runs.run_result import NamedOperation, name_operations
from daybook.store.database.runs import format_page_mark, is_page_mark
from daybook.store.records import (
    Action,
    OutputCommit,
    RunFilter,
    RunRecord,
    RunStatus,
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
