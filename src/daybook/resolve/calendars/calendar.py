"""Periods of a calendar by identifier, and by level and day."""

import datetime
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from daybook.model.calendar import Calendar, CalendarLevel, CalendarUnit, MonthsRule, Period
from daybook.resolve.calendars.years import (
    CalendarYear,
    IdentifierPattern,
    ParsedDate,
    ParsedYearPart,
    YearSequence,
    year_sequence,
)


class PeriodCalendar(Protocol):
    """What period arithmetic needs; `levels` go from coarse to fine, each tiling the one before it."""

    @property
    def id(self) -> str: ...

    @property
    def levels(self) -> tuple[str, ...]: ...

    def find(self, identifier: str) -> Period | None:
        """The period with exactly this identifier."""
        ...

    def at(self, level: str, day: datetime.date) -> Period | None:
        """The period of a level that holds a day."""
        ...

    def of_year(self, label: int) -> Iterator[Period]:
        """Every period, of any level, that lies in the year with this number."""
        ...


@dataclass(frozen=True, slots=True)
class RuleCalendar:
    id: str
    cut: YearSequence
    patterns: Mapping[str, IdentifierPattern]
    # A close asks for the same periods thousands of times.
    _years: dict[int, CalendarYear | None] = field(default_factory=dict, init=False, compare=False, repr=False)
    _parts: dict[tuple[str, int, int], Period | None] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    @property
    def levels(self) -> tuple[str, ...]:
        return tuple(self.patterns)

    def find(self, identifier: str) -> Period | None:
        for level, pattern in self.patterns.items():
            match pattern.read(identifier):
                case ParsedYearPart(label, index):
                    year = self._year(label)
                    period = self._part(level, year, index) if year else None
                case ParsedDate(day):
                    period = self.at(level, day)
                case None:
                    continue
            if period is not None and period.identifier == identifier:
                return period
        return None

    def at(self, level: str, day: datetime.date) -> Period | None:
        label = self.cut.label(day)
        year = None if label is None else self._year(label)
        return self._part(level, year, year.index(self.patterns[level].unit, day)) if year else None

    def of_year(self, label: int) -> Iterator[Period]:
        year = self._year(label)
        for level, pattern in self.patterns.items():
            for index in range(year.count(pattern.unit) if year else 0):
                if year and (period := self._part(level, year, index)):
                    yield period

    def _year(self, label: int) -> CalendarYear | None:
        if label not in self._years:
            self._years[label] = self.cut.year(label)
        return self._years[label]

    def _part(self, level: str, year: CalendarYear, index: int) -> Period | None:
        key = (level, year.label, index)
        if key not in self._parts:
            self._parts[key] = self._make_part(level, year, index)
        return self._parts[key]

    def _make_part(self, level: str, year: CalendarYear, index: int) -> Period | None:
        pattern = self.patterns[level]
        bounds = year.part(pattern.unit, index)
        if bounds is None:
            return None
        return Period(pattern.write(year, bounds[0]), level, *bounds, calendar_id=self.id)


@dataclass(frozen=True, slots=True)
class ListedCalendar:
    """Periods by level, in order of time."""

    id: str
    periods: Mapping[str, tuple[Period, ...]]

    @property
    def levels(self) -> tuple[str, ...]:
        return tuple(self.periods)

    def find(self, identifier: str) -> Period | None:
        return next((period for period in self._all() if period.identifier == identifier), None)

    def at(self, level: str, day: datetime.date) -> Period | None:
        periods = self.periods[level]
        index = bisect_right(periods, day, key=lambda period: period.start_date) - 1
        return periods[index] if index >= 0 and day <= periods[index].end_date else None

    def of_year(self, label: int) -> Iterator[Period]:
        return (period for period in self._all() if period.start_date.year <= label <= period.end_date.year)

    def _all(self) -> Iterator[Period]:
        return (period for periods in self.periods.values() for period in periods)


def build_calendar(calendar: Calendar) -> PeriodCalendar:
    """The calendar a checked declaration describes."""
    if calendar.rule is not None:
        patterns = {
            level.name: IdentifierPattern(level.identifier or "", _level_unit(level)) for level in calendar.levels
        }
        return RuleCalendar(calendar.id, year_sequence(calendar.rule), patterns)
    listed = sorted(calendar.periods, key=lambda period: period.start_date)
    return ListedCalendar(
        calendar.id,
        {
            level.name: tuple(
                Period(period.identifier, period.level, period.start_date, period.end_date, calendar.id)
                for period in listed
                if period.level == level.name
            )
            for level in calendar.levels
        },
    )


def _level_unit(level: CalendarLevel) -> CalendarUnit:
    if level.unit is None:
        raise ValueError("a level of a rule needs a unit")
    return level.unit


GREGORIAN_ID = "gregorian"

GREGORIAN_CALENDAR = Calendar(
    id=GREGORIAN_ID,
    name="Gregorian calendar",
    rule=MonthsRule(type="months"),
    levels=(
        CalendarLevel(name="year", unit="year", identifier="{{year}}"),
        CalendarLevel(name="quarter", unit="quarter", identifier="{{year}}-Q{{quarter}}"),
        CalendarLevel(name="month", unit="month", identifier="{{YYYY}}-{{MM}}"),
        CalendarLevel(name="day", unit="day", identifier="{{YYYY}}-{{MM}}-{{DD}}"),
    ),
)

GREGORIAN: PeriodCalendar = build_calendar(GREGORIAN_CALENDAR)
