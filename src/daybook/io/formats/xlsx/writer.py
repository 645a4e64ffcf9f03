"""Writing a workbook: Spark stages the rows as Parquet, and one process makes cells of them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from daybook.io.column_types import arrow_type
from daybook.io.formats.files.writer import FileWriter
from daybook.io.formats.xlsx.book import ABOUT_SHEET, DATA_SHEET, Book, FormulasOfRows, new_book
from daybook.io.formats.xlsx.columns import examine_rows
from daybook.io.target import FileTarget, OutputColumn
from daybook.io.writer import remove_tree
from daybook.resolve.checks import output_path_error

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

    def check(self, target: FileTarget) -> None:
        if (error := output_path_error(target.format, target.uri)) is not None:
            raise error
        super().check(target)

    def write_parts(self, df: DataFrame, folder: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
        df.write.mode("error").parquet(str(folder))

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
            for each in further:
                each.write(book)
            if target.facts is not None:
                book.write_facts("Run" if sheet.casefold() == ABOUT_SHEET.casefold() else ABOUT_SHEET, target.facts)
