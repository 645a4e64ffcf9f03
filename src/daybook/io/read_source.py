"""Reading a resolved dataset: declared columns in declared types, pinned or landed, checked against the declaration."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from daybook.engine.source import SourceFrame
from daybook.errors import DaybookError, Notice
from daybook.io.bindings import carried_types, needed_slices
from daybook.io.column_types import spark_data_type
from daybook.io.formats.files.parquet import ParquetFiles, find_parquet, read_parquet
from daybook.io.landing.area import LandingArea
from daybook.io.pins import DeltaPin, FilesPin, LandedPin, Pin, ReadPart, verify_pin
from daybook.model.definition import DatasetVersion
from daybook.resolve.locations.location import Location, Resolution

# Bytes of files; most tables that are joined for a rate or a name are below it.
_SMALL_BYTES = 1_000_000

_Pin = TypeVar("_Pin", DeltaPin, FilesPin, LandedPin)


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
    slices = needed_slices(dataset_version, resolution.periods)
    pins = list(pinned) if pinned is not None else None
    parts: list[ReadPart] = []
    parquet: list[ParquetFiles] = []
    landed: list[Location] = []
    for location in resolution.locations:
        match location.format:
            case "delta":
                from daybook.io.formats.delta.table import read_delta

                pin = _take_pin(pins, DeltaPin, location)
                parts.append(_with_period(read_delta(spark, location, dataset_version, slices, pin), location))
            case "parquet":
                pin_ = _take_pin(pins, FilesPin, location)
                parquet.append(find_parquet(location, dataset_version, slices, pin_))
            case _:
                landed.append(location)
    parts += read_parquet(spark, parquet)
    if landed:
        from daybook.io.landing.reader import read_landed
        from daybook.io.landing.request import LandingRequest

        request = LandingRequest(landed, dataset_version, landing, slices, workspace)
        parts.append(read_landed(spark, request, _take_pin(pins, LandedPin, landed[0])))
    return _union_parts(parts, resolution.periods)


def _take_pin(pins: list[Pin] | None, kind: type[_Pin], location: Location) -> _Pin | None:
    """The pin of a replay for this location."""
    if pins is None:
        return None
    for index, pin in enumerate(pins):
        # A landing is one for all of its locations.
        if isinstance(pin, kind) and getattr(pin, "uri", location.uri) == location.uri:
            del pins[index]
            return pin
    raise DaybookError("IO_009", location=location.uri or location.table, reason="the snapshot has no pin for it")


def _with_period(part: ReadPart, location: Location) -> ReadPart:
    """Rows of a location that belongs to one period may lack `_period`."""
    if location.period is None or "_period" in part.carried:
        return part
    df = part.df.withColumn("_period", F.lit(location.period.identifier))
    return replace(part, df=df, carried=part.carried | {"_period"})


def _union_parts(parts: Sequence[ReadPart], periods: tuple[str, ...]) -> ReadSource:
    carried = frozenset[str]().union(*(part.carried for part in parts))
    types = carried_types()
    frames = []
    for part in parts:
        lacking = {name: F.lit(None).cast(spark_data_type(types[name])) for name in sorted(carried - part.carried)}
        df = part.df.withColumns(lacking) if lacking else part.df
        frames.append(df)
    df = reduce(DataFrame.unionByName, frames)
    notices = tuple(dict.fromkeys(notice for part in parts for notice in part.notices))
    pins = tuple(pin for part in parts for pin in part.pins)
    sizes = tuple(size for part in parts for size in part.sizes)
    is_small = all(part.sizes for part in parts) and sum(sizes) <= _SMALL_BYTES
    return ReadSource(SourceFrame(df, carried, periods, is_small), pins, notices, sizes)
