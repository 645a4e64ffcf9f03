"""CSV files."""

from daybook.io.format import Format
from daybook.io.formats.files.csv import CsvRows
from daybook.io.formats.files.format import FilesFormat
from daybook.io.landing.request import TextFile
from daybook.io.landing.rows import RowSource
from daybook.model.definition import DatasetVersion


class CsvFormat(FilesFormat):
    name = "csv"

    def file_rows(self, file: TextFile, version: DatasetVersion) -> RowSource:
        return CsvRows(file.stat.path, file.location, version, file.given)


FORMAT: Format = CsvFormat()
