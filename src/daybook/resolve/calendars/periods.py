"""Calendars by id, the arithmetic of periods, and the periods that the window of a view reads."""

import datetime
import re
from collections.abc import Iterable, Iterator
from itertools import islice, takewhile
from typing import assert_never

from daybook.definitions.value import Definitions
from daybook.errors import DaybookError
from daybook.errors.error import closest_match, did_you_mean
from daybook.model.calendar import Period
from daybook.model.dataset import AllWindow, AsOfRule, DaysAfterEnd, LastWindow, OffsetWindow, ToDateWindow, Window
from daybook.resolve.calendars.calendar import DAY, GREGORIAN, GREGORIAN_ID, PeriodCalendar
from daybook.resolve.calendars.calendar_checks import checked_calendar


def calendar_for(calendar_id: str | None, definitions: Definitions) -> PeriodCalendar:
    """The calendar with this id; without one, the Gregorian."""
    if calendar_id is None or calendar_id == GREGORIAN_ID:
        return GREGORIAN
    calendar = definitions.calendar(calendar_id)
    if calendar is None:
        hint = did_you_mean(calendar_id, (GREGORIAN_ID, *definitions.ids("calendar")))
        raise DaybookError("RESOLVE_003", hint=hint, calendar=calendar_id)
    return checked_calendar(calendar)


_EXAMPLE_YEAR = 2026


def period_of(identifier: str, calendar: PeriodCalendar) -> Period:
    """The period with this identifier; a wrong one is answered with the nearest that exists."""
    period = calendar.find(identifier)
    if period is None:
        raise DaybookError(
            "RESOLVE_001", hint=_period_hint(identifier, calendar), identifier=identifier, calendar=calendar.id
        )
    return period


def period_range(text: str, calendar: PeriodCalendar) -> tuple[Period, ...]:
    """`2026-01..2026-12` as its periods in order; a single identifier is a range of one."""
    first_text, dots, last_text = text.partition("..")
    if not dots:
        return (period_of(text, calendar),)
    first, last = period_of(first_text, calendar), period_of(last_text, calendar)
    if first.level != last.level:
        raise DaybookError(
            "RESOLVE_002",
            hint="both ends of a range have the same level, such as 2026-01..2026-12",
            range=text,
            problem=f"{first.identifier} is a {first.level} and {last.identifier} a {last.level}",
        )
    if first.start_date > last.start_date:
        raise DaybookError(
            "RESOLVE_002",
            hint=f"write {last.identifier}..{first.identifier}",
            range=text,
            problem=f"{first.identifier} comes after {last.identifier}",
        )
    return tuple(_consecutive_periods(first, last.end_date, calendar))


def child_periods(period: Period, level: str, calendar: PeriodCalendar) -> tuple[Period, ...]:
    """The periods of a finer level that make up a period, in order; of its own level, the period alone."""
    if is_coarser(level, period.level, calendar):
        raise DaybookError("RESOLVE_005", period=period.identifier, level=level, problem="does not consist of")
    if level == period.level:
        return (period,)
    first = calendar.at(level, period.start_date)
    parts = tuple(_consecutive_periods(first, period.end_date, calendar)) if first else ()
    if not parts or parts[0].start_date != period.start_date or parts[-1].end_date != period.end_date:
        raise DaybookError("RESOLVE_006", period=period.identifier, level=level, calendar=calendar.id)
    return parts


def enclosing_period(period: Period, level: str, calendar: PeriodCalendar) -> Period:
    """The period of a coarser level that a period lies in."""
    if is_coarser(period.level, level, calendar):
        raise DaybookError("RESOLVE_005", period=period.identifier, level=level, problem="is not inside one")
    outer = calendar.at(level, period.start_date)
    if outer is None or not contains_period(outer, period):
        raise DaybookError("RESOLVE_006", period=period.identifier, level=level, calendar=calendar.id)
    return outer


def is_coarser(level: str, than: str, calendar: PeriodCalendar) -> bool:
    """Whether a level's periods are made up of those of another."""
    return level_position(level, calendar) < level_position(than, calendar)


