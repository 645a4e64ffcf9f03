"""Reads a resolved dataset: declared columns with declared types, pinned or landed, checked against the declaration."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import assert_never

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from daybook.engine.source import ORDINAL_COLUMN, ORIGIN_COLUMN, POSITION_COLUMN, SourceFrame
from daybook.errors import DaybookError, Notice
from daybook.io.bindings import carried_types, needed_slices
from daybook.io.column_types import arrow_frame, arrow_type, spark_data_type
from daybook.io.format import PinnedLocation, ReadRequest
from daybook.io.landing.area import LandingArea
from daybook.io.landing.reader import read_landed
from daybook.io.landing.request import LandingRequest
from daybook.io.location_checks import refuse_repeated_locations
from daybook.io.pins import FilesPin, LandedPin, Pin, ReadPart, TablePin, verify_files
from daybook.io.registry import format_named
from daybook.io.repeated_keys import find_repeated_by_spark, is_asked_for, report_repeated
from daybook.model.definition import DatasetVersion
from daybook.model.types import DATE, RUN_PERIOD_COLUMN, STRING, ColumnType
from daybook.resolve.locations.location import Location, Resolution

# Bytes of files; most tables that are joined for a rate or a name are below it.
_SMALL_BYTES = 1_000_000
_MAX_NAMED_LOCATIONS = 3


@dataclass(frozen=True)
class ReadSource:
    """A dataset as the engine takes it, and what it was read from."""

    frame: SourceFrame
    pins: tuple[Pin, ...]
    notices: tuple[Notice, ...]
    # Of the files that Spark is going to read, as far as they are known.
    sizes: tuple[int, ...] = ()

    def verify_pins(self) -> None:
        """IO_008 when an input changed since it was read; to be called before a commit."""
        for pin in self.pins:
            verify_pin(pin)


def read_source(
    spark: SparkSession,
    resolution: Resolution,
    dataset_version: DatasetVersion,
    landing: LandingArea,
    *,
    workspace: Path = Path(),
    pinned: Sequence[Pin] | None = None,
) -> ReadSource:
    """All locations of a resolution as one frame; `pinned` reads the data of an earlier run or fails with IO_009."""
    refuse_repeated_locations(resolution, workspace)
    slices = needed_slices(dataset_version, resolution.periods)
    pins = list(pinned) if pinned is not None else None
    groups: dict[tuple[object, ...], list[Location]] = {}
    for location in resolution.locations:
        groups.setdefault((location.slices, location.without), []).append(location)
    parts: list[ReadPart] = []
    for locations in groups.values():
        request = LandingRequest(locations, dataset_version, landing, slices, workspace)
        parts += [_with_slices(part, locations[0]) for part in _read_group(spark, request, pins)]
    if not parts:
        parts.append(_empty_part(spark, dataset_version))
    source = _union_parts(parts, resolution)
    is_direct = any(not format_named(location.format).is_landed for location in resolution.locations)
    if not is_direct or not is_asked_for(dataset_version.dataset):
        return source
    names = ", ".join(location.uri or "" for location in resolution.locations[:_MAX_NAMED_LOCATIONS])
    frame = source.frame
    repeated = find_repeated_by_spark(frame.df, dataset_version.dataset, frame.carried, frame.periods)
    found = report_repeated(dataset_version.dataset, repeated, names)
    return replace(source, notices=(*source.notices, *found))


def _read_group(spark: SparkSession, wanted: LandingRequest, pins: list[Pin] | None) -> Iterator[ReadPart]:
    """The parts of some locations, format by format; those that are landed become one."""
    direct: dict[str, list[PinnedLocation]] = {}
    landed: list[Location] = []
    for location in wanted.locations:
        if format_named(location.format).is_landed:
            landed.append(location)
        else:
            direct.setdefault(location.format, []).append(PinnedLocation(location, _take_pin(pins, location)))
    for name, locations in direct.items():
        yield from format_named(name).read(spark, ReadRequest(tuple(locations), wanted.version, wanted.slices))
    if landed:
        yield read_landed(spark, replace(wanted, locations=landed), _take_landed_pin(pins, landed[0]))


def _with_slices(part: ReadPart, location: Location) -> ReadPart:
    """The rows of the slices that are read in this location, where others are read elsewhere."""
    column = next((name for name in (RUN_PERIOD_COLUMN, "_period") if name in part.carried), None)
    if column is None or (location.slices is None and not location.without):
        return part
    period = F.col(column)
    kept = period.isin(*location.slices) if location.slices is not None else ~period.isin(*location.without)
    return replace(part, df=part.df.where(kept | period.isNull() if location.slices is None else kept))


def _take_pin(pins: list[Pin] | None, location: Location) -> Pin | None:
    """The pin of a replay for this location."""
    return _take_first(pins, location, lambda pin: not isinstance(pin, LandedPin) and pin.uri == location.uri)


def _take_landed_pin(pins: list[Pin] | None, location: Location) -> LandedPin | None:
    """A landing is one for all of its locations."""
    pin = _take_first(pins, location, lambda pin: isinstance(pin, LandedPin))
    return pin if isinstance(pin, LandedPin) else None


def _take_first(pins: list[Pin] | None, location: Location, is_wanted: Callable[[Pin], bool]) -> Pin | None:
    if pins is None:
        return None
    for index, pin in enumerate(pins):
        if is_wanted(pin):
            return pins.pop(index)
    raise DaybookError("IO_009", location=location.uri or location.table, reason="the snapshot has no pin for it")


def verify_pin(pin: Pin) -> None:
    """IO_008 when the source is not what it was."""
    match pin:
        case TablePin():
            format_named(pin.version.format).verify_pin(pin)
        case FilesPin():
            verify_files(pin)
        case LandedPin():
            pass
        case _:
            assert_never(pin)


def _empty_part(spark: SparkSession, dataset_version: DatasetVersion) -> ReadPart:
    """No rows, for a window without a period that has data."""
    carried: dict[str, ColumnType] = {"_period": STRING, "_valid_from": DATE, "_valid_to": DATE}
    declared = {column.name: column.type for column in dataset_version.dataset.main_table.columns}
    fields = [pa.field(name, arrow_type(type_)) for name, type_ in {**declared, **carried}.items()]
    identity = [pa.field(ORIGIN_COLUMN, pa.string()), pa.field(ORDINAL_COLUMN, pa.int64())]
    table = pa.schema([*fields, *identity]).empty_table()
    return ReadPart(arrow_frame(spark, table), frozenset(carried), ())


def _union_parts(parts: Sequence[ReadPart], resolution: Resolution) -> ReadSource:
    carried = frozenset[str]().union(*(part.carried for part in parts))
    types = carried_types()
    has_positions = any(part.has_positions for part in parts)
    frames = []
    for part in parts:
        lacking: dict[str, Column] = {
            name: F.lit(None).cast(spark_data_type(types[name])) for name in sorted(carried - part.carried)
        }
        if has_positions and not part.has_positions:
            lacking[POSITION_COLUMN] = F.lit(None).cast("string")
        df = part.df.withColumns(lacking) if lacking else part.df
        frames.append(df)
    df = reduce(DataFrame.unionByName, frames)
    notices = tuple(dict.fromkeys(notice for part in parts for notice in part.notices))
    pins = tuple(pin for part in parts for pin in part.pins)
    sizes = tuple(size for part in parts for size in part.sizes)
    is_small = all(part.sizes for part in parts) and sum(sizes) <= _SMALL_BYTES
    may_repeat_ids = len(resolution.locations) > 1 or any(part.may_repeat_ids for part in parts)
    frame = SourceFrame(
        df,
        carried,
        resolution.periods,
        is_small,
        may_repeat_ids,
        resolution.as_of,
        resolution.row_period,
        has_positions,
    )
    return ReadSource(frame, pins, notices, sizes)
