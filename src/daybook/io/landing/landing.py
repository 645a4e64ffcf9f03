"""Landing: sources that cannot be pinned become Parquet once, and are read from there."""

import contextlib
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from daybook.engine.path_pattern import literal
from daybook.engine.source import ORDINAL, PLACE
from daybook.errors import DaybookError
from daybook.io.formats.files.manifest import read_manifest
from daybook.io.hive import partition_values
from daybook.io.landing.area import Landed, LandingArea
from daybook.io.landing.csv_rows import CsvRows
from daybook.io.landing.json_rows import JsonRows
from daybook.io.landing.ordinals import identity_columns, place_of
from daybook.io.landing.rows import Batch, Given, RowSource, check_nulls
from daybook.io.landing.sink import IN_MEMORY_BYTES, Sink
from daybook.io.pins import LandedPin
from daybook.io.place import FileStat, list_files, readable, relative_to, spark_uri, store_of
from daybook.io.read_part import ReadPart
from daybook.io.scanning import spark_schema
from daybook.io.tables import Binding, carried_types, extra_columns, is_needed
from daybook.model.catalog import DatasetVersion
from daybook.resolve.location import Location

_LAYOUT = 1
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class _File:
    """A text file to be landed, as it was when it was found."""

    stat: FileStat
    digest: str
    location: Location
    given: Given


def read_landed(
    spark: SparkSession,
    locations: Sequence[Location],
    version: DatasetVersion,
    area: LandingArea,
    slices: frozenset[str] | None,
    workspace: Path,
    pin: LandedPin | None = None,
    memory_limit: int = IN_MEMORY_BYTES,
) -> ReadPart:
    """All locations as one landing, so that occurrence numbers count across files."""
    names = tuple(location.uri or f"{location.schema or ''}.{location.table}".lstrip(".") for location in locations)
    if pin is not None:
        landed = area.find(pin.folder)
        if landed is None:
            raise DaybookError("IO_009", location=", ".join(names), reason="its landing has been removed")
    else:
        landed = _land(spark, locations, version, area, slices, workspace, memory_limit)
    return _read(spark, landed, version, area, names)


def _land(
    spark: SparkSession,
    locations: Sequence[Location],
    version: DatasetVersion,
    area: LandingArea,
    slices: frozenset[str] | None,
    workspace: Path,
    memory_limit: int,
) -> Landed:
    files = [file for location in locations if location.uri for file in _files(location, slices)]
    databases = [location for location in locations if not location.uri]
    key = _key(files, databases, version, slices)
    folder = area.run_folder(key) if databases else area.file_folder(key)
    if (landed := area.find(folder)) is not None:
        return landed
    attempt = area.new_attempt(folder)
    columns = _columns(version)
    sink = Sink(area, attempt, columns, memory_limit)
    try:
        sources = [(_rows_of(file, version), file.location) for file in files]
        sources += [
            (
                _table_rows(spark, location, version, workspace, slices, f"{area.absolute(attempt)}/scratch-{number}"),
                location,
            )
            for number, location in enumerate(databases)
        ]
        carried = _named_by_folders(locations)
        extra: set[str] = set()
        for source, location in sources:
            for batch in _batches(source, location, columns):
                sink.add(batch)
            carried |= source.carried
            extra |= source.extra
            if location.period is not None:
                carried.add("_period")
        for file in files:
            if list_files(file.stat.path) != (file.stat,):
                raise DaybookError("IO_008", file=file.stat.path)
        declared = [column.name for column in version.dataset.main_table.columns]
        done, unique = sink.finish(spark, carried, declared, version.dataset.natural_key_columns)
        landed = Landed(folder, done, tuple(sorted(carried)), tuple(sorted(extra)), unique)
        area.publish(landed)
    except OSError as failure:
        _give_up(sink, area, attempt)
        raise DaybookError("IO_026", location=area.absolute(attempt), reason=str(failure)) from failure
    except BaseException:
        _give_up(sink, area, attempt)
        raise
    return landed


def _give_up(sink: Sink, area: LandingArea, attempt: str) -> None:
    """A full disk may refuse even to end the file that is thrown away."""
    with contextlib.suppress(OSError):
        sink.close()
    area.remove(attempt)


def _named_by_folders(locations: Sequence[Location]) -> set[str]:
    """System columns that folder names carry, those of slices nobody needs included."""
    found: set[str] = set()
    for location in locations:
        for stat in list_files(location.uri) if location.uri else ():
            found |= set(partition_values(relative_to(stat.path, location.uri)))
    return found & set(carried_types())