def level_position(level: str, calendar: PeriodCalendar) -> int:
    """The position of a level from coarse to fine."""
    if level not in calendar.levels:
        meant = closest_match(level, calendar.levels)
        levels = f"its levels are {', '.join(calendar.levels)}"
        hint = f"did you mean {meant}? {levels}" if meant else levels
        raise DaybookError("RESOLVE_004", hint=hint, level=level, calendar=calendar.id)
    return calendar.levels.index(level)


def contains_period(outer: Period, inner: Period) -> bool:
    """Whether all days of one period are days of another, of whatever levels and calendars."""
    return outer.start_date <= inner.start_date and inner.end_date <= outer.end_date


def periods_overlap(one: Period, other: Period) -> bool:
    """Whether two periods, of whatever levels and calendars, share a day."""
    return one.start_date <= other.end_date and other.start_date <= one.end_date


def example_identifiers(calendar: PeriodCalendar) -> tuple[str, ...]:
    """One identifier of every level, to show what they look like."""
    identifiers = {period.level: period.identifier for period in reversed(tuple(calendar.of_year(_EXAMPLE_YEAR)))}
    return tuple(identifiers[level] for level in calendar.levels if level in identifiers)


def nearest_period(identifier: str, calendar: PeriodCalendar) -> str | None:
    """The identifier with the same meaning in another spelling, or else the most similar one."""
    years = {int(digits) for digits in re.findall(r"(?<!\d)\d{4}", identifier, re.ASCII)} or {_EXAMPLE_YEAR}
    identifiers = [period.identifier for year in sorted(years) for period in calendar.of_year(year)]
    for essence in (_numbers_and_words, _letters_and_digits):
        same = [candidate for candidate in identifiers if essence(candidate) == essence(identifier)]
        if same:
            return same[0]
    alike = [candidate for candidate in identifiers if _digit_shape(candidate) == _digit_shape(identifier)]
    if alike:
        return max((candidate for candidate in alike if candidate <= identifier), default=min(alike))
    return closest_match(identifier, identifiers)


def _consecutive_periods(first: Period, until: datetime.date, calendar: PeriodCalendar) -> Iterator[Period]:
    period: Period | None = first
    while period is not None and period.start_date <= until:
        yield period
        # Nothing follows the last day there is, which listed calendars may well use.
        period = calendar.at(period.level, period.end_date + DAY) if period.end_date < datetime.date.max else None


def _period_hint(identifier: str, calendar: PeriodCalendar) -> str:
    looks = example_identifiers(calendar)
    usual = f"identifiers of {calendar.id} look like {', '.join(looks)}" if looks else ""
    near = nearest_period(identifier, calendar)
    return f"did you mean {near}? {usual}".strip() if near else usual


def _numbers_and_words(text: str) -> tuple[int | str, ...]:
    """`2026-1`, `2026/01` and `2026 - 01` are all (2026, 1)."""
    parts = re.findall(r"\d+|[a-z]+", text.lower(), re.ASCII)
    return tuple(int(part) if part.isdigit() else part for part in parts)


def _letters_and_digits(text: str) -> str:
    return "".join(re.findall(r"[a-z0-9]+", text.lower(), re.ASCII))


def _digit_shape(text: str) -> str:
    return re.sub(r"\d", "9", text, flags=re.ASCII)


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
    earlier = takewhile(lambda earlier_period: earlier_period.start_date >= first.start_date, _before(period, calendar))
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
    counterpart = first if position == 0 else _shifted(first, position, calendar)
    return counterpart if counterpart is not None and counterpart.end_date <= before.end_date else None


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


def closest_slice(identifiers: Iterable[str], period: Period, calendar: PeriodCalendar) -> str | None:
    """Of some periods the one itself, else the last that ends with it or before it, else the first."""
    names = tuple(identifiers)
    if period.identifier in names:
        return period.identifier
    dated = [
        candidate
        for candidate in (calendar.find(name) or GREGORIAN.find(name) for name in names)
        if candidate is not None
    ]
    earlier = [candidate for candidate in dated if candidate.end_date <= period.end_date]
    if earlier:
        return max(earlier, key=lambda candidate: (candidate.end_date, candidate.start_date)).identifier
    return min(dated, key=lambda candidate: (candidate.start_date, candidate.end_date)).identifier if dated else None
