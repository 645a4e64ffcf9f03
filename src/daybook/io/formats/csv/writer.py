"""Writing CSV: fields as exact text, a header in every file."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, assert_never

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from daybook.io.formats.files.writer import FileWriter, column_value, join_texts, timestamp_text
from daybook.io.target import FileTarget, OutputColumn
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

# A spreadsheet takes text that begins with one of these for a formula.
_FORMULA_START = r"^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class CsvWriter(FileWriter):
    extensions = (".csv",)

    def write_parts(self, df: DataFrame, folder: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
        """Parts have a header unless it is put before them later: Spark would quote a byte order mark."""
        texts = df.select(*(_csv_text(c, options).alias(_header_text(c, options)) for c in target.columns))
        texts.write.mode("error").csv(
            str(folder),
            header=not (target.is_one_file or options["bom"]),
            sep=options["delimiter"],
            quote=options["quote"],
            escape=options["quote"],
            nullValue="",
            emptyValue=options["quote"] * 2,
            ignoreLeadingWhiteSpace=False,
            ignoreTrailingWhiteSpace=False,
            lineSep="\n",
        )

    def join_parts(self, parts: Sequence[Path], file: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
        join_texts(parts, file, _header(target.columns, options))

    def complete_folder(
        self, folder: Path, parts: Sequence[Path], target: FileTarget, options: Mapping[str, Any]
    ) -> None:
        header = _header(target.columns, options)
        if not parts:
            (folder / "part-00000.csv").write_bytes(header)
        elif options["bom"]:
            for part in parts:
                whole = part.with_name(f".{part.name}.whole")
                join_texts([part], whole, header)
                whole.replace(part)

    def stored_columns(self, file: Path) -> Mapping[str, str] | None:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            return dict.fromkeys(next(csv.reader(stream), []), "")


def _csv_text(column: OutputColumn, options: Mapping[str, Any]) -> Column:
    value = column_value(column)
    match column.type:
        case StringType():
            if not options["spreadsheet_safe"]:
                return value
            return F.when(value.rlike(_FORMULA_START), F.concat(F.lit("'"), value)).otherwise(value)
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
    is_formula = options["spreadsheet_safe"] and re.match(_FORMULA_START, column.name)
    return f"'{column.name}" if is_formula else column.name


def _header(columns: Iterable[OutputColumn], options: Mapping[str, Any]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=options["delimiter"], quotechar=options["quote"], lineterminator="\n")
    writer.writerow([_header_text(column, options) for column in columns])
    return (_BYTE_ORDER_MARK if options["bom"] else b"") + text.getvalue().encode()
