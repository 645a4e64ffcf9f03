"""Lists periods with their statuses and history; closes, locks and reopens them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from daybook.definitions.files import definitions_of_files
from daybook.definitions.loading.loaded_workspace import read_workspace
from daybook.definitions.value import Definitions
from daybook.errors import DaybookError
from daybook.model.calendar import Period, PeriodStatus
from daybook.model.json_fields import Merged, PeriodByName, named
from daybook.resolve.calendars.calendar import PeriodCalendar
from daybook.resolve.calendars.periods import calendar_for, level_position, period_of
from daybook.runs.approvals.acts import period_act
from daybook.runs.approvals.requests import request_if_needed, request_made_error
from daybook.runs.lifecycle.period_status import PERIOD_ACTS, change_period_status
from daybook.store.database.periods import EffectiveStatus
from daybook.store.records import (
    RequestedAct,
    StatusChange,
)
from daybook.store.store import Transaction
from daybook.workspace.open_workspace import OpenedWorkspace


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
