"""Writing a workbook: Spark stages the rows as Parquet, and one process makes cells of them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from daybook.io.column_types import arrow_type
from daybook.io.formats.files.writer import FileWriter
from daybook.io.formats.xlsx.book import ABOUT_SHEET, DATA_SHEET, new_book
from daybook.io.formats.xlsx.columns import examine_rows
from daybook.io.target import FileTarget, OutputColumn
from daybook.io.writer import remove_tree
from daybook.resolve.checks import output_path_error

_BATCH_ROWS = 4_096


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
        """All rows are looked at before the first is written, so that what no sheet holds fails early."""
        rows = StagedRows(parts, target.columns)
        columns, count = examine_rows(
            rows.batches(), target.columns, target.label, long_numbers_as_text=options["long_numbers"] == "text"
        )
        sheet = options["sheet"] or DATA_SHEET
        with new_book(file, target.facts, is_safe=options["spreadsheet_safe"]) as book:
            book.write_rows(sheet, columns, count, rows.batches())
            book.name_rows(sheet, len(columns), count)
            if target.facts is not None:
                book.write_facts(ABOUT_SHEET if sheet.casefold() != ABOUT_SHEET.casefold() else "Run", target.facts)
        remove_tree(parts)


class StagedRows:
    """The rows of part files in their order, a few thousand at a time."""

    def __init__(self, parts: Path, columns: tuple[OutputColumn, ...]) -> None:
        self._files = sorted(part for part in parts.iterdir() if not part.name.startswith(("_", ".")))
        self._schema = pa.schema([(column.name, arrow_type(column.type)) for column in columns])

    def batches(self) -> Iterator[pa.RecordBatch]:
        for file in self._files:
            for batch in pq.ParquetFile(file).iter_batches(_BATCH_ROWS):
                yield batch.cast(self._schema)
