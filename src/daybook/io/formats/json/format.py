"""Files of JSON lines; writing gives numbers exactly, dates and times as text, NULL as null."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, assert_never

from pyspark.sql import Column, DataFrame

from daybook.io.format import Format
from daybook.io.formats.files.format import FolderFormat
from daybook.io.formats.files.writer import FileWriter, column_value, join_texts, timestamp_text
from daybook.io.formats.json.rows import JsonRows
from daybook.io.landing.request import TextFile
from daybook.io.landing.rows import RowSource
from daybook.io.target import FileTarget, OutputColumn
from daybook.model.definition import DatasetVersion
from daybook.model.types import (
    BooleanType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    NullType,
    StringType,
    TimestampType,
)


class JsonWriter(FileWriter):
    extensions = (".json", ".jsonl", ".ndjson")

    def write_parts(self, df: DataFrame, folder: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
        values = df.select(*(_json_value(column).alias(column.name) for column in target.columns))
        values.write.mode("error").json(str(folder), ignoreNullFields=False, lineSep="\n")

    def join_parts(self, parts: Sequence[Path], file: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
        join_texts(parts, file)


def _json_value(column: OutputColumn) -> Column:
    value = column_value(column)
    match column.type:
        case TimestampType():
            return timestamp_text(value)
        case DateType() | NullType():
            return value.cast("string")
        case StringType() | IntegerType() | DecimalType() | FloatType() | BooleanType():
            return value
        case _:
            assert_never(column.type)


class JsonFormat(FolderFormat):
    name = "json"

    @cached_property
    def writer(self) -> JsonWriter:
        return JsonWriter()

    def file_rows(self, file: TextFile, version: DatasetVersion) -> RowSource:
        return JsonRows(file.stat.path, file.location, version, file.given)


FORMAT: Format = JsonFormat()
