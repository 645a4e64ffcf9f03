"""Reading Parquet: every footer is checked against the declaration, the files are pinned."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from daybook.errors import DaybookError, raise_all
from daybook.io.column_types import stored_type_fits
from daybook.io.formats.files.manifest import read_manifest
from daybook.io.hive import partition_values
from daybook.io.pins import FilesPin
from daybook.io.place import FileStat, list_files, relative_to, store_of
from daybook.io.read_part import ReadPart
from daybook.io.scanning import DataFile, scan
from daybook.io.tables import Binding, Bindings, bind, extra_columns, is_needed, missing_columns
from daybook.io.text_values import check_partition_values
from daybook.model.catalog import DatasetVersion
from daybook.model.types import TIMESTAMP
from daybook.resolve.location import Location

_READERS = 16


def read_parquet(
    spark: SparkSession,
    location: Location,
    version: DatasetVersion,
    slices: frozenset[str] | None,
    pin: FilesPin | None,
) -> ReadPart:
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
    data = [DataFile(file.path, values) for file, values in files.items()]
    df = scan(spark, data, bindings.all, partitions, location.root or uri)
    carried = frozenset(binding.name for binding in bindings.carried)
    return ReadPart(df, carried, FilesPin(uri, tuple(files)), extra_columns(bindings.extra, uri))


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
