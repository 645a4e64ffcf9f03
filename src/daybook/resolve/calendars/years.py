"""How a rule divides time into years and a year into its parts, and the identifiers of periods."""

import calendar as civil
import datetime
import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

from daybook.model.calendar import CalendarUnit, MonthsRule, WeeksRule, YearEnd, YearList

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


@dataclass(frozen=True, slots=True)
class IdentifierPattern:
    """The identifier pattern of a level, checked to be unique per period."""

    text: str
    unit: CalendarUnit

    def write(self, year: CalendarYear, start: datetime.date) -> str:
        return TOKEN_REGEX.sub(lambda match: _token_value(match[1].strip(), year, start), self.text)

    def read(self, identifier: str) -> "ParsedIdentifier | None":
        """What an identifier of this form says; the caller writes it again to see that it is the canonical one."""
        expression, position, seen = "", 0, set[str]()
        for match in TOKEN_REGEX.finditer(self.text):
            token = match[1].strip()
            expression += re.escape(self.text[position : match.start()])
            expression += f"(?P={token})" if token in seen else f"(?P<{token}>{_TOKEN_FORMS[token]})"
            seen.add(token)
            position = match.end()
        found = re.fullmatch(expression + re.escape(self.text[position:]), identifier, re.ASCII)
        if found is None:
            return None
        parts = {token: int(text) for token, text in found.groupdict().items()}
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
