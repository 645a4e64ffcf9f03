"""Parquet files: every footer is checked against the declaration; files are pinned and read in their folder.

They become one DataFrame with partition values and the position of each row in its file.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from daybook.engine.context import (
    ORDINAL_COLUMN,
    ORIGIN_COLUMN,
    SourceRows,
    aliased_sql,
    literal_path_pattern,
    period_column,
)
from daybook.errors import DaybookError, Notice, raise_all
from daybook.expression import quote_identifier, quote_literal
from daybook.expression import spark_type as sql_type
from daybook.io.bindings import (
    Binding,
    Bindings,
    bind_columns,
    carried_types,
    extra_column_notices,
    is_slice_needed,
    missing_column_errors,
)
from daybook.io.column_types import arrow_type, partition_value_errors, spark_data_type, stored_type_fits
from daybook.io.data_files import DataFile, TableFiles
from daybook.io.filesystem import (
    FileStat,
    absolute_uri,
    arrow_path,
    is_uri,
    list_files,
    missing_files_error,
    partition_values,
    relative_to,
    spark_uri,
)
from daybook.io.format import Format, PinnedLocation, ReadRequest
from daybook.io.formats.files.format import FilePart, FileWriter, FolderFormat
from daybook.io.formats.files.manifest import read_manifest
from daybook.io.pins import FilesPin, ReadPart
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.io.stored_rows import ParquetPart, StoredRows, parquet_rows
from daybook.io.target import FileTarget
from daybook.io.writer import declared_type_text
from daybook.model.definition import DatasetVersion
from daybook.model.types import INTEGER, STRING, TIMESTAMP
from daybook.resolve.location import Location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Characters that stand for themselves in the URIs Spark reports.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_./=-]*")
_FILE_COLUMN = "__file"
_PARTITION_FILE_COLUMN = "__partition_file"
_DELETED_FILE, _DELETED_ROW = "__daybook_deleted_file", "__daybook_deleted_row"
_PATH_SQL = "_metadata.file_path"
# Where Spark keeps the field id of a column of a Parquet file.
FIELD_ID = "parquet.field.id"


def known_periods(files: Iterable[DataFile], carried: frozenset[str]) -> frozenset[str] | None:
    """The periods of all rows, if each file has one and it is known."""
    column = period_column(carried)
    periods: set[str] = set()
    for file in files:
        if (period := file.period(column)) is None:
            return None
        periods.add(period)
    return frozenset(periods)


def scan_parquet(
    spark: "SparkSession",
    files: Sequence[DataFile],
    bindings: Sequence[Binding],
    partitions: frozenset[str],
    root: str | None,
    storage: Storage = PROVIDER_STORAGE,
    *,
    field_ids: Mapping[str, int] | None = None,
    deleted: Mapping[str, pa.Array] | None = None,
) -> SourceRows:
    """The bound columns of all files; no files give an empty frame.

    With `field_ids`, stored columns are found by them, whatever their names in a file. The rows `deleted`, by file
    and position, are left out.
    """
    from pyspark.sql import types as spark_types

    if not files:
        return SourceRows.of(_empty_frame(spark, bindings))
    stored = {binding.stored: binding for binding in bindings if binding.stored not in partitions}
    schema = spark_types.StructType(
        [
            spark_types.StructField(
                name,
                spark_data_type(binding.type),
                metadata=None if field_ids is None else {FIELD_ID: field_ids[binding.stored]},
            )
            for name, binding in stored.items()
        ]
    )
    reader = spark.read.options(**storage.spark_options(*(file.path for file in files))).schema(schema)
    df = reader.parquet(*(literal_path_pattern(spark_uri(file.path, storage)) for file in files))
    if field_ids is not None:
        df = _without_field_ids(df, stored)
    if deleted:
        df = _without_deleted(spark, df, files, deleted)
    identity = {
        ORIGIN_COLUMN: _relative_path_sql([file.path for file in files], root),
        ORDINAL_COLUMN: "_metadata.row_index",
    }
    attached = [binding for binding in bindings if binding.stored in partitions]
    values = [tuple(file.partitions.get(binding.stored) for binding in attached) for file in files]
    columns = {binding.name: quote_identifier(binding.stored) for binding in bindings}
    if len(set(values)) == 1:
        columns |= {b.name: _partition_value_sql(value, b) for b, value in zip(attached, values[0], strict=True)}
        # One text, since every call to Spark takes time.
        return SourceRows(
            lambda: df.selectExpr(*aliased_sql({**columns, **identity})), lambda: df.selectExpr(*aliased_sql(columns))
        )
    file = f"{_file_key_sql(files)} AS {_FILE_COLUMN}"
    lookup = _partition_values(spark, files, values, attached)

    def identified() -> "DataFrame":
        joined = _join_by_file(df.selectExpr("*", *aliased_sql(identity), file), lookup)
        return joined.selectExpr(*aliased_sql({**columns, **{name: name for name in identity}}))

    return SourceRows(
        identified, lambda: _join_by_file(df.selectExpr("*", file), lookup).selectExpr(*aliased_sql(columns))
    )


def _without_field_ids(df: "DataFrame", names: Iterable[str]) -> "DataFrame":
    """The same columns, so that an output does not write the field ids of what it was read from into its files.

    Spark drops a projection that changes nothing but empties the metadata of a column, so it gets other metadata.
    """
    from pyspark.sql import functions as F

    columns = (F.col(quote_identifier(name)).alias(name, metadata={"daybook.source": name}) for name in names)
    return df.select(*columns, F.col("_metadata"))


def _without_deleted(
    spark: "SparkSession", df: "DataFrame", files: Sequence[DataFile], deleted: Mapping[str, pa.Array]
) -> "DataFrame":
    from pyspark.sql import functions as F

    texts = [pa.array([_normalized_path(path)] * len(rows), pa.string()) for path, rows in deleted.items()]
    positions = {_DELETED_FILE: pa.chunked_array(texts), _DELETED_ROW: pa.chunked_array(list(deleted.values()))}
    lookup = spark.createDataFrame(pa.table(positions))
    with_metadata = df if "_metadata" in df.columns else df.selectExpr("*", "_metadata")
    is_deleted = (F.expr(_file_key_sql(files)) == F.col(_DELETED_FILE)) & (
        F.col("_metadata.row_index") == F.col(_DELETED_ROW)
    )
    return with_metadata.join(F.broadcast(lookup), is_deleted, "left_anti")


def _empty_frame(spark: "SparkSession", bindings: Sequence[Binding]) -> "DataFrame":
    types = {**{binding.name: binding.type for binding in bindings}, ORDINAL_COLUMN: INTEGER, ORIGIN_COLUMN: STRING}
    return spark.range(0).selectExpr(
        *aliased_sql({name: f"CAST(NULL AS {sql_type(type_)})" for name, type_ in types.items()})
    )


def _relative_path_sql(paths: Sequence[str], root: str | None) -> str:
    """The file's path below `root`, decoded, as SQL; its bare name when there is no root or it lies elsewhere."""
    relatives = [relative_to(path, root) for path in paths]
    is_below = root is not None and all(
        path.endswith("/" + relative) and path.startswith(absolute_uri(root) + "/")
        for path, relative in zip(paths, relatives, strict=True)
    )
    if not is_below:
        encoded = f"substring_index({_PATH_SQL}, '/', -1)"
    else:
        # Encoding never adds or drops a slash, so counting folders finds the root in any spelling.
        base = absolute_uri(root or "")
        depth = len([part for part in base.partition("://")[2 if is_uri(base) else 0].split("/") if part])
        pattern = "^[A-Za-z][A-Za-z0-9+.-]*:/*(?:[^/]+/){" + str(depth) + "}(.*)$"
        encoded = f"regexp_extract({_PATH_SQL}, {quote_literal(pattern, STRING)}, 1)"
    return _decoded_sql(encoded, relatives)


