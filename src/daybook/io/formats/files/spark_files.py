"""How Spark writes the rows of a file output, and how its part files become one."""

import csv
import io
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, assert_never

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from daybook.expression import quote_identifier
from daybook.io.column_types import arrow_type
from daybook.io.writing import OutputColumn, Target
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
_FORMULA = r"^[=+\-@\t\r]"


def spark_write(df: DataFrame, place: Path, target: Target, options: Mapping[str, Any]) -> None:
    """Part files below `place`; those of a one-file CSV without header."""
    match target.format:
        case "parquet":
            df.write.mode("error").parquet(str(place))
        case "csv":
            texts = df.select(*(_csv_text(c, options["spreadsheet_safe"]).alias(c.name) for c in target.columns))
            texts.write.mode("error").csv(
                str(place),
                header=not target.is_one_file,
                sep=options["delimiter"],
                quote=options["quote"],
                escape=options["quote"],
                nullValue="",
                emptyValue=options["quote"] * 2,
                ignoreLeadingWhiteSpace=False,
                ignoreTrailingWhiteSpace=False,
                lineSep="\n",
            )
        case "json":
            texts = df.select(*(_json_value(c).alias(c.name) for c in target.columns))
            texts.write.mode("error").json(str(place), ignoreNullFields=False, lineSep="\n")
        case _:
            raise ValueError(f"{target.format} is not a file format")


def _named(column: OutputColumn) -> Column:
    return F.col(quote_identifier(column.name))


def _timestamp_text(value: Column) -> Column:
    return F.concat(F.replace(value.cast("string"), F.lit(" "), F.lit("T")), F.lit("Z"))


def _csv_text(column: OutputColumn, spreadsheet_safe: bool) -> Column:
    value = _named(column)
    match column.type:
        case StringType():
            if not spreadsheet_safe:
                return value
            return F.when(value.rlike(_FORMULA), F.concat(F.lit("'"), value)).otherwise(value)
        case TimestampType():
            return _timestamp_text(value)
        case IntegerType() | DecimalType() | FloatType() | BooleanType() | DateType() | NullType():
            return value.cast("string")
        case _:
            assert_never(column.type)


def _json_value(column: OutputColumn) -> Column:
    value = _named(column)
    match column.type:
        case TimestampType():
            return _timestamp_text(value)
        case DateType() | NullType():
            return value.cast("string")
        case StringType() | IntegerType() | DecimalType() | FloatType() | BooleanType():
            return value
        case _:
            assert_never(column.type)


def header_line(columns: Iterable[OutputColumn], options: Mapping[str, Any]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=options["delimiter"], quotechar=options["quote"], lineterminator="\n")
    writer.writerow([column.name for column in columns])
    return text.getvalue().encode()


def join_parts(parts: Iterable[Path], file: Path, target: Target, options: Mapping[str, Any]) -> None:
    """One file from part files, in their order, which is the order of the rows."""
    if target.format == "parquet":
        schema = pa.schema([(column.name, arrow_type(column.type)) for column in target.columns])
        with pq.ParquetWriter(file, schema) as writer:
            for part in parts:
                for batch in pq.ParquetFile(part).iter_batches():
                    writer.write_batch(batch.cast(schema))
        return
    with file.open("wb") as stream:
        if target.format == "csv":
            stream.write(header_line(target.columns, options))
        for part in parts:
            with part.open("rb") as source:
                shutil.copyfileobj(source, stream, 1 << 20)
