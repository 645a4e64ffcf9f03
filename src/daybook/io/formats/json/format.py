"""Files of JSON lines."""

from functools import cached_property

from daybook.io.format import Format
from daybook.io.formats.files.format import FolderFormat
from daybook.io.formats.json.rows import JsonRows
from daybook.io.formats.json.writer import JsonWriter
from daybook.io.landing.request import TextFile
from daybook.io.landing.rows import RowSource
from daybook.model.definition import DatasetVersion


class JsonFormat(FolderFormat):
    name = "json"

    @cached_property
    def writer(self) -> JsonWriter:
        return JsonWriter()

    def file_rows(self, file: TextFile, version: DatasetVersion) -> RowSource:
        return JsonRows(file.stat.path, file.location, version, file.given)


FORMAT: Format = JsonFormat()
