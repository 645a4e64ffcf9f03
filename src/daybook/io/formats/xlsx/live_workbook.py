"""Writes a workbook whose totals are formulas over sheets with the detail rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from daybook.io.formats.xlsx.book import Book, examine_rows
from daybook.io.formats.xlsx.cells import column_letters, quote_sheet
from daybook.io.formats.xlsx.format import StagedRows, WorkbookWriter
from daybook.io.formats.xlsx.formulas import Formula
from daybook.io.state_tables import stream_parquet
from daybook.io.target import FileTarget, OutputColumn
from daybook.io.writer import remove_tree
from daybook.model.types import (
    INTEGER,
    STRING,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


# Columns that identify the group a row belongs to, in the rows of the output and in their details.
ROW_ID = "_row_id"
OPERATION_SEQ = "_operation_seq"
GROUP_COLUMN = "__daybook_group"


@dataclass(frozen=True, slots=True)
class LiveAggregate:
    """An aggregate whose rows are written as formulas.

    `columns` are those of its details; each of `formulas` names the columns of its arguments, in their order.
    """

    seq: int
    columns: tuple[OutputColumn, ...]
    formulas: Mapping[str, tuple[Formula, tuple[str, ...]]]

    @property
    def sheet(self) -> str:
        return f"Details {self.seq}"


@dataclass(frozen=True, slots=True)
class GroupRows:
    """The rows of a group in the sheet of the details."""

    first: int
    last: int


class LiveWorkbookWriter(WorkbookWriter):
    """`write_details` has Spark write the details of an aggregate below a folder, group by group."""

    def __init__(
        self, aggregates: Sequence[LiveAggregate], write_details: Callable[[LiveAggregate, str], None]
    ) -> None:
        self._aggregates = {aggregate.seq: aggregate for aggregate in aggregates}
        self._write_details = write_details

    def stream_parts(self, df: "DataFrame", folder: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
        stream_parquet(df, folder, _staged_columns(target))

    def complete_parts(self, parts: Path, file: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
        rows = StagedRows(parts, _staged_columns(target))
        details = [
            self._stage(self._aggregates[seq], file.parent, target)
            for seq in sorted(_seqs_in(rows) & self._aggregates.keys())
        ]
        formulas = _RowFormulas({sheet.aggregate.seq: sheet for sheet in details})
        self.write_book(file, target, options, rows, formulas, details)
        for staged in (parts, *(sheet.parts for sheet in details)):
            remove_tree(staged)

    def _stage(self, aggregate: LiveAggregate, folder: Path, target: FileTarget) -> "_DetailSheet":
        parts = folder / f"details-{aggregate.seq}"
        self._write_details(aggregate, str(parts))
        return _DetailSheet(aggregate, parts, f"{target.label}, sheet {aggregate.sheet}")


class _DetailSheet:
    """The staged details of an aggregate, and which of its rows belong to which summary row."""

    def __init__(self, aggregate: LiveAggregate, parts: Path, label: str) -> None:
        self.aggregate = aggregate
        self.parts = parts
        self._rows = StagedRows(parts, (*aggregate.columns, OutputColumn(GROUP_COLUMN, STRING)))
        self._columns, self._count = examine_rows(
            self._rows.batches(), aggregate.columns, label, long_numbers_as_text=False
        )
        self._groups = dict(_group_rows(self._rows.batches()))
        self._letters = {column.name: column_letters(n) for n, column in enumerate(aggregate.columns, start=1)}

    def write(self, book: Book) -> None:
        book.write_rows(self.aggregate.sheet, self._columns, self._count, self._rows.batches())

    def formulas(self, group: str) -> Mapping[str, str]:
        """The formulas of a summary row by their columns."""
        rows = self._groups.get(group)
        if rows is None:
            return {}
        return {
            column: "=" + formula.template.format(*(self._cells(name, rows) for name in arguments))
            for column, (formula, arguments) in self.aggregate.formulas.items()
        }

    def _cells(self, column: str, rows: GroupRows) -> str:
        letters = self._letters[column]
        return f"{quote_sheet(self.aggregate.sheet)}!${letters}${rows.first}:${letters}${rows.last}"


@dataclass(frozen=True, slots=True)
class _RowFormulas:
    """The formulas of every row of a batch; none for rows that no live aggregate made."""

    sheets: Mapping[int, _DetailSheet]

    def __call__(self, batch: pa.RecordBatch) -> Iterator[Mapping[str, str]]:
        ids, seqs = batch.column(ROW_ID).to_pylist(), batch.column(OPERATION_SEQ).to_pylist()
        for row_id, seq in zip(ids, seqs, strict=True):
            sheet = self.sheets.get(seq)
            yield sheet.formulas(row_id) if sheet is not None else {}


def _staged_columns(target: FileTarget) -> tuple[OutputColumn, ...]:
    """Those that are shown, and those by which a row has its formulas."""
    shown = {column.name for column in target.columns}
    hidden = (OutputColumn(ROW_ID, STRING), OutputColumn(OPERATION_SEQ, INTEGER))
    return (*target.columns, *(column for column in hidden if column.name not in shown))


def _seqs_in(rows: StagedRows) -> set[int]:
    return {seq for batch in rows.batches() for seq in batch.column(OPERATION_SEQ).unique().to_pylist()}


def _group_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, GroupRows]]:
    """Rows of a group are adjacent; the first row of a sheet is its header."""
    row, first, current = 1, 2, None
    for batch in batches:
        for group in batch.column(GROUP_COLUMN).to_pylist():
            row += 1
            if group != current:
                if current is not None:
                    yield current, GroupRows(first, row - 1)
                first, current = row, group
    if current is not None:
        yield current, GroupRows(first, row)
