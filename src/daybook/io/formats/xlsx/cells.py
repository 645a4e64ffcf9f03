"""Cells and areas of a sheet (`Budget!C17`, `'Plan 2026'!A3:F200`), and the values of stored cells."""

import datetime
import re
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import NamedTuple, assert_never

from daybook.model.types import (
    BooleanType,
    ColumnType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    NullType,
    StringType,
    TimestampType,
)

MAX_ROWS = 1_048_576
MAX_COLUMNS = 16_384
# The characters of a cell.
MAX_TEXT = 32_767


# A character that XML cannot hold is stored as seven.
MAX_STORED_TEXT = 7 * MAX_TEXT


def is_too_long(text: str) -> bool:
    return 2 * len(text) > MAX_TEXT and text_length(text) > MAX_TEXT


def text_length(text: str) -> int:
    """How many characters a spreadsheet counts: those beyond the first 65,536 twice."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


_PLAIN_SHEET_NAME = re.compile(r"[^\W\d]\w*")
_CELL = r"\$?([A-Za-z]{1,3})\$?([0-9]{1,7})"
_AREA = re.compile(rf"{_CELL}(?::{_CELL})?")
_COLUMNS = re.compile(r"\$?([A-Za-z]{1,3}):\$?([A-Za-z]{1,3})")
_WITH_SHEET = re.compile(r"(?:'((?:[^']|'')+)'|([^'!,()]+))!([^!]+)")
_ROWS = re.compile(r"\$?([0-9]{1,7}):\$?([0-9]{1,7})")


def column_letters(number: int) -> str:
    """`AB` of 28."""
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def column_number(letters: str) -> int:
    """28 of `AB`."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def quote_sheet(name: str) -> str:
    """The name of a sheet, quoted for use before `!`."""
    is_plain = _PLAIN_SHEET_NAME.fullmatch(name) and not _AREA.fullmatch(name)
    return name if is_plain else "'" + name.replace("'", "''") + "'"


