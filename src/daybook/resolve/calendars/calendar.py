"""The periods of a calendar by identifier, level and day, and the rules that divide years into periods."""

import calendar as civil
import datetime
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Protocol

from daybook.model.calendar import (
    Calendar,
    CalendarLevel,
    CalendarUnit,
    MonthsRule,
    Period,
    WeeksRule,
    YearEnd,
    YearList,
)

FIRST_YEAR, LAST_YEAR = 1000, 9998
DAY = datetime.timedelta(days=1)
WEEK = datetime.timedelta(weeks=1)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS_PER_UNIT: dict[CalendarUnit, int] = {"year": 12, "half": 6, "quarter": 3, "month": 1}
DAYS_PER_UNIT: dict[CalendarUnit, int] = {"week": 7, "day": 1}


@dataclass(frozen=True, slots=True)
class CalendarYear:
    """One year of a calendar with the first days of its twelve months; `end` is its last day."""

    label: int
    months: tuple[datetime.date, ...]
    end: datetime.date

    @property
    def start(self) -> datetime.date:
        return self.months[0]

    def count(self, unit: CalendarUnit) -> int:
        """How many parts the year has."""
        return 12 // MONTHS_PER_UNIT[unit] if unit in MONTHS_PER_UNIT else self.index(unit, self.end) + 1

    def part(self, unit: CalendarUnit, index: int) -> tuple[datetime.date, datetime.date] | None:
        """First and last day of the part at `index`, counted from 0."""
        if not 0 <= index < self.count(unit):
            return None
        if unit in MONTHS_PER_UNIT:
            following = (index + 1) * MONTHS_PER_UNIT[unit]
            end = self.months[following] - DAY if following < 12 else self.end
            return self.months[index * MONTHS_PER_UNIT[unit]], end
        start = self.start + DAY * (DAYS_PER_UNIT[unit] * index)
        return start, start + DAY * (DAYS_PER_UNIT[unit] - 1)

    def index(self, unit: CalendarUnit, day: datetime.date) -> int:
        """Which part of this year holds a day of it."""
        if unit in MONTHS_PER_UNIT:
            return (bisect_right(self.months, day) - 1) // MONTHS_PER_UNIT[unit]
        return (day - self.start).days // DAYS_PER_UNIT[unit]


class YearSequence(Protocol):
    """Years by label, and the year that holds a day; None where the calendar has none."""

    def year(self, label: int) -> CalendarYear | None: ...

    def label(self, day: datetime.date) -> int | None: ...


