"""Workbooks of spreadsheet programs."""

from functools import cached_property

from daybook.io.format import Format
from daybook.io.formats.files.format import FolderFormat
from daybook.io.formats.xlsx.reader import XlsxRows
from daybook.io.formats.xlsx.writer import WorkbookWriter
from daybook.io.landing.request import TextFile
from daybook.io.landing.rows import RowSource
from daybook.model.definition import DatasetVersion


class XlsxFormat(FolderFormat):
    name = "xlsx"

    @cached_property
    def writer(self) -> WorkbookWriter:
        return WorkbookWriter()

    def file_rows(self, file: TextFile, version: DatasetVersion) -> RowSource:
        return XlsxRows(file.stat.path, file.location, version, file.given)


FORMAT: Format = XlsxFormat()