def cell_place(sheet: str, row: int, column: int) -> str:
    """`Budget!C17`."""
    return f"{quote_sheet(sheet)}!{column_letters(column)}{row}"


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle of cells, counted from 1, its last row and column included."""

    top: int = 1
    left: int = 1
    bottom: int = MAX_ROWS
    right: int = MAX_COLUMNS

    @property
    def is_inside_a_sheet(self) -> bool:
        return 1 <= self.top <= self.bottom <= MAX_ROWS and 1 <= self.left <= self.right <= MAX_COLUMNS

    def overlap(self, other: "Area") -> "Area | None":
        """The cells of both."""
        both = Area(
            max(self.top, other.top),
            max(self.left, other.left),
            min(self.bottom, other.bottom),
            min(self.right, other.right),
        )
        return both if both.top <= both.bottom and both.left <= both.right else None

    def place(self, sheet: str) -> str:
        """`Budget!A3:F200`, or one cell."""
        first = cell_place(sheet, self.top, self.left)
        last = f"{column_letters(self.right)}{self.bottom}"
        return first if (self.top, self.left) == (self.bottom, self.right) else f"{first}:{last}"


WHOLE_SHEET = Area()


def parse_area(text: str) -> Area | None:
    """Of `A3:F200`, `$A$3`, `A:F` or `3:200`; None for anything else."""
    if match := _AREA.fullmatch(text):
        left, top, right, bottom = match.groups()
        area = Area(int(top), column_number(left), int(bottom or top), column_number(right or left))
    elif match := _COLUMNS.fullmatch(text):
        area = Area(left=column_number(match[1]), right=column_number(match[2]))
    elif match := _ROWS.fullmatch(text):
        area = Area(top=int(match[1]), bottom=int(match[2]))
    else:
        return None
    return area if area.is_inside_a_sheet else None


def split_sheet(text: str) -> tuple[str | None, str]:
    """The sheet that a reference names, and what follows: `'Plan 2026'!A3` is `Plan 2026` and `A3`."""
    match = _WITH_SHEET.fullmatch(text)
    if match is None:
        return None, text
    return match[2] or match[1].replace("''", "'"), match[3]


# 17 digits identify every double, and spreadsheets show and compare 15 of them.
SIGNIFICANT_DIGITS = 15
_SHORT_NUMBER = re.compile(r"-?[1-9][0-9]{0,14}|0")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,5})?")
_MAX_NUMBER_TEXT = 400
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")

# The number formats that need no definition and show a date, a time or both; some belong to East Asian languages.
_BUILT_IN_DATES = frozenset({*range(14, 23), *range(27, 37), 45, 47, *range(50, 59)})
_LITERALS = re.compile(r'"[^"]*"|\\.|_.|\*.|\[[^\]]*\]')
_ELAPSED = re.compile(r"\[(h+|m+|s+)\]", re.IGNORECASE)
_DATE_LETTERS = re.compile("[ymdhs]", re.IGNORECASE)

_MILLISECONDS_A_DAY = 86_400_000
_MACINTOSH_EPOCH = datetime.datetime(1904, 1, 1, tzinfo=datetime.UTC)
_EPOCH = datetime.datetime(1899, 12, 30, tzinfo=datetime.UTC)
# 1900 was no leap year, but the first spreadsheets took it for one and all others followed.
_FALSE_LEAP_DAY = 60


class DateSystem(Enum):
    """How a workbook counts days; ISO is the one of 1900 without the leap day that never was."""

    SINCE_1900 = "1900"
    SINCE_1904 = "1904"
    ISO = "iso"


class CellKind(Enum):
    NUMBER = "number"
    DATE = "date"
    TEXT = "text"
    BOOLEAN = "boolean"
    ERROR = "error"
    UNCOMPUTED = "formula without a value"


class Cell(NamedTuple):
    """A cell that is not blank; `text` is a plain number, a day with or without a time, or a text.

    `stored` is a number as it is written in the file.
    """

    kind: CellKind
    text: str
    stored: str = ""

    def __str__(self) -> str:
        """As messages name it."""
        return repr(self.text) if self.kind is CellKind.TEXT else f"the {self.kind.value} {self.text}"


def plain_number(stored: str) -> str | None:
    """A stored number at 15 significant digits, without an exponent; None for what is no number."""
    if _SHORT_NUMBER.fullmatch(stored):
        return stored
    if len(stored) > _MAX_NUMBER_TEXT or not _NUMBER.fullmatch(stored):
        return None
    value = float(stored)
    if value in (float("inf"), float("-inf")):
        return None
    text = f"{value:.{SIGNIFICANT_DIGITS}g}"
    if "e" in text:
        text = f"{Decimal(text):f}"
    return "0" if text == "-0" else text


def loses_digits(stored: str) -> bool:
    """Whether 15 digits do not hold the whole units of a stored number, as with account numbers of 16 digits."""
    if abs(float(stored)) < 10**SIGNIFICANT_DIGITS:
        return False
    return Decimal(stored) != Decimal(plain_number(stored) or "0")


def date_text(serial: str, system: DateSystem) -> str | None:
    """A day, or a day and a time to the millisecond; None for a time without a day and days that never were."""
    # Of the double itself, since its product with milliseconds would not be exact.
    milliseconds = round(Fraction(float(serial)) * _MILLISECONDS_A_DAY)
    days, rest = divmod(milliseconds, _MILLISECONDS_A_DAY)
    match system:
        case DateSystem.SINCE_1904:
            epoch = _MACINTOSH_EPOCH
        case DateSystem.ISO:
            epoch = _EPOCH
        case DateSystem.SINCE_1900:
            if days < 1 or days == _FALSE_LEAP_DAY:
                return None
            epoch = _EPOCH if days > _FALSE_LEAP_DAY else _EPOCH + datetime.timedelta(days=1)
        case _:
            assert_never(system)
    try:
        moment = epoch + datetime.timedelta(days=days, milliseconds=rest)
    except OverflowError:
        return None
    if not rest:
        return moment.date().isoformat()
    return moment.replace(tzinfo=None).isoformat(" ", "milliseconds" if rest % 1000 else "seconds")


def date_serial(value: datetime.date) -> float:
    """The number of a day, or of a time to the millisecond, in the date system of 1900; times are UTC."""
    if isinstance(value, datetime.datetime):
        passed = value - _EPOCH
        milliseconds = (passed + datetime.timedelta(microseconds=500)) // datetime.timedelta(milliseconds=1)
        days, rest = divmod(milliseconds, _MILLISECONDS_A_DAY)
    else:
        days, rest = (value - _EPOCH.date()).days, 0
    days -= days <= _FALSE_LEAP_DAY
    return days + rest / _MILLISECONDS_A_DAY


def decode_text(stored: str) -> str:
    """Characters that XML cannot hold stand as `_x000D_`."""
    if "_x" not in stored:
        return stored
    text = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), stored)
    # Characters beyond the first 65,536 stand as two halves.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def shows_dates(format_id: int, code: str | None) -> bool:
    """Whether a number format shows a date or a time of day; hours that go beyond a day are a number."""
    if code is None:
        return format_id in _BUILT_IN_DATES
    first = code.split(";")[0]
    if _ELAPSED.search(first):
        return False
    return _DATE_LETTERS.search(_LITERALS.sub("", first)) is not None


def text_for(cell: Cell, type_: ColumnType) -> str | None:
    """The cell's text where the column may take it, to be read as a field of a CSV file; None where it may not.

    A text counts as in CSV, so that numbers kept as text can be read. A number is no date and a date no text: which of
    the two was meant can only be guessed.
    """
    match type_:
        case StringType():
            is_fitting = cell.kind in (CellKind.TEXT, CellKind.NUMBER)
        case IntegerType() | DecimalType() | FloatType():
            is_fitting = cell.kind in (CellKind.TEXT, CellKind.NUMBER)
        case BooleanType():
            is_fitting = cell.kind in (CellKind.TEXT, CellKind.BOOLEAN)
        case DateType() | TimestampType():
            is_fitting = cell.kind in (CellKind.TEXT, CellKind.DATE)
        case NullType():
            raise TypeError("no column has the type null")
        case _:
            assert_never(type_)
    return cell.text if is_fitting else None
