"""Workbooks: reads a sheet as typed rows, and writes staged rows as a sheet."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from daybook.errors import DaybookError, raise_all
from daybook.io.bindings import Binding, Bindings, bind_columns, missing_column_errors
from daybook.io.column_types import BadValueError, arrow_type, parse_texts
from daybook.io.filesystem import relative_to, translate_read_errors
from daybook.io.format import Format
from daybook.io.formats.files.format import FileWriter, FolderFormat
from daybook.io.formats.xlsx.book import ABOUT_SHEET, DATA_SHEET, Book, FormulasOfRows, examine_rows, new_book
from daybook.io.formats.xlsx.cells import (
    SIGNIFICANT_DIGITS,
    WHOLE_SHEET,
    Area,
    Cell,
    CellKind,
    cell_place,
    loses_digits,
    text_for,
)
from daybook.io.formats.xlsx.package import Package
from daybook.io.formats.xlsx.sheet import SheetReader, SheetRow
from daybook.io.formats.xlsx.workbook import Selection, Workbook
from daybook.io.landing.batches import Batch, FileRows, RowSource
from daybook.io.landing.landing_request import TextFile
from daybook.io.target import FileTarget, OutputColumn
from daybook.io.writer import CheckedTarget, remove_tree
from daybook.model.definition import DatasetVersion
from daybook.model.types import FloatType
from daybook.resolve.definition_checks import output_path_error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BATCH_ROWS = 4_096


class FurtherSheet(Protocol):
    """A sheet beside that of the rows."""

    def write(self, book: Book) -> None: ...


class StagedRows:
    """The rows of part files in their order, a few thousand at a time."""

    def __init__(self, parts: Path, columns: tuple[OutputColumn, ...]) -> None:
        self._files = sorted(part for part in parts.iterdir() if not part.name.startswith(("_", ".")))
        self._schema = pa.schema([(column.name, arrow_type(column.type)) for column in columns])

    def batches(self) -> Iterator[pa.RecordBatch]:
        for file in self._files:
            for batch in pq.ParquetFile(file).iter_batches(_BATCH_ROWS, columns=self._schema.names):
                yield batch.select(self._schema.names).cast(self._schema)


class WorkbookWriter(FileWriter):
    """One file, staged and committed as every other."""

    extensions = (".xlsx",)

    def check(self, target: FileTarget) -> CheckedTarget:
        if (error := output_path_error(target.format, target.uri)) is not None:
            raise error
        return super().check(target)

    def write_parts(self, df: "DataFrame", folder: str, target: FileTarget, options: Mapping[str, Any]) -> None:
        df.write.options(**target.storage.spark_options(target.uri)).mode("error").parquet(folder)

    def complete_parts(self, parts: Path, file: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
        self.write_book(file, target, options, StagedRows(parts, target.columns))
        remove_tree(parts)

    def write_book(
        self,
        file: Path,
        target: FileTarget,
        options: Mapping[str, Any],
        rows: StagedRows,
        formulas: FormulasOfRows | None = None,
        further: Sequence[FurtherSheet] = (),
    ) -> None:
        """All rows are looked at before the first is written, so that what no sheet holds fails early."""
        as_text = options["long_numbers"] == "text"
        columns, count = examine_rows(rows.batches(), target.columns, target.label, long_numbers_as_text=as_text)
        sheet = options["sheet"] or DATA_SHEET
        with new_book(file, target.facts, is_safe=options["spreadsheet_safe"]) as book:
            book.write_rows(sheet, columns, count, rows.batches(), formulas)
            book.name_rows(sheet, len(columns), count)
            for further_sheet in further:
                further_sheet.write(book)
            if target.facts is not None:
                book.write_facts("Run" if sheet.casefold() == ABOUT_SHEET.casefold() else ABOUT_SHEET, target.facts)


_READ_BATCH_ROWS = 20_000
_READ_BATCH_TEXT = 16 << 20
_SHOWN_CHARACTERS = 60

# What to do about a cell of the wrong kind.
_HINTS = {
    CellKind.TEXT: "correct the cell; in a text, numbers have a decimal point and dates are YYYY-MM-DD",
    CellKind.NUMBER: "correct the cell; a date needs a date format",
    CellKind.DATE: (
        "correct the cell; Excel stores text that looks like a date as a date, unless the format of the cell is Text"
    ),
}


@dataclass(frozen=True, slots=True)
class _Layout:
    """The sheet being read: the numbers of its columns by their names in the header, and how they are bound."""

    sheet: str
    header: SheetRow
    columns: Mapping[str, int]
    bindings: Bindings

    def cell(self, row: int, column: str) -> str:
        return cell_place(self.sheet, row, self.columns[column])

    def row(self, number: int) -> str:
        return Area(number, min(self.columns.values()), number, max(self.columns.values())).place(self.sheet)

    @property
    def used(self) -> set[int]:
        """The columns that are read."""
        return {self.columns[binding.stored] for binding in self.bindings.all if binding.stored in self.columns}


class XlsxRows(FileRows):
    """One sheet of one workbook file."""

    format = "xlsx"

    def batches(self) -> Iterator[Batch]:
        place = self._at()
        with (
            translate_read_errors(self.name),
            place.system.open_input_file(place.path) as stream,
            closing(Package(stream, self.name)) as package,
        ):
            workbook = Workbook(package)
            options = self._options
            selection = workbook.select(options["sheet"], options["range"], options["header_row"])
            yield from self._sheet_batches(workbook, selection)

    def _sheet_batches(self, workbook: Workbook, selection: Selection) -> Iterator[Batch]:
        reader = SheetReader(workbook, selection.sheet)
        rows = (row for row in reader.rows() if row.number <= selection.area.bottom)
        layout = self._layout(rows, selection)
        reader.columns = frozenset(layout.columns.values())
        self.carried = frozenset(binding.name for binding in layout.bindings.carried)
        self.extra = frozenset(layout.bindings.extra)
        first = max(layout.header.number + 1, selection.area.top)
        last = layout.header.number
        own = workbook.own_rows(selection.sheet)
        is_own = own is not None and own.top == layout.header.number
        last_own = min(own.bottom, selection.area.bottom) if own is not None and is_own else 0
        pending: list[SheetRow] = []
        size = 0
        for row in _with_blank_rows(rows, first, last_own):
            is_blank = not any(row.cells[number].text for number in row.cells.keys() & reader.columns)
            if row.number < first or (is_blank and row.number > last_own):
                continue
            last = row.number
            pending.append(row)
            size += row.size
            if len(pending) == _READ_BATCH_ROWS or size > _READ_BATCH_TEXT:
                yield self._batch(pending, layout)
                pending, size = [], 0
        self._refuse_merged(reader.merged, layout, last)
        yield self._batch(pending, layout)

    def _layout(self, rows: Iterator[SheetRow], selection: Selection) -> _Layout:
        header = self._find_header(rows, selection)
        sheet = selection.sheet.name
        columns: dict[str, int] = {}
        for number, cell in sorted(_named_cells(header, selection.area).items()):
            if cell.kind in (CellKind.ERROR, CellKind.UNCOMPUTED):
                raise self._unreadable_cell(cell, cell_place(sheet, header.number, number))
            if cell.text in columns:
                raise DaybookError("IO_014", file=self.name, column=cell.text)
            columns[cell.text] = number
        bindings = bind_columns(self._given.stored(columns), self._version, self._location)
        raise_all(missing_column_errors(bindings, self.name))
        return _Layout(sheet, header, columns, bindings)

    def _find_header(self, rows: Iterator[SheetRow], selection: Selection) -> SheetRow:
        """The row that the option names, else the first of the area that is not blank."""
        area, header_row = selection.area, selection.header_row
        for row in rows:
            is_header = row.number >= area.top if header_row is None else row.number == header_row
            if is_header and _named_cells(row, area):
                return row
        place = selection.sheet.name if area == WHOLE_SHEET else area.place(selection.sheet.name)
        where = place if header_row is None else f"row {header_row} of {place}"
        hint = "`header_row` is the number of the row that names the columns"
        raise DaybookError("IO_051", file=self.name, problem=f"{where} is blank", hint=hint)

    def _batch(self, rows: list[SheetRow], layout: _Layout) -> Batch:
        stored = {binding.name: binding.stored for binding in layout.bindings.all}

        def where(index: int) -> str:
            return layout.row(rows[index].number)

        def cell(index: int, column: str) -> str:
            is_own = stored.get(column) in layout.columns
            return layout.cell(rows[index].number, stored[column]) if is_own else where(index)

        columns = {binding.name: self._column(rows, layout, binding) for binding in layout.bindings.all}
        file = relative_to(self.name, self._location.root)
        positions = pa.array([f"{file} {where(index)}" for index in range(len(rows))], pa.string())
        return Batch(columns, len(rows), where, cell, positions)

    def _column(self, rows: list[SheetRow], layout: _Layout, binding: Binding) -> pa.Array:
        number = layout.columns.get(binding.stored)
        if binding.stored in self._given.constants or number is None:
            return self._given.column(binding, len(rows), self.name)
        texts: list[str | None] = []
        for row in rows:
            cell = row.cells.get(number)
            text = None if cell is None else text_for(cell, binding.type)
            if cell is not None and (text is None or _is_cut(cell, binding)):
                raise self._wrong_cell(cell, binding, layout.cell(row.number, binding.stored))
            texts.append(text)
        try:
            return parse_texts(pa.array(texts, pa.string()), binding.type)
        except BadValueError as bad:
            row = rows[bad.index]
            raise self._wrong_cell(row.cells[number], binding, layout.cell(row.number, binding.stored)) from None

    def _wrong_cell(self, cell: Cell, binding: Binding, place: str) -> DaybookError:
        if cell.kind in (CellKind.ERROR, CellKind.UNCOMPUTED):
            return self._unreadable_cell(cell, place)
        if _is_cut(cell, binding):
            return DaybookError("IO_055", file=self.name, place=place, value=cell.stored, column=binding.stored)
        text = cell.text if len(cell.text) <= _SHOWN_CHARACTERS else f"{cell.text[:_SHOWN_CHARACTERS]}..."
        return DaybookError(
            "IO_004",
            file=self.name,
            place=place,
            column=binding.stored,
            value=str(cell._replace(text=text)),
            declared=str(binding.type),
            hint=_HINTS.get(cell.kind),
        )

    def _unreadable_cell(self, cell: Cell, place: str) -> DaybookError:
        if cell.kind is CellKind.ERROR:
            return DaybookError("IO_052", file=self.name, place=place, error=cell.text)
        return DaybookError("IO_053", file=self.name, place=place)

    def _refuse_merged(self, merged: list[Area], layout: _Layout, last: int) -> None:
        """Refuses merged cells: it is not known whether their value belongs to one row or to each."""
        rows = Area(top=layout.header.number, bottom=last)
        for area in merged:
            if area.overlap(rows) is not None and any(area.left <= number <= area.right for number in layout.used):
                raise DaybookError("IO_054", file=self.name, place=area.place(layout.sheet))


def _is_cut(cell: Cell, binding: Binding) -> bool:
    """Whether 15 digits do not hold the number; floats are inexact anyway."""
    is_long = cell.kind is CellKind.NUMBER and len(cell.text) > SIGNIFICANT_DIGITS
    return is_long and not isinstance(binding.type, FloatType) and loses_digits(cell.stored)


def _with_blank_rows(rows: Iterator[SheetRow], first: int, last: int) -> Iterator[SheetRow]:
    """The rows, with those that have no cell between two numbers."""
    number = first
    for row in rows:
        for blank in range(number, min(row.number, last + 1)):
            yield SheetRow(blank, {})
        number = max(number, row.number + 1)
        yield row
    for blank in range(number, last + 1):
        yield SheetRow(blank, {})


def _named_cells(row: SheetRow, area: Area) -> dict[int, Cell]:
    """The cells of a header that name a column."""
    return {
        number: cell for number, cell in row.cells.items() if area.left <= number <= area.right and cell.text.strip()
    }


class XlsxFormat(FolderFormat):
    name = "xlsx"

    @cached_property
    def writer(self) -> WorkbookWriter:
        return WorkbookWriter()

    def file_rows(self, file: TextFile, version: DatasetVersion) -> RowSource:
        return XlsxRows(file.stat.path, file.location, version, file.given, file.storage)


FORMAT: Format = XlsxFormat()
