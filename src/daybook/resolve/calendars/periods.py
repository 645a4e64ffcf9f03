"""Calendars by id, and the arithmetic of periods: identifiers, children, containment, ranges."""

import datetime
import re
from collections.abc import Iterator

from daybook.errors import DaybookError
from daybook.errors.suggestion import closest_match, did_you_mean
from daybook.model.calendar import Period
from daybook.model.definition import Catalog
from daybook.resolve.calendars.calendar import GREGORIAN, GREGORIAN_ID, PeriodCalendar
from daybook.resolve.calendars.checks import checked_calendar
from daybook.resolve.calendars.years import DAY


def calendar_for(calendar_id: str | None, catalog: Catalog) -> PeriodCalendar:
    """The calendar with this id; without one, the Gregorian."""
    if calendar_id is None or calendar_id == GREGORIAN_ID:
        return GREGORIAN
    calendar = catalog.calendar(calendar_id)
    if calendar is None:
        hint = did_you_mean(calendar_id, (GREGORIAN_ID, *catalog.ids("calendar")))
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
            hint="both ends of a range are of one level, such as 2026-01..2026-12",
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
        raise DaybookError("RESOLVE_005", period=period.identifier, level=level, problem="is not made up of")
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
        raise DaybookError("RESOLVE_005", period=period.identifier, level=level, problem="does not lie in one")
    outer = calendar.at(level, period.start_date)
    if outer is None or not contains_period(outer, period):
        raise DaybookError("RESOLVE_006", period=period.identifier, level=level, calendar=calendar.id)
    return outer


def is_coarser(level: str, than: str, calendar: PeriodCalendar) -> bool:
    """Whether a level's periods are made up of those of another."""
    return level_position(level, calendar) < level_position(than, calendar)


def level_position(level: str, calendar: PeriodCalendar) -> int:
    """Where a level stands from coarse to fine."""
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
    known = {period.level: period.identifier for period in reversed(tuple(calendar.of_year(_EXAMPLE_YEAR)))}
    return tuple(known[level] for level in calendar.levels if level in known)


def nearest_period(identifier: str, calendar: PeriodCalendar) -> str | None:
    """The known identifier that says the same in other words, or else the one spelled most alike."""
    years = {int(digits) for digits in re.findall(r"(?<!\d)\d{4}", identifier, re.ASCII)} or {_EXAMPLE_YEAR}
    known = [period.identifier for year in sorted(years) for period in calendar.of_year(year)]
    for essence in (_numbers_and_words, _letters_and_digits):
        same = [candidate for candidate in known if essence(candidate) == essence(identifier)]
        if same:
            return same[0]
    alike = [candidate for candidate in known if _digit_shape(candidate) == _digit_shape(identifier)]
    if alike:
        return max((candidate for candidate in alike if candidate <= identifier), default=min(alike))
    return closest_match(identifier, known)


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
