"""Parquet files: every footer is checked against the declaration; files are pinned and read in their folder."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from daybook.errors import DaybookError, Notice, raise_all
from daybook.io.bindings import (
    Binding,
    Bindings,
    bind_columns,
    carried_types,
    extra_column_notices,
    is_slice_needed,
    missing_column_errors,
)
from daybook.io.column_types import arrow_type, partition_value_errors
from daybook.io.filesystem import FileStat, arrow_path, list_files, missing_files_error, partition_values, relative_to
from daybook.io.format import Format, ReadRequest
from daybook.io.formats.files.format import FilePart, FolderFormat
from daybook.io.formats.files.manifest import read_manifest
from daybook.io.formats.files.writer import FileWriter
from daybook.io.formats.parquet.scan import DataFile, scan_parquet, type_errors
from daybook.io.pins import FilesPin, ReadPart
from daybook.io.rows.stored import ParquetPart, StoredRows, parquet_rows
from daybook.io.target import FileTarget
from daybook.io.writer import declared_type_text
from daybook.model.definition import DatasetVersion
from daybook.model.types import STRING
from daybook.resolve.locations.location import Location

_FOOTER_READERS = 16


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
    location: Location, version: DatasetVersion, slices: frozenset[str] | None, pin: FilesPin | None
) -> ParquetFiles:
    uri = location.file_uri
    found = list_files(uri, location.root or uri)
    if not found and read_manifest(uri) is None:
        raise missing_files_error(uri)
    files = _needed_files(found, uri, slices)
    if pin is not None and tuple(files) != pin.files:
        raise DaybookError("IO_009", location=uri, reason="its files have changed")
    schemas = _read_schemas(list(files))
    partitions = frozenset(name for file in found for name in partition_values(relative_to(file.path, uri)))
    manifest = read_manifest(uri)
    promised = frozenset(manifest.columns) if manifest else frozenset[str]()
    stored = [*partitions, *(name for schema in schemas.values() for name in schema.names), *promised]
    bindings = bind_columns(stored, version, location)
    raise_all(_schema_errors(bindings, schemas, partitions | promised, files, uri))
    data = tuple(DataFile(file.path, values, file.size) for file, values in files.items())
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


def read_parquet(spark: SparkSession, found: Sequence[ParquetFiles]) -> Iterator[ReadPart]:
    """One scan for all locations that are alike: a year of monthly folders is one scan, not a union of twelve."""
    alike: dict[tuple[object, ...], list[ParquetFiles]] = {}
    for each in found:
        alike.setdefault(each.shape, []).append(each)
    for group in alike.values():
        first = group[0]
        files = [file for each in group for file in each.files]
        df = scan_parquet(spark, files, first.bindings, first.partitions, first.root)
        notices = tuple(notice for each in group for notice in each.notices)
        pins = tuple(each.pin for each in group)
        sizes = tuple(file.size for file in files)
        yield ReadPart(df, first.carried, pins, notices, sizes, any(each.may_repeat_ids for each in group))


def _with_period(found: ParquetFiles, location: Location) -> ParquetFiles:
    """Rows of a location that belongs to one period may lack `_period`: it is then like a partition's value."""
    if location.period is None or "_period" in found.carried:
        return found
    files = tuple(
        replace(file, partitions={**file.partitions, "_period": location.period.identifier}) for file in found.files
    )
    bindings = (*found.bindings, Binding("_period", "_period", STRING))
    return replace(found, files=files, bindings=bindings, partitions=found.partitions | {"_period"})


def _needed_files(
    found: Sequence[FileStat], uri: str, slices: frozenset[str] | None
) -> dict[FileStat, dict[str, str | None]]:
    values = {file: partition_values(relative_to(file.path, uri)) for file in found}
    return {file: partitions for file, partitions in values.items() if is_slice_needed(partitions, slices)}


def _read_schemas(files: Sequence[FileStat]) -> dict[str, pa.Schema]:
    with ThreadPoolExecutor(_FOOTER_READERS) as pool:
        return dict(zip((file.path for file in files), pool.map(_read_schema, files), strict=True))


def _read_schema(file: FileStat) -> pa.Schema:
    """The stored types; the old 96-bit timestamps, which Arrow shows as nanoseconds, are Spark's microseconds."""
    place = arrow_path(file.path)
    try:
        with place.system.open_input_file(place.path) as stream:
            parquet = pq.ParquetFile(stream)
            schema, columns = parquet.schema_arrow, parquet.schema
    except (OSError, pa.ArrowInvalid) as failure:
        raise DaybookError("IO_012", location=file.path, reason=str(failure)) from failure
    for index in range(len(columns)):
        column = columns.column(index)
        if column.physical_type == "INT96" and (position := schema.get_field_index(column.path)) >= 0:
            schema = schema.set(position, pa.field(column.path, pa.timestamp("us", tz="UTC")))
    return schema


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

    def write_parts(self, df: DataFrame, folder: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
        df.write.mode("error").parquet(str(folder))

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
        return parquet_rows(target.columns, [ParquetPart(part.path, part.constants) for part in parts], target.label)

    def read(self, spark: SparkSession, request: ReadRequest) -> Iterator[ReadPart]:
        found = []
        for each in request.locations:
            pin = each.pin if isinstance(each.pin, FilesPin) else None
            found.append(find_parquet(each.location, request.version, request.slices, pin))
        return read_parquet(spark, found)


FORMAT: Format = ParquetFormat()
