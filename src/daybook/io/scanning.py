"""Parquet files as one DataFrame: partition values attached, and the row's place in its file."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as spark_types

from daybook.engine.source import ORDINAL, PLACE
from daybook.io.column_types import spark_type
from daybook.io.place import is_uri, relative_to, spark_uri
from daybook.io.tables import Binding

_GLOB = re.compile(r"([\\{}\[\]*?])")
# Characters that stand for themselves in the URIs Spark reports.
_PLAIN = re.compile(r"[A-Za-z0-9_./=-]*")
_FILE = "__file"


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file by its absolute path or URI, with the partition values of its rows as text."""

    path: str
    partitions: Mapping[str, str | None] = field(default_factory=dict)


def scan(
    spark: SparkSession,
    files: Sequence[DataFile],
    bindings: Sequence[Binding],
    partitions: frozenset[str],
    root: str | None,
) -> DataFrame:
    """The bound columns of all files with `__place` and `__ordinal`; no files give an empty frame."""
    if not files:
        return _empty(spark, bindings)
    stored = {binding.stored: binding for binding in bindings if binding.stored not in partitions}
    schema = spark_types.StructType(
        [spark_types.StructField(name, spark_type(binding.type)) for name, binding in stored.items()]
    )
    df = spark.read.schema(schema).parquet(*(_spark_path(file.path) for file in files))
    place = _place([file.path for file in files], root)
    df = df.select("*", place.alias(PLACE), sf.col("_metadata.row_index").alias(ORDINAL), _path().alias(_FILE))
    df = _attach(spark, df, files, [binding for binding in bindings if binding.stored in partitions])
    return df.select(*(sf.col(_quoted(b.stored)).alias(b.name) for b in bindings), PLACE, ORDINAL)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _spark_path(path: str) -> str:
    return _GLOB.sub(r"\\\1", path)


def spark_schema(bindings: Sequence[Binding], *, with_ordinal: bool) -> spark_types.StructType:
    fields = [spark_types.StructField(binding.name, spark_type(binding.type)) for binding in bindings]
    if with_ordinal:
        fields.append(spark_types.StructField(ORDINAL, spark_types.LongType()))
    return spark_types.StructType(fields)


def _empty(spark: SparkSession, bindings: Sequence[Binding]) -> DataFrame:
    return spark.createDataFrame([], spark_schema(bindings, with_ordinal=True)).withColumn(
        PLACE, sf.lit("").cast("string")
    )


def _path() -> Column:
    return sf.col("_metadata.file_path")


def _place(paths: Sequence[str], root: str | None) -> Column:
    """The file's path below `root`, decoded; its bare name when there is no root or it lies elsewhere."""
    relatives = [relative_to(path, root) for path in paths]
    is_below = root is not None and all(
        path.endswith("/" + relative) and path.startswith(spark_uri(root) + "/")
        for path, relative in zip(paths, relatives, strict=True)
    )
    is_plain = all(_PLAIN.fullmatch(relative) for relative in relatives)
    if not is_below:
        encoded = sf.substring_index(_path(), "/", -1)
    else:
        # Encoding never adds or drops a slash, so counting folders finds the root in any spelling.
        base = spark_uri(root or "")
        depth = len([part for part in base.partition("://")[2 if is_uri(base) else 0].split("/") if part])
        pattern = "^[A-Za-z][A-Za-z0-9+.-]*:/*(?:[^/]+/){" + str(depth) + "}(.*)$"
        encoded = sf.regexp_extract(_path(), pattern, 1)
    return encoded if is_plain else sf.url_decode(sf.replace(encoded, sf.lit("+"), sf.lit("%2B")))


def _attach(spark: SparkSession, df: DataFrame, files: Sequence[DataFile], columns: Sequence[Binding]) -> DataFrame:
    """Partition columns: constants when all files agree, otherwise looked up by file in a broadcast table."""
    if not columns:
        return df
    values = [tuple(file.partitions.get(column.stored) for column in columns) for file in files]
    if len(set(values)) == 1:
        return df.withColumns(
            {c.stored: sf.lit(v).cast(spark_type(c.type)) for c, v in zip(columns, values[0], strict=True)}
        )
    by_file = "__partition_file"
    rows = [(_normal(file.path), *value) for file, value in zip(files, values, strict=True)]
    schema = spark_types.StructType(
        [spark_types.StructField(by_file, spark_types.StringType())]
        + [spark_types.StructField(column.stored, spark_types.StringType()) for column in columns]
    )
    lookup = spark.createDataFrame(rows, schema)
    lookup = lookup.select(
        by_file, *(sf.col(_quoted(c.stored)).cast(spark_type(c.type)).alias(c.stored) for c in columns)
    )
    decoded = sf.url_decode(sf.replace(sf.col(_FILE), sf.lit("+"), sf.lit("%2B")))
    plain = all(_PLAIN.fullmatch(_normal(file.path)) for file in files)
    key = sf.regexp_replace(sf.col(_FILE) if plain else decoded, "^file:/+", "/")
    return df.join(sf.broadcast(lookup), key == sf.col(by_file), "inner")


def _normal(path: str) -> str:
    return spark_uri(path)
