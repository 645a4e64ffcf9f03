"""A workbook file from rows: typed cells, a frozen header with a filter, and a sheet that tells where it comes from."""

import datetime
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_never

import pyarrow as pa
import xlsxwriter
from xlsxwriter.exceptions import XlsxWriterException
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from daybook.io.formats.xlsx.cells import column_letters, quote_sheet
from daybook.io.formats.xlsx.columns import SheetColumn
from daybook.io.formats.xlsx.values import date_serial
from daybook.io.formats.xlsx.workbook import ROWS_NAME
from daybook.io.target import RunFacts
from daybook.model.types import (
    BooleanType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    NullType,
    StringType,
    TimestampType,
)

DATA_SHEET = "Data"
ABOUT_SHEET = "About"
# A spreadsheet takes text that begins with one of these for a formula once it is edited.
_FORMULA_START = re.compile(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_OPTIONS = {
    "constant_memory": True,
    "strings_to_numbers": False,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "use_zip64": True,
}
# For workbooks that no run writes.
_NO_TIME = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
_A4 = 9

_HEADER = {"bold": True, "bg_color": "#DDE6EE", "bottom": 1, "valign": "vcenter"}

CellWriter = Callable[[int, int, Any], object]
# For every row of a batch the formulas that compute it, by column.
FormulasOfRows = Callable[[pa.RecordBatch], Iterable[Mapping[str, str]]]


@dataclass(frozen=True, slots=True)
class BookFormats:
    """The looks of cells that do not depend on a column."""

    header: Format
    number_header: Format
    text: Format
    quoted: Format
    heading: Format
    label: Format


class Book:
    """A workbook being written, one sheet after the other, row by row, in constant memory."""

    def __init__(self, book: xlsxwriter.Workbook, *, is_safe: bool) -> None:
        self._book = book
        self._is_safe = is_safe
        self._formats: dict[str, Format] = {}
        self._looks = BookFormats(
            header=book.add_format({**_HEADER, "indent": 1}),
            number_header=book.add_format({**_HEADER, "align": "right"}),
            text=book.add_format({"indent": 1}),
            quoted=book.add_format({"indent": 1, "quote_prefix": True}),
            heading=book.add_format({"bold": True, "font_size": 12}),
            label=book.add_format({"font_color": "#555555", "valign": "top"}),
        )

    def write_rows(
        self,
        name: str,
        columns: Sequence[SheetColumn],
        rows: int,
        batches: Iterable[pa.RecordBatch],
        formulas: FormulasOfRows | None = None,
    ) -> None:
        """A sheet of rows below a header; a formula stands with its value, and NULL is a blank cell in any case."""
        sheet = self._new_sheet(name, columns, rows)
        writers = [self._cell_writer(sheet, column) for column in columns]
        row = 0
        for batch in batches:
            values = [batch.column(column.name).to_pylist() for column in columns]
            computed = list(formulas(batch)) if formulas is not None else None
            for index in range(batch.num_rows):
                row += 1
                own = computed[index] if computed is not None else {}
                for number, writer in enumerate(writers):
                    value = values[number][index]
                    if value is None:
                        continue
                    if own and (formula := own.get(columns[number].name)) is not None:
                        look = self._look(columns[number].number_format)
                        sheet.write_formula(row, number, formula, look, _stored_value(value))
                    else:
                        writer(row, number, value)

    def name_rows(self, sheet: str, columns: int, rows: int) -> None:
        """The name by which formulas, pivot tables and Daybook find the rows with their header."""
        self._book.define_name(ROWS_NAME, f"={quote_sheet(sheet)}!$A$1:${column_letters(columns)}${rows + 1}")

    def write_facts(self, name: str, facts: RunFacts) -> None:
        """A sheet of names and values, in sections."""
        sheet = self._book.add_worksheet(name)
        sheet.set_column(0, 0, 26, self._looks.label)
        sheet.set_column(1, 1, 80)
        sheet.set_paper(_A4)
        sheet.fit_to_pages(1, 0)
        row = 0
        for section, lines in facts.sections:
            sheet.write_string(row, 0, section, self._looks.heading)
            for label, value in lines:
                row += 1
                if label:
                    sheet.write_string(row, 0, label)
                sheet.write_string(row, 1, value)
            row += 2

    def _new_sheet(self, name: str, columns: Sequence[SheetColumn], rows: int) -> Worksheet:
        sheet: Worksheet = self._book.add_worksheet(name)
        sheet.freeze_panes(1, 0)
        sheet.autofilter(0, 0, rows, len(columns) - 1)
        sheet.repeat_rows(0)
        sheet.set_landscape()
        sheet.set_paper(_A4)
        sheet.fit_to_pages(1, 0)
        for number, column in enumerate(columns):
            sheet.set_column(number, number, column.width)
            is_number = isinstance(column.type, IntegerType | DecimalType | FloatType)
            sheet.write_string(0, number, column.name, self._looks.number_header if is_number else self._looks.header)
        return sheet

    def _cell_writer(self, sheet: Worksheet, column: SheetColumn) -> CellWriter:
        look = self._look(column.number_format)
        is_whole = isinstance(column.type, IntegerType)
        if column.is_text:
            return lambda row, number, value: sheet.write_string(row, number, format(value, "d" if is_whole else "f"))
        match column.type:
            case StringType() | NullType():
                return self._text_writer(sheet)
            case IntegerType() | DecimalType() | FloatType():
                return lambda row, number, value: sheet.write_number(row, number, float(value), look)
            case BooleanType():
                return lambda row, number, value: sheet.write_boolean(row, number, value)
            case DateType() | TimestampType():
                return lambda row, number, value: sheet.write_number(row, number, date_serial(value), look)
            case _:
                assert_never(column.type)

    def _text_writer(self, sheet: Worksheet) -> CellWriter:
        text, quoted = self._looks.text, self._looks.quoted
        if not self._is_safe:
            return lambda row, number, value: sheet.write_string(row, number, value, text)

        def write(row: int, number: int, value: str) -> None:
            sheet.write_string(row, number, value, quoted if _FORMULA_START.match(value) else text)

        return write

    def _look(self, number_format: str | None) -> Format | None:
        if number_format is None:
            return None
        if number_format not in self._formats:
            self._formats[number_format] = self._book.add_format({"num_format": number_format})
        return self._formats[number_format]


@contextmanager
def new_book(file: Path, facts: RunFacts | None, *, is_safe: bool) -> Iterator[Book]:
    """The same rows and facts give the same bytes; temporary files stand beside the file."""
    book = xlsxwriter.Workbook(str(file), {**_OPTIONS, "tmpdir": str(file.parent)})
    book.set_properties({"author": "Daybook", "created": facts.timestamp if facts else _NO_TIME})
    try:
        yield Book(book, is_safe=is_safe)
        book.close()
    except XlsxWriterException as failure:
        raise OSError(str(failure)) from failure


def _stored_value(value: Any) -> float:
    """What stands beside a formula until it is computed again."""
    return date_serial(value) if isinstance(value, datetime.date) else float(value)