def _file_key_sql(files: Sequence[DataFile]) -> str:
    """SQL of a file's path as `_normalized_path` writes it."""
    decoded = _decoded_sql(_PATH_SQL, [_normalized_path(file.path) for file in files])
    return f"regexp_replace({decoded}, '^[A-Za-z][A-Za-z0-9+.-]*:/+', '/')"


def _decoded_sql(encoded: str, paths: Sequence[str]) -> str:
    is_plain = all(_PLAIN_PATH.fullmatch(path) for path in paths)
    return encoded if is_plain else f"url_decode(replace({encoded}, '+', '%2B'))"


def _partition_value_sql(text: str | None, binding: Binding) -> str:
    return f"CAST({quote_literal(text, STRING)} AS {sql_type(binding.type)})"


def _partition_values(
    spark: "SparkSession",
    files: Sequence[DataFile],
    values: Sequence[tuple[str | None, ...]],
    columns: Sequence[Binding],
) -> "DataFrame":
    """Partition columns that differ between files, by file."""
    texts: dict[str, list[str | None]] = {_PARTITION_FILE_COLUMN: [_normalized_path(file.path) for file in files]}
    texts |= {column.stored: [value[index] for value in values] for index, column in enumerate(columns)}
    # Of an Arrow table Spark makes a constant; rows of Python would start Python workers.
    rows = pa.table({name: pa.array(column_texts, pa.string()) for name, column_texts in texts.items()})
    typed = {c.stored: f"CAST({quote_identifier(c.stored)} AS {sql_type(c.type)})" for c in columns}
    return spark.createDataFrame(rows).selectExpr(_PARTITION_FILE_COLUMN, *aliased_sql(typed))


