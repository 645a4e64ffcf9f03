"""Windows of views: which periods a run of one period looks at."""

import datetime
from collections.abc import Iterator
from itertools import islice, takewhile
from typing import assert_never

from daybook.errors import DaybookError
from daybook.model.calendar import Period
from daybook.model.view import AllWindow, AsOfRule, DaysAfterEnd, LastWindow, OffsetWindow, ToDateWindow, Window
from daybook.resolve.calendars.calendar import PeriodCalendar
from daybook.resolve.calendars.periods import enclosing_period, is_coarser, level_position, period_of
from daybook.resolve.calendars.years import DAY

YEAR_LEVEL = "year"
# The years whose periods a table of many periods is taken to hold.
_YEARS = range(1900, 2200)


def window_periods(window: Window, period: Period, calendar: PeriodCalendar) -> tuple[Period, ...] | None:
    """The periods of a window in order; None for `all`, whose periods are those that the data has.

    A position that the calendar does not have (week 53 of a short year, the period before the first one of a list)
    gives no period.
    """
    match window:
        case "previous":
            return _present(_shifted(period, -1, calendar))
        case "same_last_year":
            return _present(_same_last_year(period, calendar))
        case "all":
            return None
        case OffsetWindow(offset=offset):
            return _present(_shifted(period, offset, calendar))
        case ToDateWindow(to_date=level):
            return _to_date(period, level, calendar)
        case LastWindow(last=count):
            return tuple(reversed([period, *islice(_before(period, calendar), count - 1)]))
        case AllWindow(all=bound):
            return _from_first(period, period_of(bound.first, calendar), calendar)
        case _:
            assert_never(window)


def check_window(window: Window, calendar: PeriodCalendar) -> None:
    """Raise what is wrong with a window in a calendar, whatever the run's period."""
    match window:
        case "same_last_year":
            level_position(YEAR_LEVEL, calendar)
        case ToDateWindow(to_date=level):
            level_position(level, calendar)
        case AllWindow(all=bound):
            period_of(bound.first, calendar)
        case _:
            pass


def as_of_date(rule: AsOfRule | None, period: Period) -> datetime.date:
    """The day at which bitemporal rows must be valid."""
    match rule:
        case None | "start":
            return period.start_date
        case "end":
            return period.end_date
        case DaysAfterEnd(after_end=days):
            return period.end_date + DAY * days
        case _:
            assert_never(rule)


def periods_of_level(level: str, calendar: PeriodCalendar) -> Iterator[Period]:
    """Every period of a level that data may be about."""
    seen: set[str] = set()
    for year in _YEARS:
        for period in calendar.of_year(year):
            if period.level == level and period.identifier not in seen:
                seen.add(period.identifier)
                yield period


def _present(period: Period | None) -> tuple[Period, ...]:
    return (period,) if period is not None else ()


def _shifted(period: Period, offset: int, calendar: PeriodCalendar) -> Period | None:
    steps = _before(period, calendar) if offset < 0 else _after(period, calendar)
    return next(islice(steps, abs(offset) - 1, None), None)


def _before(period: Period, calendar: PeriodCalendar) -> Iterator[Period]:
    current: Period | None = period
    while current is not None and current.start_date > datetime.date.min:
        current = calendar.at(current.level, current.start_date - DAY)
        if current is not None:
            yield current


def _after(period: Period, calendar: PeriodCalendar) -> Iterator[Period]:
    current: Period | None = period
    while current is not None and current.end_date < datetime.date.max:
        current = calendar.at(current.level, current.end_date + DAY)
        if current is not None:
            yield current


def _to_date(period: Period, level: str, calendar: PeriodCalendar) -> tuple[Period, ...]:
    if not is_coarser(level, period.level, calendar) and level != period.level:
        raise DaybookError("RESOLVE_090", level=level, period=period.identifier, period_level=period.level)
    outer = enclosing_period(period, level, calendar)
    return _from_first(period, calendar.at(period.level, outer.start_date), calendar)


def _from_first(period: Period, first: Period | None, calendar: PeriodCalendar) -> tuple[Period, ...]:
    """From a first period up to the run's, both included."""
    if first is None:
        return ()
    if first.level != period.level:
        raise DaybookError(
            "RESOLVE_091", first=first.identifier, level=first.level, period=period.identifier, expected=period.level
        )
    if period.start_date < first.start_date:
        return ()
    earlier = takewhile(lambda each: each.start_date >= first.start_date, _before(period, calendar))
    return tuple(reversed([period, *earlier]))


def _same_last_year(period: Period, calendar: PeriodCalendar) -> Period | None:
    """The period at the same position in the calendar year before; days go by month and day."""
    year = enclosing_period(period, YEAR_LEVEL, calendar)
    before = _shifted(year, -1, calendar)
    if before is None:
        return None
    if period.start_date == period.end_date:
        return _same_day(period, before, calendar)
    position = sum(
        1 for _ in takewhile(lambda earlier: earlier.start_date >= year.start_date, _before(period, calendar))
    )
    first = calendar.at(period.level, before.start_date)
    if first is None:
        return None
    found = first if position == 0 else _shifted(first, position, calendar)
    return found if found is not None and found.end_date <= before.end_date else None


def _same_day(period: Period, year_before: Period, calendar: PeriodCalendar) -> Period | None:
    """29 February has no such day in a year of 365 days."""
    for year in {year_before.start_date.year, year_before.end_date.year}:
        try:
            day = period.start_date.replace(year=year)
        except ValueError:
            continue
        if year_before.start_date <= day <= year_before.end_date:
            return calendar.at(period.level, day)
    return None
