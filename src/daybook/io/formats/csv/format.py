"""CSV files: fields are exact text, bound by header name.

An unquoted empty field is NULL, `""` is the empty text; for files of one column see `one_column`.
"""

import codecs
import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

import pyarrow as pa
import pyarrow.csv as pacsv

from daybook.errors import DaybookError, raise_all
from daybook.io.bindings import Binding, bind_columns, missing_column_errors
from daybook.io.column_types import BadValueError, parse_texts, with_decimal_point
from daybook.io.format import Format
from daybook.io.formats.csv.one_column import field_lines, join_lines, null_is_quoted
from daybook.io.formats.files.format import (
    FileWriter,
    FolderFormat,
    column_value,
    join_texts,
    timestamp_text,
    write_text_lines,
)
from daybook.io.formula_text import FORMULA_START
from daybook.io.landing.batches import Batch, FileRows, RowSource, bad_value_error
from daybook.io.landing.landing_request import TextFile
from daybook.io.state_tables import text_lines
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

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLOCK_BYTES = 8 << 20
_MAX_FIELD_BYTES = 1 << 30
_MARK_TEXT = "\ufeff"
_ENCODING_HINTS = {
    "utf-16": "a file without a byte order mark is utf-16-le or utf-16-be",
    "utf-32": "a file without a byte order mark is utf-32-le or utf-32-be",
}


