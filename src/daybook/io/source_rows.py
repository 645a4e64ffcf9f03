"""Rows of a resolved dataset, read without Spark: as tuples, each with where it stands in its source."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from daybook.engine.context import ORDINAL_COLUMN
from daybook.io.bindings import Binding, needed_slices
from daybook.io.column_types import arrow_type
from daybook.io.data_files import DataFile, TableFiles, parquet_batches
from daybook.io.filesystem import absolute_uri, arrow_path, relative_to
from daybook.io.format import PinnedLocation, ReadRequest
from daybook.io.landing.area import LandingArea, PublishedLanding, identity_columns, occurrence_numbers
from daybook.io.landing.landing_request import LandingRequest
from daybook.io.location_checks import refuse_repeated_locations
from daybook.io.pins import LandedPin, Pin
from daybook.io.read_source import (
    has_appended_slices,
    land_without_session,
    landing_folder,
    landing_requests,
    take_landed_pin,
    take_pin,
)
from daybook.io.registry import format_named
from daybook.io.storage import Storage
from daybook.model.definition import DatasetVersion
from daybook.model.types import RUN_PERIOD_COLUMN, ColumnType
from daybook.resolve.location import Location, Resolution

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SourceRow = tuple[Any, ...]
# Landed rows are held in memory until they are written; beyond this size only Spark numbers equal rows.
_MEMORY_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class SourcePart:
    """Rows that are read alike. A row has the `names`, then its place and its number there.

    Of rows that were landed the place is None: it is a hash of the `identity` columns.
    """

    names: tuple[str, ...]
    identity: tuple[str, ...] | None
    batches: Callable[[], Iterator[Iterator[SourceRow]]]
    count: int


@dataclass(frozen=True, slots=True)
class StoredSource:
    """All rows of a dataset for a run; a row is a tuple of the `columns`, the `carried` ones, its place and number."""

    columns: Mapping[str, ColumnType]
    carried: tuple[str, ...]
    parts: tuple[SourcePart, ...]
    may_repeat_ids: bool

    @property
    def identity(self) -> tuple[str, ...] | None:
        """The columns whose values are the place of a row; None where its file is."""
        return next((part.identity for part in self.parts), None)

    @property
    def count(self) -> int:
        """How many rows there are, before any time filter."""
        return sum(part.count for part in self.parts)

    def rows(self) -> Iterator[SourceRow]:
        names = (*self.columns, *self.carried)
        for part in self.parts:
            for batch in part.batches():
                yield from _in_order(batch, part.names, names)


def _in_order(rows: Iterator[SourceRow], own: Sequence[str], names: Sequence[str]) -> Iterator[SourceRow]:
    """Rows in the columns of all parts, NULL where a part has none."""
    if tuple(own) == tuple(names):
        return rows
    positions = [own.index(name) if name in own else None for name in names]
    return (
        (*(None if position is None else row[position] for position in positions), row[-2], row[-1]) for row in rows
    )


def read_source_rows(
    resolution: Resolution,
    version: DatasetVersion,
    landings: Sequence[LandingArea],
    *,
    workspace: Path,
    pinned: Sequence[Pin] | None = None,
    spark: "SparkSession | None" = None,
) -> StoredSource:
    """The rows of a resolution; `pinned` reads the data of an earlier run or fails with IO_009.

    What is landed already is looked up in all of the `landings`; what is not becomes a landing of the last one. Tables
    that only a session reads are refused without one, with RECOMPUTE_001.
    """
    refuse_repeated_locations(resolution, workspace)
    pins = list(pinned) if pinned is not None else None
    slices = needed_slices(version, resolution.periods)
    parts: list[SourcePart] = []
    may_repeat_ids = len(resolution.locations) > 1
    for request in landing_requests(resolution, version, landings[-1], workspace):
        landed = [location for location in request.locations if format_named(location.format).is_landed]
        for location in request.locations:
            if location not in landed:
                read_request = ReadRequest((), version, slices, workspace, request.storage, landings[0])
                part, repeats = _stored_part(PinnedLocation(location, take_pin(pins, location)), read_request, spark)
                parts.append(_with_slices(part, request.locations[0]))
                may_repeat_ids = may_repeat_ids or repeats
        if landed:
            landed_request = replace(request, locations=landed, memory_limit=_MEMORY_BYTES)
            part, repeats = _landed_part(landed_request, landings, pins)
            parts.append(_with_slices(part, request.locations[0]))
            may_repeat_ids = may_repeat_ids or repeats
    types = {column.name: column.type for column in version.dataset.main_table.columns}
    system = dict.fromkeys(name for part in parts for name in part.names if name not in types)
    carried = tuple(system) if parts else ("_period", "_valid_from", "_valid_to")
    return StoredSource(types, carried, tuple(parts), may_repeat_ids)


def _landed_part(
    request: LandingRequest, landings: Sequence[LandingArea], pins: list[Pin] | None
) -> tuple[SourcePart, bool]:
    pin = take_landed_pin(pins, request.locations[0])
    for area in landings[:-1]:
        area_request = replace(request, area=area)
        if (landed := _find_landing(area_request, pin)) is not None:
            return _part_of_landing(area_request, landed), has_appended_slices(area_request, landed)
    landed = land_without_session(request, pin)
    return _part_of_landing(request, landed), has_appended_slices(request, landed)


def _find_landing(request: LandingRequest, pin: LandedPin | None) -> PublishedLanding | None:
    """What is landed already; databases are landed anew for every run."""
    if pin is not None:
        return request.area.find(pin.folder)
    has_databases = any(not location.uri for location in request.locations)
    return None if has_databases else request.area.find(landing_folder(request))


def _part_of_landing(request: LandingRequest, landed: PublishedLanding) -> SourcePart:
    dataset = request.version.dataset
    declared = {column.name for column in dataset.main_table.columns}
    columns = [column for column in request.columns if column.name in declared or column.name in landed.carried]
    identity = tuple(column.name for column in identity_columns(columns, dataset.natural_key_columns))

    def batches() -> Iterator[Iterator[SourceRow]]:
        for batch in request.area.batches(landed):
            values = [_values(batch.column(column.name).cast(arrow_type(column.type))) for column in columns]
            ordinals = [0] * batch.num_rows if landed.is_unique else _values(batch.column(ORDINAL_COLUMN))
            yield zip(*values, itertools.repeat(None, batch.num_rows), ordinals, strict=True)

    if not landed.is_unique and not landed.is_numbered:
        schema = pa.schema([(column.name, arrow_type(column.type)) for column in columns])
        stored = [batch.select(schema.names).cast(schema) for batch in request.area.batches(landed)]
        return _numbered_part(pa.Table.from_batches(stored, schema), columns, dataset.natural_key_columns)
    return SourcePart(tuple(column.name for column in columns), identity, batches, landed.rows)


def _numbered_part(rows: pa.Table, columns: Sequence[Binding], natural_key: Sequence[str]) -> SourcePart:
    """Rows in memory, which are numbered among equal ones."""
    identity = identity_columns(columns, natural_key)
    numbers = occurrence_numbers(rows, identity, columns) or [0] * rows.num_rows

    def batches() -> Iterator[Iterator[SourceRow]]:
        values = [_values(rows.column(column.name).combine_chunks()) for column in columns]
        yield zip(*values, itertools.repeat(None, rows.num_rows), numbers, strict=True)

    names = tuple(column.name for column in columns)
    return SourcePart(names, tuple(column.name for column in identity), batches, rows.num_rows)


def _stored_part(
    pinned_location: PinnedLocation, request: ReadRequest, spark: "SparkSession | None"
) -> tuple[SourcePart, bool]:
    """The files of a location that are read where they lie, or the rows that only a session gives."""
    location = pinned_location.location
    format_ = format_named(location.format)
    if format_.needs_session and spark is not None:
        fetched = format_.fetch_rows(spark, pinned_location, request)
        part = _numbered_part(fetched.rows, fetched.bindings, request.version.dataset.natural_key_columns)
        return _with_period(part, location), fetched.may_repeat_ids
    table = format_.table_files(pinned_location, request)
    return _with_period(_part_of_files(table, request.storage), location), table.may_repeat_ids


def _part_of_files(table: TableFiles, storage: Storage) -> SourcePart:
    files, bindings, partitions, root = table.files, table.bindings, table.partitions, table.root
    places = _places([file.path for file in files], root)

    def batches() -> Iterator[Iterator[SourceRow]]:
        for file, place in zip(files, places, strict=True):
            first = 0
            for batch in parquet_batches(file.path, storage):
                ordinals = pa.array(range(first, first + batch.num_rows), pa.int64())
                first += batch.num_rows
                if file.deleted is not None:
                    is_kept = pc.invert(pc.is_in(ordinals, value_set=file.deleted))
                    batch, ordinals = batch.filter(is_kept), ordinals.filter(is_kept)
                values = [_column(batch, binding, partitions, file) for binding in bindings]
                yield zip(*values, itertools.repeat(place, batch.num_rows), ordinals.to_pylist(), strict=True)

    deleted = sum(0 if file.deleted is None else len(pc.unique(file.deleted)) for file in files)
    count = sum(_row_count(file.path, storage) for file in files) - deleted
    return SourcePart(tuple(binding.name for binding in bindings), None, batches, count)


def _column(batch: pa.RecordBatch, binding: Binding, partitions: frozenset[str], file: DataFile) -> Sequence[Any]:
    type_ = arrow_type(binding.type)
    name = file.name_of(binding.stored)
    if name is None or binding.stored in partitions or name not in batch.schema.names:
        value = pa.scalar(file.partitions.get(binding.stored), pa.string()).cast(type_).as_py()
        return [value] * batch.num_rows
    return _values(batch.column(name).cast(type_))


def _places(paths: Sequence[str], root: str) -> list[str]:
    """Every file by its path below the root; by its bare name where one of them lies elsewhere."""
    relatives = [relative_to(path, root) for path in paths]
    is_below = all(
        path.endswith("/" + relative) and path.startswith(f"{absolute_uri(root)}/")
        for path, relative in zip(paths, relatives, strict=True)
    )
    return relatives if is_below else [path.rpartition("/")[2] for path in paths]


def _row_count(path: str, storage: Storage) -> int:
    at = arrow_path(path, storage)
    with at.system.open_input_file(at.path) as stream:
        return int(pq.read_metadata(stream).num_rows)


def _values(array: pa.Array) -> list[Any]:
    """Python values; equal texts and decimals of a batch are one object, which saves most of the memory."""
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type) or pa.types.is_decimal(array.type):
        encoded = array.dictionary_encode()
        dictionary = [*encoded.dictionary.to_pylist(), None]
        indices = encoded.indices.fill_null(len(dictionary) - 1).to_pylist()
        return [dictionary[index] for index in indices]
    values: list[Any] = array.to_pylist()
    return values


def _with_period(part: SourcePart, location: Location) -> SourcePart:
    """Rows of a location that belongs to one period may lack `_period`, and totals that a run wrote there have none."""
    if "_period" in part.names:
        return part if location.null_period is None else _with_null_period(part, location.null_period)
    if location.period is None:
        return part
    period = location.period.identifier

    def batches() -> Iterator[Iterator[SourceRow]]:
        for batch in part.batches():
            yield ((*row[:-2], period, *row[-2:]) for row in batch)

    return replace(part, names=(*part.names, "_period"), batches=batches)


def _with_null_period(part: SourcePart, period: str) -> SourcePart:
    position = part.names.index("_period")

    def filled(row: SourceRow) -> SourceRow:
        return row if row[position] is not None else (*row[:position], period, *row[position + 1 :])

    def batches() -> Iterator[Iterator[SourceRow]]:
        return (map(filled, batch) for batch in part.batches())

    return replace(part, batches=batches)


def _with_slices(part: SourcePart, location: Location) -> SourcePart:
    """The rows of the slices that are read in this location, where others are read elsewhere."""
    column = next((name for name in (RUN_PERIOD_COLUMN, "_period") if name in part.names), None)
    if column is None or (location.slices is None and not location.without):
        return part
    position, slices, without = part.names.index(column), location.slices, location.without

    def is_kept(row: SourceRow) -> bool:
        period = row[position]
        return period in slices if slices is not None else period is None or period not in without

    def batches() -> Iterator[Iterator[SourceRow]]:
        return (filter(is_kept, batch) for batch in part.batches())

    return replace(part, batches=batches)
