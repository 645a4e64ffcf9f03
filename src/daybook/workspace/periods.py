"""Lists periods with their status and history; closes, locks and reopens them."""

from collections.abc import Iterator
from dataclasses import dataclass

from daybook.errors import DaybookError
from daybook.model.calendar import Period, PeriodStatus
from daybook.model.definition import Catalog
from daybook.model.loading.workspace import WorkspaceCatalog, read_workspace
from daybook.resolve.calendars.calendar import PeriodCalendar
from daybook.resolve.calendars.periods import calendar_for, level_position, period_of
from daybook.store.database.periods import EffectiveStatus
from daybook.store.records import StatusChange
from daybook.store.store import Transaction
from daybook.workspace.open_workspace import OpenedWorkspace


@dataclass(frozen=True, slots=True)
class PeriodListing:
    """A period with the status that counts for it, its own or that of a period around it."""

    period: Period
    status: EffectiveStatus
    history: tuple[StatusChange, ...] = ()

    @property
    def is_own_status(self) -> bool:
        return self.status.because_of in (None, self.period.identifier)


@dataclass(frozen=True, slots=True)
class PeriodChange:
    """`is_changed` is False when the period had the status before."""

    period: Period
    status: PeriodStatus
    is_changed: bool


def list_periods(
    workspace: OpenedWorkspace, *, calendar: str | None = None, year: int | None = None, level: str | None = None
) -> tuple[PeriodListing, ...]:
    """The periods of a year, by default this one; without a level all but single days."""
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        found = _find_calendar(workspace, calendar, transaction.catalog())
        shown = _periods_of_level(found, year or workspace.clock().year, level)
        return tuple(_listing(transaction, period) for period in shown)


def show_period(workspace: OpenedWorkspace, period: str, *, calendar: str | None = None) -> PeriodListing:
    """A period with its status and every change of it."""
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        found = _find_calendar(workspace, calendar, transaction.catalog())
        return _listing(transaction, period_of(period, found))


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


def _set_status(
    workspace: OpenedWorkspace, identifier: str, calendar: str | None, status: PeriodStatus, reason: str | None
) -> PeriodChange:
    now, user = workspace.clock(), workspace.user
    with workspace.open_store() as store, store.write() as transaction:
        period = period_of(identifier, _find_calendar(workspace, calendar, transaction.catalog()))
        if status == "open":
            is_changed = transaction.periods.reopen(period, reason=reason or "", now=now, user=user)
        else:
            is_changed = transaction.periods.advance(period, status, now=now, user=user, reason=reason)
    return PeriodChange(period, status, is_changed)


def _periods_of_level(calendar: PeriodCalendar, year: int, level: str | None) -> Iterator[Period]:
    """A year's periods of one level; without a level, those longer than a day."""
    if level is not None:
        level_position(level, calendar)
    for period in calendar.of_year(year):
        if period.level == level or (level is None and period.start_date < period.end_date):
            yield period


def _find_calendar(workspace: OpenedWorkspace, calendar_id: str | None, stored: Catalog) -> PeriodCalendar:
    """As the store has it; as the files have it where the store does not know it."""
    if calendar_id is None or stored.calendar(calendar_id) is not None:
        return calendar_for(calendar_id, stored)
    definitions, _ = read_workspace(workspace.root)
    return calendar_for(calendar_id, WorkspaceCatalog(definitions))
