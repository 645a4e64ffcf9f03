"""Writes a workbook file: typed cells, a frozen header with a filter, and a sheet that describes the run."""

import datetime
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, assert_never

import pyarrow as pa
import pyarrow.compute as pc
import xlsxwriter
from xlsxwriter.exceptions import XlsxWriterException
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from daybook.errors import DaybookError
from daybook.io.formats.xlsx.cells import (
    MAX_COLUMNS,
    MAX_ROWS,
    MAX_TEXT,
    SIGNIFICANT_DIGITS,
    column_letters,
    date_serial,
    quote_sheet,
    text_length,
)
from daybook.io.formats.xlsx.workbook import ROWS_NAME
from daybook.io.formula_text import FORMULA_START
from daybook.io.target import OutputColumn, RunFacts
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

# One row is the header.
MAX_DATA_ROWS = MAX_ROWS - 1
_MIN_WIDTH, _MAX_WIDTH = 8, 60
_FILTER_BUTTON = 2
_FIRST_YEAR = 1900
# Trailing zeros of more places than these would only be noise.
_SHOWN_PLACES = 4


@dataclass(frozen=True, slots=True)
class SheetColumn:
    """A column of a sheet; `is_text` when its numbers are written as text since some have more than 15 digits."""

    name: str
    type: ColumnType
    width: int
    is_text: bool = False

    @property
    def number_format(self) -> str | None:
        return None if self.is_text else number_format(self.type)


def number_format(type_: ColumnType) -> str | None:
    """As many places as the column's scale; None where the general format is right."""
    match type_:
        case DecimalType(_, 0):
            return "#,##0"
        case DecimalType(_, scale) if scale <= _SHOWN_PLACES:
            return f"#,##0.{'0' * scale}"
        case DecimalType(_, scale):
            return f"#,##0.00{'#' * (scale - 2)}"
        case IntegerType():
            return "0"
        case DateType():
            return "yyyy-mm-dd"
        case TimestampType():
            return "yyyy-mm-dd hh:mm:ss"
        case FloatType() | StringType() | BooleanType() | NullType():
            return None
        case _:
            assert_never(type_)


def examine_rows(
    batches: Iterable[pa.RecordBatch], columns: Iterable[OutputColumn], place: str, *, long_numbers_as_text: bool
) -> tuple[tuple[SheetColumn, ...], int]:
    """The columns as they are written and the number of rows; IO_029 or IO_056 for what no sheet holds."""
    sheet_columns = {
        column.name: SheetColumn(column.name, column.type, len(column.name) + _FILTER_BUTTON) for column in columns
    }
    if len(sheet_columns) > MAX_COLUMNS:
        raise DaybookError(
            "IO_056", location=place, reason=f"a sheet has {MAX_COLUMNS:,} columns, not {len(sheet_columns):,}"
        )
    rows = 0
    for batch in batches:
        rows += batch.num_rows
        for name, column in sheet_columns.items():
            values = batch.column(name)
            _refuse_values(values, column, place)
            if not column.is_text and has_long_numbers(values, column.type):
                if not long_numbers_as_text:
                    raise _long_number(values, column, place)
                column = replace(column, is_text=True)
            sheet_columns[name] = replace(column, width=max(column.width, _text_width(values, column.type)))
    if rows > MAX_DATA_ROWS:
        hint = "write CSV, Parquet or Delta, or fewer rows: one workbook for each region or account"
        reason = f"a sheet has at most {MAX_DATA_ROWS:,} rows below its header, not {rows:,}"
        raise DaybookError("IO_056", location=place, reason=reason, hint=hint)
    return tuple(replace(column, width=_bounded_width(column.width)) for column in sheet_columns.values()), rows


def _bounded_width(characters: int) -> int:
    return min(max(characters + 2, _MIN_WIDTH), _MAX_WIDTH)


