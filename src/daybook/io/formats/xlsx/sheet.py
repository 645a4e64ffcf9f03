"""Reads the rows of one sheet one after another, in limited memory."""

import datetime
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from daybook.errors import DaybookError
from daybook.io.formats.xlsx.cells import (
    MAX_COLUMNS,
    MAX_ROWS,
    MAX_STORED_TEXT,
    MAX_TEXT,
    Area,
    Cell,
    CellKind,
    DateSystem,
    cell_place,
    column_number,
    date_text,
    decode_text,
    is_too_long,
    parse_area,
    plain_number,
)
from daybook.io.formats.xlsx.package import Package
from daybook.io.formats.xlsx.workbook import MAIN_NAMESPACES, Sheet, Workbook

# Cells that share a text are small in the file and large as rows: they may grow to this size whatever the size of the
# file is, and beyond it by the ratio that real sheets stay below.
_FREE_TEXT = 256 << 20
_MAX_TEXT_RATIO = 200
_TAGS = {
    f"{namespace} {tag}": tag
    for namespace in MAIN_NAMESPACES
    for tag in ("row", "c", "v", "f", "is", "t", "rPh", "mergeCell", "sheetData")
}
_ISO_TIME = re.compile(r"T?[0-9]{2}:[0-9]{2}.*")


@dataclass(frozen=True, slots=True)
class SheetRow:
    """The cells of a row that are not blank, by the number of their column; `size` is the length of their texts."""

    number: int
    cells: dict[int, Cell]
    size: int = 0


@dataclass
class SheetReader:
    """Reads a sheet once; `merged` is complete when its rows are."""

    workbook: Workbook
    sheet: Sheet
    merged: list[Area] = field(default_factory=list)
    # The columns whose cells are wanted; None for all.
    columns: Collection[int] | None = None

    def rows(self) -> Iterator[SheetRow]:
        """The rows that have a cell, in their order."""
        package = self.workbook.package
        parser = _SheetParser(self)
        last = 0
        for _ in package.parse(self.sheet.part, parser.start, parser.end, parser.data):
            for row in parser.take():
                if row.number <= last:
                    raise package.broken(f"row {row.number} of sheet {self.sheet.name} occurs twice")
                last = row.number
                yield row
        if not parser.has_data:
            raise package.broken(f"{self.sheet.part} is not a sheet")