def _join_by_file(df: "DataFrame", lookup: "DataFrame") -> "DataFrame":
    from pyspark.sql import functions as F

    return df.join(F.broadcast(lookup), F.col(_FILE_COLUMN) == F.col(_PARTITION_FILE_COLUMN), "inner")


def _normalized_path(path: str) -> str:
    """Without the scheme, which Spark and users write in different ways."""
    return f"/{path.partition('://')[2]}" if is_uri(path) else path


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


_FOOTER_READERS = 16
# Fewer footers of local files are read sooner than threads are started.
_FEW_FILES = 32


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    """The files of a location, found and checked; those of several locations may be read by one scan."""

    files: tuple[DataFile, ...]
    bindings: tuple[Binding, ...]
    partitions: frozenset[str]
    root: str
    pin: FilesPin
    notices: tuple[Notice, ...]
    may_repeat_ids: bool = False

    @property
    def shape(self) -> tuple[object, ...]:
        """What one scan has once."""
        return self.bindings, self.partitions, self.root

    @property
    def carried(self) -> frozenset[str]:
        return frozenset(binding.name for binding in self.bindings).intersection(carried_types())


def find_parquet(
    location: Location,
    version: DatasetVersion,
    slices: frozenset[str] | None,
    pin: FilesPin | None,
    storage: Storage = PROVIDER_STORAGE,
) -> ParquetFiles:
    uri = location.file_uri
    stats = list_files(uri, location.root or uri, storage)
    if not stats and read_manifest(uri) is None:
        raise missing_files_error(uri)
    files = _needed_files(stats, uri, slices)
    if pin is not None and tuple(files) != pin.files:
        raise DaybookError("IO_009", location=uri, reason="its files have changed")
    footers = _read_footers(list(files), storage)
    schemas = {path: footer.schema for path, footer in footers.items()}
    manifest = read_manifest(uri)
    partitions = frozenset(name for file in stats for name in partition_values(relative_to(file.path, uri)))
    promised = frozenset(manifest.columns) if manifest else frozenset[str]()
    stored = [*partitions, *(name for schema in schemas.values() for name in schema.names), *promised]
    bindings = bind_columns(stored, version, location)
    raise_all(_schema_errors(bindings, schemas, partitions | promised, files, uri))
    data = tuple(
        DataFile(file.path, values, file.size, footers[file.path].only_period) for file, values in files.items()
    )
    notices = extra_column_notices(bindings.extra, uri)
    found_files = ParquetFiles(
        data,
        bindings.all,
        partitions,
        location.root or uri,
        FilesPin(uri, tuple(files)),
        notices,
        manifest is not None and manifest.has_appended_slice(slices),
    )
    return _with_period(found_files, location)


