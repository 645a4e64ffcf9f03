"""Parquet files as one DataFrame: partition values attached, and the row's position in its file."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from daybook.engine.source import ORDINAL_COLUMN, ORIGIN_COLUMN, literal_path_pattern
from daybook.errors import DaybookError
from daybook.expression import quote_identifier, quote_literal
from daybook.expression import spark_type as sql_type
from daybook.io.bindings import Binding
from daybook.io.column_types import spark_data_type, stored_type_fits
from daybook.io.filesystem import is_uri, relative_to, spark_uri
from daybook.model.types import INTEGER, STRING, TIMESTAMP

# Characters that stand for themselves in the URIs Spark reports.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_./=-]*")
_FILE_COLUMN = "__file"
_PATH_SQL = "_metadata.file_path"


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file by its absolute path or URI, with the partition values of its rows as text."""

    path: str
    partitions: Mapping[str, str | None] = field(default_factory=dict)
    size: int = 0


def scan_parquet(
    spark: SparkSession,
    files: Sequence[DataFile],
    bindings: Sequence[Binding],
    partitions: frozenset[str],
    root: str | None,
) -> DataFrame:
    """The bound columns of all files with `__place` and `__ordinal`; no files give an empty frame."""
    if not files:
        return _empty_frame(spark, bindings)
    stored = {binding.stored: binding for binding in bindings if binding.stored not in partitions}
    schema = spark_types.StructType(
        [spark_types.StructField(name, spark_data_type(binding.type)) for name, binding in stored.items()]
    )
    df = spark.read.schema(schema).parquet(*(literal_path_pattern(file.path) for file in files))
    identity = {
        ORIGIN_COLUMN: _relative_path_sql([file.path for file in files], root),
        ORDINAL_COLUMN: "_metadata.row_index",
    }
    attached = [binding for binding in bindings if binding.stored in partitions]
    values = [tuple(file.partitions.get(binding.stored) for binding in attached) for file in files]
    columns = {binding.name: quote_identifier(binding.stored) for binding in bindings}
    if len(set(values)) == 1:
        columns |= {b.name: _partition_value_sql(value, b) for b, value in zip(attached, values[0], strict=True)}
    else:
        df = _join_partition_values(
            df.selectExpr("*", *_aliased(identity), f"{_file_key_sql(files)} AS {_FILE_COLUMN}"),
            files,
            values,
            attached,
        )
        identity = {name: name for name in identity}
    # One text, since every word to Spark takes its time.
    return df.selectExpr(*_aliased({**columns, **identity}))


def _aliased(columns: Mapping[str, str]) -> list[str]:
    return [f"{sql} AS {quote_identifier(name)}" for name, sql in columns.items()]


def spark_schema(bindings: Sequence[Binding], *, with_ordinal: bool) -> spark_types.StructType:
    fields = [spark_types.StructField(binding.name, spark_data_type(binding.type)) for binding in bindings]
    if with_ordinal:
        fields.append(spark_types.StructField(ORDINAL_COLUMN, spark_types.LongType()))
    return spark_types.StructType(fields)


def _empty_frame(spark: SparkSession, bindings: Sequence[Binding]) -> DataFrame:
    types = {**{binding.name: binding.type for binding in bindings}, ORDINAL_COLUMN: INTEGER, ORIGIN_COLUMN: STRING}
    return spark.range(0).selectExpr(
        *_aliased({name: f"CAST(NULL AS {sql_type(type_)})" for name, type_ in types.items()})
    )


def _relative_path_sql(paths: Sequence[str], root: str | None) -> str:
    """The file's path below `root`, decoded, as SQL; its bare name when there is no root or it lies elsewhere."""
    relatives = [relative_to(path, root) for path in paths]
    is_below = root is not None and all(
        path.endswith("/" + relative) and path.startswith(spark_uri(root) + "/")
        for path, relative in zip(paths, relatives, strict=True)
    )
    if not is_below:
        encoded = f"substring_index({_PATH_SQL}, '/', -1)"
    else:
        # Encoding never adds or drops a slash, so counting folders finds the root in any spelling.
        base = spark_uri(root or "")
        depth = len([part for part in base.partition("://")[2 if is_uri(base) else 0].split("/") if part])
        pattern = "^[A-Za-z][A-Za-z0-9+.-]*:/*(?:[^/]+/){" + str(depth) + "}(.*)$"
        encoded = f"regexp_extract({_PATH_SQL}, {quote_literal(pattern, STRING)}, 1)"
    return _decoded_sql(encoded, relatives)


def _file_key_sql(files: Sequence[DataFile]) -> str:
    """SQL of a file's path as `_normal` writes it."""
    return (
        f"regexp_replace({_decoded_sql(_PATH_SQL, [_normalized_path(file.path) for file in files])}, '^file:/+', '/')"
    )


def _decoded_sql(encoded: str, paths: Sequence[str]) -> str:
    is_plain = all(_PLAIN_PATH.fullmatch(path) for path in paths)
    return encoded if is_plain else f"url_decode(replace({encoded}, '+', '%2B'))"


def _partition_value_sql(text: str | None, binding: Binding) -> str:
    return f"CAST({quote_literal(text, STRING)} AS {sql_type(binding.type)})"


def _join_partition_values(
    df: DataFrame, files: Sequence[DataFile], values: Sequence[tuple[str | None, ...]], columns: Sequence[Binding]
) -> DataFrame:
    """Partition columns that differ between files, by file from a broadcast table."""
    by_file = "__partition_file"
    texts: dict[str, list[str | None]] = {by_file: [_normalized_path(file.path) for file in files]}
    texts |= {column.stored: [value[index] for value in values] for index, column in enumerate(columns)}
    # Of an Arrow table Spark makes a constant; rows of Python would start Python workers.
    rows = pa.table({name: pa.array(found, pa.string()) for name, found in texts.items()})
    typed = {c.stored: f"CAST({quote_identifier(c.stored)} AS {sql_type(c.type)})" for c in columns}
    lookup = df.sparkSession.createDataFrame(rows).selectExpr(by_file, *_aliased(typed))
    return df.join(F.broadcast(lookup), F.col(_FILE_COLUMN) == F.col(by_file), "inner")


def _normalized_path(path: str) -> str:
    return spark_uri(path)


def type_errors(bindings: Sequence[Binding], schema: pa.Schema, file: str) -> list[DaybookError]:
    """Stored columns whose type does not fit."""
    errors = []
    for binding in bindings:
        index = schema.get_field_index(binding.stored)
        if index < 0:
            continue
        stored = schema.field(index).type
        if not stored_type_fits(stored, binding.type):
            hint = None
            if binding.type == TIMESTAMP and pa.types.is_timestamp(stored):
                hint = "Timestamps have microseconds; write them with that unit."
            errors.append(
                DaybookError(
                    "IO_003", file=file, column=binding.stored, found=str(stored), declared=str(binding.type), hint=hint
                )
            )
    return errors