class _SheetParser:
    """Handlers for the elements of a sheet; one call for each is all the time there is."""

    def __init__(self, reader: SheetReader) -> None:
        self._reader = reader
        self._package: Package = reader.workbook.package
        self._sheet = reader.sheet.name
        self._texts = reader.workbook.shared_texts()
        self._dates = reader.workbook.date_styles()
        self._system: DateSystem = reader.workbook.date_system
        self._columns: dict[str, int] = {}
        self._rows: list[SheetRow] = []
        self._cells: dict[int, Cell] = {}
        self._row = 0
        self._column = 0
        self._type = "n"
        self._style = 0
        self._is_formula = False
        self._pieces: list[str] | None = None
        self._length = 0
        self._row_size = 0
        self._size = 0
        self._max_size = max(_FREE_TEXT, _MAX_TEXT_RATIO * self._package.size)
        self._is_text = False
        self._is_reading = False
        self.has_data = False

    def take(self) -> list[SheetRow]:
        rows, self._rows = self._rows, []
        return rows

    def start(self, name: str, attributes: dict[str, str]) -> None:
        tag = _TAGS.get(name)
        if tag == "c":
            self._start_cell(attributes)
        elif tag in ("v", "t"):
            self._is_text = not self._is_reading
            if self._pieces is None:
                self._pieces = []
                self._length = 0
        elif tag == "f":
            self._is_formula = True
        elif tag == "row":
            self._row = self._row_number(attributes)
            self._column = 0
            self._cells = {}
            self._row_size = 0
        elif tag == "rPh":
            self._is_reading = True
        elif tag == "mergeCell" and (area := parse_area(attributes.get("ref", ""))) is not None:
            self._reader.merged.append(area)
        elif tag == "sheetData":
            self.has_data = True

    def data(self, text: str) -> None:
        if self._is_text and self._pieces is not None:
            self._pieces.append(text)
            self._length += len(text)
            if self._length > MAX_STORED_TEXT:
                raise self._long_text()

    def end(self, name: str) -> None:
        tag = _TAGS.get(name)
        if tag in ("v", "t"):
            self._is_text = False
        elif tag == "c":
            if self._pieces is not None or self._is_formula:
                self._end_cell("".join(self._pieces or ()))
        elif tag == "row":
            if self._cells:
                self._rows.append(SheetRow(self._row, self._cells, self._row_size))
        elif tag == "rPh":
            self._is_reading = False

    def _row_number(self, attributes: dict[str, str]) -> int:
        """A row without a number follows the one before, and so does a cell."""
        text = attributes.get("r")
        number = self._row + 1 if text is None else int(text) if text.isdecimal() and len(text) < 8 else 0
        if not 1 <= number <= MAX_ROWS:
            raise self._package.broken(f"sheet {self._sheet} has a row {text}")
        return number

    def _start_cell(self, attributes: dict[str, str]) -> None:
        place = attributes.get("r")
        if place is None:
            self._column += 1
        else:
            letters = place.rstrip("0123456789")
            column = self._columns.get(letters)
            if column is None:
                column = column_number(letters) if letters.isascii() and letters.isalpha() and len(letters) < 4 else 0
                self._columns[letters] = column
            self._column = column
        if not 1 <= self._column <= MAX_COLUMNS:
            raise self._package.broken(f"sheet {self._sheet} has a cell {place}")
        self._type = attributes.get("t", "n")
        style = attributes.get("s")
        self._style = int(style) if style is not None and style.isdecimal() else 0
        self._is_formula = False
        self._pieces = None

    def _end_cell(self, text: str) -> None:
        columns = self._reader.columns
        if columns is not None and self._column not in columns:
            return
        cell = self._cell(text)
        if cell is None:
            return
        self._cells[self._column] = cell
        self._row_size += len(cell.text)
        self._size += len(cell.text)
        if self._size > self._max_size:
            problem = f"the cells of sheet {self._sheet} hold more than {self._max_size >> 20} MiB of text"
            raise self._package.broken(problem, "remove what is not data, or save the sheet as CSV")

    def _cell(self, text: str) -> Cell | None:
        """The cell, or None when it is blank."""
        kind = self._type
        if kind == "n":
            return self._number(text.strip()) if text else self._without_value()
        if kind == "s":
            return Cell(CellKind.TEXT, self._shared_text(text.strip())) if text else self._without_value()
        if kind in ("str", "inlineStr"):
            is_there = self._pieces is not None
            decoded = decode_text(text)
            if is_too_long(decoded):
                raise self._long_text()
            return Cell(CellKind.TEXT, decoded) if is_there else self._without_value()
        if kind == "b":
            return Cell(CellKind.BOOLEAN, self._boolean(text.strip())) if text else self._without_value()
        if kind == "e":
            return Cell(CellKind.ERROR, text or "#ERROR")
        if kind == "d":
            return Cell(CellKind.DATE, self._iso_date(text.strip())) if text else self._without_value()
        raise self._broken_cell(f"it has the unknown type {kind}")

    def _without_value(self) -> Cell | None:
        return Cell(CellKind.UNCOMPUTED, "=") if self._is_formula else None

    def _number(self, text: str) -> Cell:
        plain = plain_number(text)
        if plain is None:
            raise self._broken_cell(f"{text[:40]!r} is not a number")
        if self._style not in self._dates:
            return Cell(CellKind.NUMBER, plain, text)
        day = date_text(text, self._system)
        return Cell(CellKind.NUMBER, plain, text) if day is None else Cell(CellKind.DATE, day)

    def _shared_text(self, text: str) -> str:
        if not text.isdecimal() or len(text) > 9 or int(text) >= len(self._texts):
            raise self._broken_cell(f"there is no shared text {text[:40]}")
        shared = self._texts[int(text)]
        if shared is None:
            raise self._long_text()
        return shared

    def _long_text(self) -> DaybookError:
        return self._broken_cell(f"its text has more than {MAX_TEXT:,} characters, which no spreadsheet allows")

    def _boolean(self, text: str) -> str:
        if text not in ("0", "1"):
            raise self._broken_cell(f"{text[:40]!r} is not 0 or 1")
        return "true" if text == "1" else "false"

    def _iso_date(self, text: str) -> str:
        """A date that is stored as text, as strict workbooks do."""
        if _ISO_TIME.fullmatch(text):
            return text
        try:
            moment = datetime.datetime.fromisoformat(text)
        except ValueError:
            raise self._broken_cell(f"{text[:40]!r} is not a date") from None
        return moment.date().isoformat() if "T" not in text else moment.isoformat(" ")

    def _broken_cell(self, problem: str) -> DaybookError:
        return self._package.broken(f"{cell_place(self._sheet, self._row, self._column)}: {problem}")