def _refuse_values(values: pa.Array, column: SheetColumn, place: str) -> None:
    match column.type:
        case StringType():
            reason = _long_text(values)
        case FloatType():
            is_odd = pc.any(pc.invert(pc.is_finite(values))).as_py()
            reason = "a spreadsheet has no NaN and no Infinity" if is_odd else None
        case DateType() | TimestampType():
            first = pc.min(pc.year(values)).as_py()
            is_early = first is not None and first < _FIRST_YEAR
            reason = f"a spreadsheet has no dates before {_FIRST_YEAR}, like {first}" if is_early else None
        case _:
            reason = None
    if reason is not None:
        raise DaybookError("IO_029", location=place, column=column.name, reason=reason)


def _long_text(values: pa.Array) -> str | None:
    """Spreadsheets count characters beyond the first 65,536 twice."""
    longest = pc.max(pc.utf8_length(values)).as_py() or 0
    if 2 * longest > MAX_TEXT:
        longest = max(text_length(text) for text in values.to_pylist() if text is not None)
    return f"a cell has at most {MAX_TEXT:,} characters, not {longest:,}" if longest > MAX_TEXT else None


def has_long_numbers(values: pa.Array, type_: ColumnType) -> bool:
    """Whether some number has more than 15 significant digits; those of floats are not exact anyway."""
    return next(_long_numbers(values, type_), None) is not None


def _long_numbers(values: pa.Array, type_: ColumnType) -> Iterator[Decimal]:
    match type_:
        case DecimalType(precision, scale):
            if precision <= SIGNIFICANT_DIGITS:
                return
            limit = Decimal(10) ** (SIGNIFICANT_DIGITS - scale)
        case IntegerType():
            limit = Decimal(10**SIGNIFICANT_DIGITS)
        case _:
            return
    # The rule of thumb first, since Python looks at single values only.
    for value in values.filter(_is_beyond(values, limit)).to_pylist():
        if value is not None and significant_digits(Decimal(value)) > SIGNIFICANT_DIGITS:
            yield Decimal(value)


def _is_beyond(values: pa.Array, limit: Decimal) -> pa.Array:
    """Values that may have more digits: in doubles, with a margin for what they round."""
    return pc.greater(pc.abs(pc.cast(values, pa.float64(), safe=False)), float(limit) * 0.99)


def significant_digits(value: Decimal) -> int:
    digits = "".join(map(str, value.as_tuple().digits)).strip("0")
    return len(digits)


def _long_number(values: pa.Array, column: SheetColumn, place: str) -> DaybookError:
    value = next(_long_numbers(values, column.type))
    hint = "ROUND it or give it a `type`, or write the column as text: `options: {long_numbers: text}`"
    reason = f"{value:f} has more than {SIGNIFICANT_DIGITS} significant digits"
    return DaybookError("IO_029", location=place, column=column.name, reason=reason, hint=hint)


def _text_width(values: pa.Array, type_: ColumnType) -> int:
    """How many characters the widest value takes, about."""
    match type_:
        case StringType():
            return min(pc.max(pc.utf8_length(values)).as_py() or 0, _MAX_WIDTH)
        case IntegerType() | DecimalType():
            places = min(type_.scale, _SHOWN_PLACES) if isinstance(type_, DecimalType) else 0
            bounds: Mapping[str, Any] = pc.min_max(values).as_py()
            return max((len(f"{bound:,.{places}f}") for bound in bounds.values() if bound is not None), default=0)
        case FloatType():
            return SIGNIFICANT_DIGITS
        case DateType():
            return len("2026-01-31")
        case TimestampType():
            return len("2026-01-31 12:30:00")
        case BooleanType() | NullType():
            return len("FALSE")
        case _:
            assert_never(type_)


DATA_SHEET = "Data"
ABOUT_SHEET = "About"
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
        """A sheet of rows below a header; a formula is written with its value, and NULL is always a blank cell."""
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
            sheet.write_string(row, number, value, quoted if re.match(FORMULA_START, value) else text)

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
    """The stored value of a formula."""
    return date_serial(value) if isinstance(value, datetime.date) else float(value)
