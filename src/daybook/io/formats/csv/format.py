"""CSV files."""

from functools import cached_property

from daybook.io.format import Format
from daybook.io.formats.csv.rows import CsvRows
from daybook.io.formats.csv.writer import CsvWriter
from daybook.io.formats.files.format import FolderFormat
from daybook.io.landing.request import TextFile
from daybook.io.landing.rows import RowSource
from daybook.model.definition import DatasetVersion


class CsvFormat(FolderFormat):
    name = "csv"

    @cached_property
    def writer(self) -> CsvWriter:
        return CsvWriter()

    def file_rows(self, file: TextFile, version: DatasetVersion) -> RowSource:
        return CsvRows(file.stat.path, file.location, version, file.given)


FORMAT: Format = CsvFormat()
