"""Reading Parquet: every footer is checked against the declaration, the files are pinned."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from daybook.errors import DaybookError, Notice, raise_all
from daybook.io.column_types import stored_type_fits
from daybook.io.formats.files.manifest import read_manifest
from daybook.io.hive import partition_values
from daybook.io.pins import FilesPin
from daybook.io.place import FileStat, list_files, relative_to, store_of
from daybook.io.read_part import ReadPart
from daybook.io.scanning import DataFile, scan
from daybook.io.tables import Binding, Bindings, bind, carried_types, extra_columns, is_needed, missing_columns
from daybook.io.text_values import check_partition_values
from daybook.model.catalog import DatasetVersion
from daybook.model.types import STRING, TIMESTAMP
from daybook.resolve.location import Location

_READERS = 16


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    """The files of a location, found and checked; those of several locations may be read by one scan."""

    files: tuple[DataFile, ...]
    bindings: tuple[Binding, ...]
    partitions: frozenset[str]
    root: str
    pin: FilesPin
    notices: tuple[Notice, ...]

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
    uri = location.uri or ""
    found = list_files(uri)
    if not found and read_manifest(uri) is None:
        raise DaybookError("IO_001", location=uri)
    files = _needed(found, uri, slices)
    if pin is not None and tuple(files) != pin.files:
        raise DaybookError("IO_009", location=uri, reason="its files have changed")
    schemas = _schemas(list(files))
    partitions = frozenset(name for file in found for name in partition_values(relative_to(file.path, uri)))
    manifest = read_manifest(uri)
    promised = frozenset(manifest.columns) if manifest else frozenset[str]()
    stored = [*partitions, *(name for schema in schemas.values() for name in schema.names), *promised]
    bindings = bind(stored, version, location)
    raise_all(_findings(bindings, schemas, partitions | promised, files, uri))
    data = tuple(DataFile(file.path, values, file.size) for file, values in files.items())
    notices = extra_columns(bindings.extra, uri)
    found_files = ParquetFiles(
        data, bindings.all, partitions, location.root or uri, FilesPin(uri, tuple(files)), notices
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
        df = scan(spark, files, first.bindings, first.partitions, first.root)
        notices = tuple(notice for each in group for notice in each.notices)
        pins = tuple(each.pin for each in group)
        yield ReadPart(df, first.carried, pins, notices, tuple(file.size for file in files))


def _with_period(found: ParquetFiles, location: Location) -> ParquetFiles:
    """Rows of a location that belongs to one period may lack `_period`: it is then like a partition's value."""
    if location.period is None or "_period" in found.carried:
        return found
    files = tuple(
        replace(file, partitions={**file.partitions, "_period": location.period.identifier}) for file in found.files
    )
    bindings = (*found.bindings, Binding("_period", "_period", STRING))
    return replace(found, files=files, bindings=bindings, partitions=found.partitions | {"_period"})


def _needed(
    found: Sequence[FileStat], uri: str, slices: frozenset[str] | None
) -> dict[FileStat, dict[str, str | None]]:
    values = {file: partition_values(relative_to(file.path, uri)) for file in found}
    return {file: partitions for file, partitions in values.items() if is_needed(partitions, slices)}


def _schemas(files: Sequence[FileStat]) -> dict[str, pa.Schema]:
    with ThreadPoolExecutor(_READERS) as pool:
        return dict(zip((file.path for file in files), pool.map(_schema, files), strict=True))


def _schema(file: FileStat) -> pa.Schema:
    """The stored types; the old 96-bit timestamps, which Arrow shows as nanoseconds, are Spark's microseconds."""
    place = store_of(file.path)
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


def _findings(
    bindings: Bindings,
    schemas: Mapping[str, pa.Schema],
    elsewhere: frozenset[str],
    files: Mapping[FileStat, Mapping[str, str | None]],
    uri: str,
) -> list[DaybookError]:
    if bindings.missing and schemas:
        return missing_columns(bindings, uri)
    errors = []
    for path, schema in schemas.items():
        lacking = [b.stored for b in bindings.declared if b.stored not in elsewhere and b.stored not in schema.names]
        errors += [DaybookError("IO_002", file=path, column=name) for name in lacking]
        doubled = {b.stored for b in bindings.all if schema.names.count(b.stored) > 1}
        errors += [DaybookError("IO_014", file=path, column=name) for name in sorted(doubled)]
        errors += type_findings(bindings.all, schema, path)
    for values in files.values():
        errors += check_partition_values(bindings.all, values, uri)
    return errors


def type_findings(bindings: Sequence[Binding], schema: pa.Schema, file: str) -> list[DaybookError]:
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
