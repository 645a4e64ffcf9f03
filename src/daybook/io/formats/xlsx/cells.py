"""Cells and areas of a sheet, and how they are written: `Budget!C17`, `'Plan 2026'!A3:F200`."""

import re
from dataclasses import dataclass

MAX_ROWS = 1_048_576
MAX_COLUMNS = 16_384

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
    """The name of a sheet as it stands before `!`."""
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
