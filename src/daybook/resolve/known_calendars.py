"""Calendars by id: the built-in one and those that are declared."""

from daybook.errors import DaybookError
from daybook.model.catalog import Catalog
from daybook.model.suggestion import did_you_mean
from daybook.resolve.calendar_checks import checked_calendar
from daybook.resolve.calendars import GREGORIAN, GREGORIAN_ID, PeriodCalendar


def calendar_for(calendar_id: str | None, catalog: Catalog) -> PeriodCalendar:
    """The calendar with this id; without one, the Gregorian."""
    if calendar_id is None or calendar_id == GREGORIAN_ID:
        return GREGORIAN
    calendar = catalog.calendar(calendar_id)
    if calendar is None:
        hint = did_you_mean(calendar_id, (GREGORIAN_ID, *catalog.ids("calendar")))
        raise DaybookError("RESOLVE_003", hint=hint, calendar=calendar_id)
    return checked_calendar(calendar)