class CsvWriter(FileWriter):
    extensions = (".csv",)

    def write_parts(self, df: "DataFrame", folder: str, target: FileTarget, options: Mapping[str, Any]) -> None:
        """Parts have a header unless it is put before them later: Spark would quote a byte order mark."""
        access = target.storage.spark_options(target.uri)
        if len(target.columns) == 1:
            (column,) = target.columns
            lines = field_lines(df, _csv_text(column, options), column.type, options)
            lines.write.options(**access).mode("error").text(folder, lineSep="\n")
            return
        texts = df.select(*(_csv_text(c, options).alias(_header_text(c, options)) for c in target.columns))
        texts.write.options(**access).mode("error").csv(
            folder,
            header=not (target.is_one_file or options["bom"]),
            lineSep="\n",
            **_spark_options(options),
        )

    def stream_parts(self, df: "DataFrame", folder: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
        from pyspark.sql import functions as F

        if len(target.columns) == 1:
            (column,) = target.columns
            lines = field_lines(df, _csv_text(column, options), column.type, options)
            write_text_lines(folder / "part-00000.txt", text_lines(lines))
            return
        texts = F.struct(*(_csv_text(column, options).alias(column.name) for column in target.columns))
        header = [] if target.is_one_file or options["bom"] else [_header(target.columns, options)]
        rows = text_lines(df.select(F.to_csv(texts, _spark_options(options))))
        write_text_lines(folder / "part-00000.csv", itertools.chain(header, rows))

    def join_parts(self, parts: Sequence[Path], file: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
        if len(target.columns) == 1:
            join_lines(parts, file, *_header_of_one_column(target.columns, options), options)
        else:
            join_texts(parts, file, _header(target.columns, options))

    def complete_folder(
        self, folder: Path, parts: Sequence[Path], target: FileTarget, options: Mapping[str, Any]
    ) -> None:
        header = _header(target.columns, options)
        if not parts:
            (folder / "part-00000.csv").write_bytes(header)
        elif len(target.columns) == 1:
            for part in parts:
                join_lines([part], part.with_suffix(".csv"), *_header_of_one_column(target.columns, options), options)
                part.unlink()
        elif options["bom"]:
            for part in parts:
                whole = part.with_name(f".{part.name}.whole")
                join_texts([part], whole, header)
                whole.replace(part)

    def stored_columns(self, file: Path) -> Mapping[str, str] | None:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            return dict.fromkeys(next(csv.reader(stream), []), "")


def _spark_options(options: Mapping[str, Any]) -> dict[str, str]:
    """How Spark writes fields."""
    return {
        "sep": options["delimiter"],
        "quote": options["quote"],
        "escape": options["quote"],
        "nullValue": "",
        "emptyValue": options["quote"] * 2,
        "ignoreLeadingWhiteSpace": "false",
        "ignoreTrailingWhiteSpace": "false",
    }


def _csv_text(column: OutputColumn, options: Mapping[str, Any]) -> "Column":
    from pyspark.sql import functions as F

    value = column_value(column)
    match column.type:
        case StringType():
            if not options["spreadsheet_safe"]:
                return value
            return F.when(value.rlike(FORMULA_START), F.concat(F.lit("'"), value)).otherwise(value)
        case TimestampType():
            return timestamp_text(value)
        case DecimalType() | FloatType():
            text = value.cast("string")
            return F.replace(text, F.lit("."), F.lit(",")) if options["decimal"] == "," else text
        case IntegerType() | BooleanType() | DateType() | NullType():
            return value.cast("string")
        case _:
            assert_never(column.type)


def _header_text(column: OutputColumn, options: Mapping[str, Any]) -> str:
    is_formula = options["spreadsheet_safe"] and re.match(FORMULA_START, column.name)
    return f"'{column.name}" if is_formula else column.name


def _header(columns: Iterable[OutputColumn], options: Mapping[str, Any]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=options["delimiter"], quotechar=options["quote"], lineterminator="\n")
    writer.writerow([_header_text(column, options) for column in columns])
    return (_BYTE_ORDER_MARK if options["bom"] else b"") + text.getvalue().encode()


def _header_of_one_column(columns: Sequence[OutputColumn], options: Mapping[str, Any]) -> tuple[str, bytes]:
    """The line of the header, and what stands before it."""
    mark = _BYTE_ORDER_MARK if options["bom"] else b""
    return _header(columns, options).removeprefix(mark).decode().removesuffix("\n"), mark


class CsvRows(FileRows):
    """One CSV file. Fields are read as text and converted here, so that a wrong one can be named with its line."""

    format = "csv"

    def batches(self) -> Iterator[Batch]:
        header = self._header()
        bindings = bind_columns(self._given.stored(header), self._version, self._location)
        raise_all(missing_column_errors(bindings, self.name))
        self.carried = frozenset(binding.name for binding in bindings.carried)
        self.extra = frozenset(bindings.extra)
        first = 0
        for batch in self._text_batches(header, self._is_null_quoted(header, bindings.all)):
            start = first
            first += batch.num_rows

            def where(index: int, start: int = start) -> str:
                return f"line {self._line_of(start + index)}"

            yield Batch(self._typed(batch, bindings.all, where), batch.num_rows, where)

    def _typed(self, batch: pa.RecordBatch, bindings: tuple[Binding, ...], where: Any) -> dict[str, pa.Array]:
        columns = {}
        for binding in bindings:
            if binding.stored in self._given.constants or binding.stored not in batch.schema.names:
                columns[binding.name] = self._given.column(binding, batch.num_rows, self.name)
                continue
            written = batch.column(binding.stored)
            texts = with_decimal_point(written, binding.type) if self._options["decimal"] == "," else written
            try:
                columns[binding.name] = parse_texts(texts, binding.type)
            except BadValueError as bad:
                place, value = where(bad.index), written[bad.index].as_py()
                raise bad_value_error(self.name, place, binding.stored, value, binding.type) from None
        return columns

    def _is_null_quoted(self, header: list[str], bindings: tuple[Binding, ...]) -> bool:
        if len(header) != 1:
            return False
        types = [binding.type for binding in bindings if binding.stored == header[0]]
        place = self._at()
        with place.system.open_input_stream(place.path) as stream:
            line = next(io.TextIOWrapper(stream, self._options["encoding"], newline=""), "").removeprefix(_MARK_TEXT)
        return bool(types) and null_is_quoted(line, header[0], types[0], self._options)

    def _text_batches(self, header: list[str], is_null_quoted: bool) -> Iterator[pa.RecordBatch]:
        place = self._at()
        try:
            with (
                place.system.open_input_stream(place.path) as stream,
                pacsv.open_csv(
                    stream,
                    read_options=pacsv.ReadOptions(block_size=_BLOCK_BYTES, encoding=self._options["encoding"]),
                    parse_options=self._parsing(header),
                    convert_options=pacsv.ConvertOptions(
                        column_types=dict.fromkeys(header, pa.string()),
                        null_values=[self._options["null_value"]],
                        strings_can_be_null=True,
                        quoted_strings_can_be_null=is_null_quoted,
                    ),
                ) as reader,
            ):
                yield from reader
        except (pa.ArrowInvalid, UnicodeError) as failure:
            raise self._malformed(len(header), failure) from failure
        except OSError as failure:
            raise DaybookError("IO_012", location=self.name, reason=str(failure)) from failure

    def _parsing(self, header: list[str]) -> pacsv.ParseOptions:
        return pacsv.ParseOptions(
            delimiter=self._options["delimiter"],
            quote_char=self._options["quote"],
            double_quote=True,
            escape_char=self._options["escape"] or False,
            newlines_in_values=True,
            # With one column an empty line is a row whose only field is NULL.
            ignore_empty_lines=len(header) > 1,
        )

    def _header(self) -> list[str]:
        try:
            _, header = next(self._records(), (0, None))
        except (UnicodeError, csv.Error) as failure:
            raise self._malformed(0, failure) from failure
        except OSError as failure:
            raise DaybookError("IO_012", location=self.name, reason=str(failure)) from failure
        if header is None:
            raise DaybookError("IO_005", file=self.name, place="line 1", problem="there is no header")
        for index, name in enumerate(header):
            if name in header[:index]:
                raise DaybookError("IO_014", file=self.name, column=name)
        return header

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Records with the line they begin on; slow, for the header and for naming lines in errors."""
        place = self._at()
        with place.system.open_input_stream(place.path) as stream:
            lines = io.TextIOWrapper(stream, self._options["encoding"], newline="")
            first = next(lines, "").removeprefix(_MARK_TEXT)
            reader = csv.reader(
                chain([first], lines) if first else (),
                delimiter=self._options["delimiter"],
                quotechar=self._options["quote"],
                escapechar=self._options["escape"],
                doublequote=True,
            )
            begin = 1
            width = None
            csv.field_size_limit(_MAX_FIELD_BYTES)
            for record in reader:
                width = width or len(record)
                if record or width == 1:
                    yield begin, record or [""]
                begin = reader.line_num + 1

    def _line_of(self, row: int) -> int:
        """The line a data row begins on, found by reading the file again."""
        for index, (line, _) in enumerate(self._records()):
            if index == row + 1:
                return line
        return row + 2

    def _malformed(self, width: int, failure: Exception) -> DaybookError:
        """The line that cannot be split, found by reading the file again; otherwise the parser's own words."""
        line = 1
        try:
            for line, record in self._records():
                if len(record) != width:
                    problem = f"{len(record)} fields instead of {width}"
                    return DaybookError("IO_005", file=self.name, place=f"line {line}", problem=problem)
        except UnicodeError:
            encoding = self._options["encoding"]
            return DaybookError(
                "IO_005",
                file=self.name,
                place=f"after line {line}",
                problem=f"not {encoding} text",
                hint=_ENCODING_HINTS.get(codecs.lookup(encoding).name),
            )
        except csv.Error as error:
            return DaybookError("IO_005", file=self.name, place=f"line {line + 1}", problem=str(error))
        return DaybookError("IO_005", file=self.name, place=f"line {line}", problem=str(failure))


class CsvFormat(FolderFormat):
    name = "csv"

    @cached_property
    def writer(self) -> CsvWriter:
        return CsvWriter()

    def file_rows(self, file: TextFile, version: DatasetVersion) -> RowSource:
        return CsvRows(file.stat.path, file.location, version, file.given, file.storage)


FORMAT: Format = CsvFormat()
