"""Identifier patterns: a level's periods as text, and back."""

import datetime
import re
from dataclasses import dataclass

from daybook.model.calendar import CalendarUnit
from daybook.resolve.calendars.years import CalendarYear

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
    """A level's pattern, whose tokens are known to tell its periods apart."""

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