def _columns(version: DatasetVersion) -> tuple[Binding, ...]:
    declared = version.dataset.main_table.columns
    system = carried_types().items()
    return (
        *(Binding(column.name, column.name, column.type, column.nullable) for column in declared),
        *(Binding(name, name, type_) for name, type_ in system),
    )


def _batches(source: RowSource, location: Location, columns: tuple[Binding, ...]) -> Iterator[Batch]:
    period = location.period.identifier if location.period else None
    for batch in source.batches():
        check_nulls(batch, columns, source.name)
        if period is not None and "_period" not in batch.columns:
            column = pa.repeat(pa.scalar(period, pa.string()), batch.rows)
            batch = Batch({**batch.columns, "_period": column}, batch.rows, batch.where)
        yield batch


def _files(location: Location, slices: frozenset[str] | None) -> Iterator[_File]:
    uri = location.uri or ""
    found = list_files(uri)
    manifest = read_manifest(uri)
    if not found and manifest is None:
        raise DaybookError("IO_001", location=uri)
    promised = frozenset(manifest.columns) if manifest else frozenset[str]()
    for stat in found:
        values = partition_values(relative_to(stat.path, uri))
        if is_needed(values, slices):
            yield _File(stat, _digest(stat.path), location, Given(values, promised))


def _digest(path: str) -> str:
    place = store_of(path)
    digest = hashlib.blake2b(digest_size=20)
    with readable(path), place.system.open_input_stream(place.path, compression=None) as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _rows_of(file: _File, version: DatasetVersion) -> RowSource:
    rows = CsvRows if file.location.format == "csv" else JsonRows
    return rows(file.stat.path, file.location, version, file.given)


def _table_rows(
    spark: SparkSession,
    location: Location,
    version: DatasetVersion,
    workspace: Path,
    slices: frozenset[str] | None,
    scratch: str,
) -> RowSource:
    match location.format:
        case "postgresql":
            from daybook.io.formats.postgresql.reading import PostgresqlRows

            return PostgresqlRows(location, version, workspace, slices)
        case "sqlite":
            from daybook.io.formats.sqlite.reading import SqliteRows

            return SqliteRows(location, version, workspace, slices)
        case "jdbc":
            from daybook.io.formats.jdbc.reading import JdbcRows

            return JdbcRows(spark, location, version, workspace, scratch)
        case _:
            raise ValueError(f"{location.format} has no tables")


def _key(
    files: Sequence[_File], databases: Sequence[Location], version: DatasetVersion, slices: frozenset[str] | None
) -> str:
    """What a landing depends on: the data, the declaration and how it is read."""
    dataset = version.dataset
    content: dict[str, Any] = {
        "layout": _LAYOUT,
        "columns": [[c.name, str(c.type), c.nullable] for c in dataset.main_table.columns],
        "temporal_mode": dataset.main_table.temporal_mode,
        "natural_key": list(dataset.natural_key_columns),
        "files": [
            [
                file.stat.path,
                file.stat.size,
                file.stat.modified_ns,
                file.digest,
                file.location.format,
                sorted(map(str, file.location.options.items())),
                file.location.datasource.model_dump_json() if file.location.datasource else None,
                file.location.period.identifier if file.location.period else None,
                sorted(file.given.promised),
            ]
            for file in files
        ],
        "slices": sorted(slices or ()) if databases else [],
        "tables": [
            [
                at.datasource.id if at.datasource else None,
                at.schema,
                at.table,
                at.period.identifier if at.period else None,
            ]
            for at in databases
        ],
    }
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=16).hexdigest()


def _read(
    spark: SparkSession, landed: Landed, version: DatasetVersion, area: LandingArea, names: tuple[str, ...]
) -> ReadPart:
    declared = {column.name for column in version.dataset.main_table.columns}
    columns = [column for column in _columns(version) if column.name in declared or column.name in landed.carried]
    schema = spark_schema(columns, with_ordinal=not landed.is_unique)
    df = spark.read.schema(schema).parquet(*(literal(spark_uri(area.absolute(file.path))) for file in landed.files))
    if landed.is_unique:
        df = df.withColumn(ORDINAL, sf.lit(0).cast("bigint"))
    df = df.withColumn(PLACE, place_of(identity_columns(columns, version.dataset.natural_key_columns)))
    location = ", ".join(names)
    pin = LandedPin(names, landed.folder, landed.rows)
    return ReadPart(df, frozenset(landed.carried), (pin,), extra_columns(landed.extra, location))
