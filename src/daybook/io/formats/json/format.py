"""Files of JSON lines: numbers from their text, dates and times as text, NULL as null.

A key missing in a row is NULL; a key missing in all of them is an error.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

import pyarrow as pa

from daybook.errors import DaybookError, raise_all
from daybook.io.bindings import Binding, bind_columns, missing_column_errors
from daybook.io.column_types import BadValueError, arrow_type, parse_texts
from daybook.io.format import Format
from daybook.io.formats.files.format import (
    FileWriter,
    FolderFormat,
    column_value,
    join_texts,
    timestamp_text,
    write_text_lines,
)
from daybook.io.landing.batches import Batch, FileRows, RowSource, bad_value_error
from daybook.io.landing.landing_request import TextFile
from daybook.io.state_tables import text_lines
from daybook.io.target import FileTarget, OutputColumn
from daybook.model.definition import DatasetVersion
from daybook.model.types import (
    BooleanType,
    ColumnType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    NullType,
    StringType,
    TimestampType,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_BATCH_ROWS = 20_000
# JSON has no numbers for these; writers put them into quotes.
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")


class _NumberText(str):
    """A JSON number, kept as its text; no number is made of it before its length and exponent are checked."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class JsonRows(FileRows):
    """One file of JSON lines."""

    format = "json"

    def batches(self) -> Iterator[Batch]:
        keys: dict[str, None] = {}
        pending: list[tuple[int, dict[str, Any]]] = []
        seen_rows = False
        for line, row in self._rows():
            seen_rows = True
            keys.update(dict.fromkeys(row))
            pending.append((line, row))
            if len(pending) == _BATCH_ROWS:
                yield self._batch(pending, keys)
                pending = []
        bindings = bind_columns(self._given.stored(keys), self._version, self._location)
        if seen_rows:
            raise_all(missing_column_errors(bindings, self.name))
        else:
            # A file without rows names no columns, and lacks none.
            keys = dict.fromkeys(bindings.missing)
            bindings = bind_columns(self._given.stored(keys), self._version, self._location)
        self.carried = frozenset(binding.name for binding in bindings.carried)
        self.extra = frozenset(bindings.extra)
        yield self._batch(pending, keys)

    def _batch(self, pending: list[tuple[int, dict[str, Any]]], keys: dict[str, None]) -> Batch:
        bindings = bind_columns(self._given.stored(keys), self._version, self._location)

        def where(index: int) -> str:
            return f"line {pending[index][0]}"

        columns = {}
        for binding in bindings.all:
            if binding.stored in self._given.constants:
                columns[binding.name] = self._given.column(binding, len(pending), self.name)
                continue
            values = [row.get(binding.stored) for _, row in pending]
            columns[binding.name] = self._column(values, binding, where)
        return Batch(columns, len(pending), where)

    def _column(self, values: list[Any], binding: Binding, where: Any) -> pa.Array:
        for index, value in enumerate(values):
            if value is not None and not _has_json_type(value, binding.type):
                raise bad_value_error(self.name, where(index), binding.stored, value, binding.type)
        if isinstance(binding.type, BooleanType):
            return pa.array(values, arrow_type(binding.type))
        try:
            return parse_texts(pa.array(values, pa.string()), binding.type)
        except BadValueError as bad:
            raise bad_value_error(self.name, where(bad.index), binding.stored, bad.value, binding.type) from None
        except UnicodeEncodeError:
            problem = f"column {binding.stored} holds half a surrogate pair"
            raise DaybookError("IO_005", file=self.name, place=where(0), problem=problem) from None

    def _rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        place = self._at()
        decoder = json.JSONDecoder(
            parse_float=_NumberText,
            parse_int=_NumberText,
            parse_constant=_NumberText,
            object_pairs_hook=_refuse_duplicate_keys,
        )
        try:
            with place.system.open_input_stream(place.path) as stream:
                for number, raw in enumerate(_lines(stream), start=1):
                    if not raw.strip():
                        continue
                    yield number, self._row(decoder, raw, number)
        except OSError as failure:
            raise DaybookError("IO_012", location=self.name, reason=str(failure)) from failure

    def _row(self, decoder: json.JSONDecoder, raw: bytes, line: int) -> dict[str, Any]:
        try:
            row = decoder.decode(raw.decode("utf-8-sig" if line == 1 else "utf-8").strip())
        except UnicodeDecodeError:
            raise DaybookError("IO_005", file=self.name, place=f"line {line}", problem="not UTF-8 text") from None
        except ValueError as failure:
            raise DaybookError("IO_005", file=self.name, place=f"line {line}", problem=f"not JSON: {failure}") from None
        except RecursionError:
            problem = "objects and lists are nested too deeply"
            raise DaybookError("IO_005", file=self.name, place=f"line {line}", problem=problem) from None
        if not isinstance(row, dict):
            hint = "A file of JSON lines has one object per line."
            raise DaybookError("IO_005", file=self.name, place=f"line {line}", problem="not an object", hint=hint)
        return row


def _lines(stream: pa.NativeFile) -> Iterator[bytes]:
    begun: list[bytes] = []
    while block := stream.read(1 << 20):
        first, *others = block.split(b"\n")
        begun.append(first)
        if others:
            yield b"".join(begun)
            yield from others[:-1]
            begun = others[-1:]
    if rest := b"".join(begun):
        yield rest


def _refuse_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return row


def _has_json_type(value: object, type_: ColumnType) -> bool:
    match type_:
        case StringType() | DateType() | TimestampType():
            return isinstance(value, str) and not isinstance(value, _NumberText)
        case IntegerType():
            return isinstance(value, _NumberText)
        case FloatType():
            return isinstance(value, _NumberText) or value in _NOT_FINITE
        case DecimalType():
            return isinstance(value, str)
        case BooleanType():
            return isinstance(value, bool)
        case NullType():
            return False
        case _:
            assert_never(type_)


class JsonWriter(FileWriter):
    extensions = (".json", ".jsonl", ".ndjson")

    def write_parts(self, df: "DataFrame", folder: str, target: FileTarget, options: Mapping[str, Any]) -> None:
        values = df.select(*(_json_value(column).alias(column.name) for column in target.columns))
        writer = values.write.options(**target.storage.spark_options(target.uri)).mode("error")
        writer.json(folder, ignoreNullFields=False, lineSep="\n")

    def stream_parts(self, df: "DataFrame", folder: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
        from pyspark.sql import functions as F

        values = F.struct(*(_json_value(column).alias(column.name) for column in target.columns))
        lines = df.select(F.to_json(values, {"ignoreNullFields": "false"}))
        write_text_lines(folder / "part-00000.json", text_lines(lines))

    def join_parts(self, parts: Sequence[Path], file: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
        join_texts(parts, file)


def _json_value(column: OutputColumn) -> "Column":
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
        return JsonRows(file.stat.path, file.location, version, file.given, file.storage)


FORMAT: Format = JsonFormat()