@dataclass(frozen=True, slots=True)
class MonthBasedYears:
    rule: MonthsRule

    def year(self, label: int) -> CalendarYear | None:
        if not FIRST_YEAR <= label <= LAST_YEAR:
            return None
        first, shift = self.rule.first_month, self._shift()
        months = [(label - shift + (first - 1 + offset) // 12, (first - 1 + offset) % 12 + 1) for offset in range(12)]
        last_year, last_month = months[-1]
        end = datetime.date(last_year, last_month, civil.monthrange(last_year, last_month)[1])
        return CalendarYear(label, tuple(datetime.date(year, month, 1) for year, month in months), end)

    def label(self, day: datetime.date) -> int | None:
        label = day.year - (day.month < self.rule.first_month) + self._shift()
        return label if FIRST_YEAR <= label <= LAST_YEAR else None

    def _shift(self) -> int:
        return 1 if self.rule.named_after == "end" and self.rule.first_month > 1 else 0


@dataclass(frozen=True, slots=True)
class WeekBasedYears:
    """Years of 52 or 53 weeks; `bounds` says where they begin and end."""

    pattern: str
    bounds: "YearEndBounds | ListedYearBounds"

    def year(self, label: int) -> CalendarYear | None:
        bounds = self.bounds.bounds(label)
        if bounds is None:
            return None
        start, end = bounds
        weeks = [int(count) for count in self.pattern.split("-")] * 4
        offsets = accumulate(weeks[:-1], initial=0)
        return CalendarYear(label, tuple(start + WEEK * offset for offset in offsets), end)

    def label(self, day: datetime.date) -> int | None:
        near = range(day.year - 2, day.year + 3) if isinstance(self.bounds, YearEndBounds) else self.bounds.labels()
        for label in near:
            bounds = self.bounds.bounds(label)
            if bounds is not None and bounds[0] <= day <= bounds[1]:
                return label
        return None


@dataclass(frozen=True, slots=True)
class YearEndBounds:
    """Years that end on a weekday at or near the end of a month."""

    rule: YearEnd

    def bounds(self, label: int) -> tuple[datetime.date, datetime.date] | None:
        if not FIRST_YEAR <= label <= LAST_YEAR:
            return None
        civil_year = label + (1 if self.rule.named_after == "start" and self.rule.month < 12 else 0)
        return self._end(civil_year - 1) + DAY, self._end(civil_year)

    def _end(self, civil_year: int) -> datetime.date:
        month_end = datetime.date(civil_year, self.rule.month, civil.monthrange(civil_year, self.rule.month)[1])
        reach = 3 if self.rule.on == "nearest" else 0
        latest = month_end + DAY * reach
        return latest - DAY * ((latest.weekday() - WEEKDAYS.index(self.rule.weekday)) % 7)


@dataclass(frozen=True, slots=True)
class ListedYearBounds:
    """Years counted from a first day, with the long ones named."""

    rule: YearList

    def labels(self) -> range:
        return range(self.rule.first, self.rule.last + 1)

    def bounds(self, label: int) -> tuple[datetime.date, datetime.date] | None:
        if label not in self.labels():
            return None
        weeks_before = 52 * (label - self.rule.first) + sum(1 for long in set(self.rule.long) if long < label)
        start = self.rule.first_day + WEEK * weeks_before
        return start, start + WEEK * (53 if label in self.rule.long else 52) - DAY


def year_sequence(rule: MonthsRule | WeeksRule) -> YearSequence:
    """The cut of a rule that has been checked."""
    match rule:
        case MonthsRule():
            return MonthBasedYears(rule)
        case WeeksRule(year_ends=YearEnd() as ending):
            return WeekBasedYears(rule.pattern, YearEndBounds(ending))
        case WeeksRule(years=YearList() as listed):
            return WeekBasedYears(rule.pattern, ListedYearBounds(listed))
        case _:
            raise ValueError("a rule of weeks needs year_ends or years")


_LEVEL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

# As a data_level: whatever level the run's period has.
ANY_LEVEL = "any"

IDENTIFIER_RULE = "letters, digits, - _ and single dots, at most 64"


def is_level_name(text: str) -> bool:
    return _LEVEL_NAME.fullmatch(text) is not None and text != ANY_LEVEL


def is_identifier(text: str) -> bool:
    """Identifiers stand in paths and in ranges such as `2026-01..2026-12`."""
    return _IDENTIFIER.fullmatch(text) is not None and ".." not in text and not text.endswith(".")


TOKEN_REGEX = re.compile(r"\{\{([^{}]*)\}\}")

# Lower-case tokens count within the calendar's own year, upper-case ones are the civil date of the first day.
COUNTED_UNITS: dict[str, CalendarUnit] = {"half": "half", "quarter": "quarter", "month": "month", "week": "week"}
_TOKEN_FORMS = {
    "year": r"\d{4}",
    "half": r"[12]",
    "quarter": r"[1-4]",
    "month": r"\d{2}",
    "week": r"\d{2}",
    "YYYY": r"\d{4}",
    "MM": r"\d{2}",
    "DD": r"\d{2}",
}
PATTERN_TOKENS = tuple(_TOKEN_FORMS)


def pattern_tokens(text: str) -> tuple[str, ...]:
    return tuple(match[1].strip() for match in TOKEN_REGEX.finditer(text))


# Every look-up of a period reads its identifier by the patterns of all levels.
@lru_cache(maxsize=256)
def _identifier_regex(pattern: str) -> re.Pattern[str]:
    expression, position, seen = "", 0, set[str]()
    for match in TOKEN_REGEX.finditer(pattern):
        token = match[1].strip()
        expression += re.escape(pattern[position : match.start()])
        expression += f"(?P={token})" if token in seen else f"(?P<{token}>{_TOKEN_FORMS[token]})"
        seen.add(token)
        position = match.end()
    return re.compile(expression + re.escape(pattern[position:]), re.ASCII)


@dataclass(frozen=True, slots=True)
class IdentifierPattern:
    """The identifier pattern of a level, checked to be unique per period."""

    text: str
    unit: CalendarUnit

    def write(self, year: CalendarYear, start: datetime.date) -> str:
        return TOKEN_REGEX.sub(lambda match: _token_value(match[1].strip(), year, start), self.text)

    def read(self, identifier: str) -> "ParsedIdentifier | None":
        """What an identifier of this form says; the caller writes it again to see that it is the canonical one."""
        match = _identifier_regex(self.text).fullmatch(identifier)
        if match is None:
            return None
        parts = {token: int(text) for token, text in match.groupdict().items()}
        if "year" in parts:
            if self.unit == "year":
                return ParsedYearPart(parts["year"], 0)
            if self.unit in COUNTED_UNITS and self.unit in parts:
                return ParsedYearPart(parts["year"], parts[self.unit] - 1)
        try:
            return ParsedDate(datetime.date(parts["YYYY"], parts.get("MM", 1), parts.get("DD", 1)))
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class ParsedYearPart:
    year: int
    index: int


@dataclass(frozen=True, slots=True)
class ParsedDate:
    day: datetime.date


ParsedIdentifier = ParsedYearPart | ParsedDate


def _token_value(token: str, year: CalendarYear, start: datetime.date) -> str:
    match token:
        case "year":
            return f"{year.label:04d}"
        case "YYYY":
            return f"{start.year:04d}"
        case "MM":
            return f"{start.month:02d}"
        case "DD":
            return f"{start.day:02d}"
        case "month" | "week":
            return f"{year.index(COUNTED_UNITS[token], start) + 1:02d}"
        case _:
            return str(year.index(COUNTED_UNITS[token], start) + 1)


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
    # A close looks up a period for every run.
    _by_identifier: dict[str, Period] = field(default_factory=dict, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # The first of two with one identifier counts, as everywhere.
        self._by_identifier.update((period.identifier, period) for period in reversed(tuple(self._all())))

    @property
    def levels(self) -> tuple[str, ...]:
        return tuple(self.periods)

    def find(self, identifier: str) -> Period | None:
        return self._by_identifier.get(identifier)

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