def read_parquet(
    spark: "SparkSession", locations: Sequence[ParquetFiles], storage: Storage = PROVIDER_STORAGE
) -> Iterator[ReadPart]:
    """One scan for all locations that are alike: a year of monthly folders is one scan, not a union of twelve."""
    alike: dict[tuple[object, ...], list[ParquetFiles]] = {}
    for files_of_location in locations:
        alike.setdefault(files_of_location.shape, []).append(files_of_location)
    for group in alike.values():
        first = group[0]
        files = [file for files_of_location in group for file in files_of_location.files]
        rows = scan_parquet(spark, files, first.bindings, first.partitions, first.root, storage)
        notices = tuple(notice for files_of_location in group for notice in files_of_location.notices)
        pins = tuple(files_of_location.pin for files_of_location in group)
        sizes = tuple(file.size for file in files)
        may_repeat_ids = any(files_of_location.may_repeat_ids for files_of_location in group)
        periods = known_periods(files, first.carried)
        yield ReadPart(rows, first.carried, pins, notices, sizes, may_repeat_ids, known_periods=periods)


def _with_period(parquet_files: ParquetFiles, location: Location) -> ParquetFiles:
    """Rows of a location that belongs to one period may lack `_period`: it is then like a partition's value."""
    if location.period is None or "_period" in parquet_files.carried:
        return parquet_files
    files = tuple(
        replace(file, partitions={**file.partitions, "_period": location.period.identifier})
        for file in parquet_files.files
    )
    bindings = (*parquet_files.bindings, Binding("_period", "_period", STRING))
    return replace(parquet_files, files=files, bindings=bindings, partitions=parquet_files.partitions | {"_period"})


def _needed_files(
    stats: Sequence[FileStat], uri: str, slices: frozenset[str] | None
) -> dict[FileStat, dict[str, str | None]]:
    values = {file: partition_values(relative_to(file.path, uri)) for file in stats}
    return {file: partitions for file, partitions in values.items() if is_slice_needed(partitions, slices)}


@dataclass(frozen=True, slots=True)
class _Footer:
    """What the end of a file says: the stored types, and the one period of all its rows if there is no other."""

    schema: pa.Schema
    only_period: str | None


def _read_footers(files: Sequence[FileStat], storage: Storage) -> dict[str, _Footer]:
    if len(files) <= _FEW_FILES and not any(is_uri(file.path) for file in files):
        return {file.path: _read_footer(file, storage) for file in files}
    with ThreadPoolExecutor(_FOOTER_READERS) as pool:
        footers = pool.map(lambda file: _read_footer(file, storage), files)
        return dict(zip((file.path for file in files), footers, strict=True))


def _read_footer(file: FileStat, storage: Storage) -> _Footer:
    place = arrow_path(file.path, storage)
    try:
        with place.system.open_input_file(place.path) as stream:
            parquet = pq.ParquetFile(stream)
            return _Footer(_stored_schema(parquet), _only_period(parquet.metadata))
    except (OSError, pa.ArrowInvalid) as failure:
        raise DaybookError("IO_012", location=file.path, reason=str(failure)) from failure


