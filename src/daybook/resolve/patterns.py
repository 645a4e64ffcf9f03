"""Identifier patterns: a level's periods as text, and back."""

import datetime
import re
from dataclasses import dataclass

from daybook.model.calendar import Unit
from daybook.resolve.cuts import Year

TOKEN = re.compile(r"\{\{([^{}]*)\}\}")

# Lower-case tokens count within the calendar's own year, upper-case ones are the civil date of the first day.
COUNTED: dict[str, Unit] = {"half": "half", "quarter": "quarter", "month": "month", "week": "week"}
_FORMS = {
    "year": r"\d{4}",
    "half": r"[12]",
    "quarter": r"[1-4]",
    "month": r"\d{2}",
    "week": r"\d{2}",
    "YYYY": r"\d{4}",
    "MM": r"\d{2}",
    "DD": r"\d{2}",
}
PATTERN_TOKENS = tuple(_FORMS)


def tokens_of(text: str) -> tuple[str, ...]:
    return tuple(match[1].strip() for match in TOKEN.finditer(text))


@dataclass(frozen=True, slots=True)
class Pattern:
    """A level's pattern, whose tokens are known to tell its periods apart."""

    text: str
    unit: Unit

    def write(self, year: Year, start: datetime.date) -> str:
        return TOKEN.sub(lambda match: _value(match[1].strip(), year, start), self.text)

    def read(self, identifier: str) -> "Reading | None":
        """What an identifier of this form says; the caller writes it again to see that it is the canonical one."""
        expression, position, seen = "", 0, set[str]()
        for match in TOKEN.finditer(self.text):
            token = match[1].strip()
            expression += re.escape(self.text[position : match.start()])
            expression += f"(?P={token})" if token in seen else f"(?P<{token}>{_FORMS[token]})"
            seen.add(token)
            position = match.end()
        found = re.fullmatch(expression + re.escape(self.text[position:]), identifier, re.ASCII)
        if found is None:
            return None
        parts = {token: int(text) for token, text in found.groupdict().items()}
        if "year" in parts:
            if self.unit == "year":
                return CountedReading(parts["year"], 0)
            if self.unit in COUNTED and self.unit in parts:
                return CountedReading(parts["year"], parts[self.unit] - 1)
        try:
            return CivilReading(datetime.date(parts["YYYY"], parts.get("MM", 1), parts.get("DD", 1)))
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class CountedReading:
    year: int
    index: int


@dataclass(frozen=True, slots=True)
class CivilReading:
    day: datetime.date


Reading = CountedReading | CivilReading


def _value(token: str, year: Year, start: datetime.date) -> str:
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
            return f"{year.index(COUNTED[token], start) + 1:02d}"
        case _:
            return str(year.index(COUNTED[token], start) + 1)
