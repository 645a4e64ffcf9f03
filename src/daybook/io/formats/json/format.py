"""Files of JSON lines."""

from daybook.io.format import Format
from daybook.io.formats.files.format import FilesFormat
from daybook.io.formats.files.json import JsonRows
from daybook.io.landing.request import TextFile
from daybook.io.landing.rows import RowSource
from daybook.model.definition import DatasetVersion


class JsonFormat(FilesFormat):
    name = "json"

    def file_rows(self, file: TextFile, version: DatasetVersion) -> RowSource:
        return JsonRows(file.stat.path, file.location, version, file.given)


FORMAT: Format = JsonFormat()