def _stored_schema(parquet: pq.ParquetFile) -> pa.Schema:
    """The stored types; the old 96-bit timestamps, which Arrow shows as nanoseconds, are Spark's microseconds."""
    schema, columns = parquet.schema_arrow, parquet.schema
    for index in range(len(columns)):
        column = columns.column(index)
        if column.physical_type == "INT96" and (position := schema.get_field_index(column.path)) >= 0:
            schema = schema.set(position, pa.field(column.path, pa.timestamp("us", tz="UTC")))
    return schema


def _only_period(metadata: pq.FileMetaData) -> str | None:
    """What all rows have in the column `_period`, where the smallest and the largest value are the same."""
    names = [metadata.schema.column(index).path for index in range(metadata.num_columns)]
    if "_period" not in names:
        return None
    column = names.index("_period")
    values: set[object] = set()
    for number in range(metadata.num_row_groups):
        statistics = metadata.row_group(number).column(column).statistics
        if statistics is None or not (statistics.has_min_max and statistics.has_null_count) or statistics.null_count:
            return None
        values |= {statistics.min, statistics.max}
        if len(values) > 1:
            return None
    period = values.pop() if values else None
    return period if isinstance(period, str) else None


def _schema_errors(
    bindings: Bindings,
    schemas: Mapping[str, pa.Schema],
    elsewhere: frozenset[str],
    files: Mapping[FileStat, Mapping[str, str | None]],
    uri: str,
) -> list[DaybookError]:
    if bindings.missing and schemas:
        return missing_column_errors(bindings, uri)
    errors = []
    for path, schema in schemas.items():
        lacking = [b.stored for b in bindings.declared if b.stored not in elsewhere and b.stored not in schema.names]
        errors += [DaybookError("IO_002", file=path, column=name) for name in lacking]
        doubled = {b.stored for b in bindings.all if schema.names.count(b.stored) > 1}
        errors += [DaybookError("IO_014", file=path, column=name) for name in sorted(doubled)]
        errors += type_errors(bindings.all, schema, path)
    for values in files.values():
        errors += partition_value_errors(bindings.all, values, uri)
    return errors


class ParquetWriter(FileWriter):
    extensions = (".parquet", ".parq", ".pq")

    def write_parts(self, df: "DataFrame", folder: str, target: FileTarget, options: Mapping[str, Any]) -> None:
        df.write.options(**target.storage.spark_options(target.uri)).mode("error").parquet(folder)

    def join_parts(self, parts: Sequence[Path], file: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
        schema = pa.schema([(column.name, arrow_type(column.type)) for column in target.columns])
        with pq.ParquetWriter(file, schema) as writer:
            for part in parts:
                for batch in pq.ParquetFile(part).iter_batches():
                    writer.write_batch(batch.cast(schema))

    def row_count(self, file: Path) -> int:
        return int(pq.read_metadata(file).num_rows)

    def stored_columns(self, file: Path) -> Mapping[str, str] | None:
        return {field.name: declared_type_text(field.type) for field in pq.read_schema(file)}


class ParquetFormat(FolderFormat):
    name = "parquet"
    is_landed = False

    @cached_property
    def writer(self) -> ParquetWriter:
        return ParquetWriter()

    def stored_rows(self, target: FileTarget, parts: Sequence[FilePart]) -> StoredRows:
        return parquet_rows(
            target.columns, [ParquetPart(part.path, part.constants, target.storage) for part in parts], target.label
        )

    def read(self, spark: "SparkSession", request: ReadRequest) -> Iterator[ReadPart]:
        return read_parquet(spark, [_find(pinned, request) for pinned in request.locations], request.storage)

    def table_files(self, location: PinnedLocation, request: ReadRequest) -> TableFiles:
        folder = _find(location, request)
        return TableFiles(folder.files, folder.bindings, folder.partitions, folder.root, folder.may_repeat_ids)


def _find(pinned_location: PinnedLocation, request: ReadRequest) -> ParquetFiles:
    pin = pinned_location.pin if isinstance(pinned_location.pin, FilesPin) else None
    return find_parquet(pinned_location.location, request.version, request.slices, pin, request.storage)


FORMAT: Format = ParquetFormat()
