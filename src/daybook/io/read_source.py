"""Reads a resolved dataset with its declared columns and types, at a pinned version or from a landed copy.

Sources that cannot be pinned are landed: copied once as Parquet.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from daybook.engine.context import (
    ORDINAL_COLUMN,
    ORIGIN_COLUMN,
    POSITION_COLUMN,
    SourceFrame,
    SourceRows,
    period_column,
)
from daybook.errors import DaybookError, Notice
from daybook.io.bindings import Binding, carried_types, extra_column_notices, needed_slices
from daybook.io.column_types import arrow_frame, arrow_type, spark_data_type
from daybook.io.format import PinnedLocation, ReadRequest
from daybook.io.formats.files.manifest import read_manifest
from daybook.io.landing.area import LandingArea, PublishedLanding, identity_columns, identity_hash, number_occurrences
from daybook.io.landing.batches import Batch, RowSource, check_nulls
from daybook.io.landing.landing_request import (
    LandingRequest,
    TextFile,
    columns_in_folder_names,
    find_text_files,
    landing_key,
)
from daybook.io.landing.repeated_keys import find_repeated_by_spark, is_asked_for, report_repeated
from daybook.io.location_checks import refuse_repeated_locations
from daybook.io.pins import FilesPin, LandedPin, Pin, PinnedFile, ReadPart, TablePin, TableState, verify_files
from daybook.io.registry import format_named
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.model.dataset import Dataset
from daybook.model.definition import DatasetVersion
from daybook.model.types import DATE, RUN_PERIOD_COLUMN, STRING, ColumnType
from daybook.resolve.location import Location, Resolution

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

# Files that are read again after they were landed, to find what was landed.
_AHEAD_BYTES = 8 << 20


def read_landed(spark: "SparkSession", request: LandingRequest, pin: LandedPin | None = None) -> ReadPart:
    """The landing of a request; with a pin the one an earlier run read, or IO_009."""
    if pin is not None and (pinned_landing := request.area.find(pin.folder)) is not None:
        return _read_landing(spark, pinned_landing, request, pin)
    reason = "its landing has been removed or changed"
    if pin is not None and any(not location.uri for location in request.locations):
        raise DaybookError("IO_009", location=", ".join(request.names), reason=reason)
    inputs = find_inputs(request)
    if pin is not None and not _has_content(inputs, pin):
        raise DaybookError("IO_009", location=", ".join(request.names), reason=f"{reason}, and so have its files")
    states = tuple(_table_states(request, inputs.databases))
    landed = request.area.find(inputs.folder) or _land(spark, request, inputs)
    files = tuple(PinnedFile(file.stat, file.digest) for file in inputs.files)
    return _read_landing(spark, landed, request, LandedPin(request.names, landed.folder, landed.rows, files, states))


def _table_states(request: LandingRequest, databases: Iterable[Location]) -> Iterator[TableState]:
    """What tables say of themselves before they are read, so that a change meanwhile is one that comes later."""
    rule = request.version.dataset.freshness
    for location in databases if rule is not None else ():
        state = format_named(location.format).table_state(location, rule.column, request.workspace) if rule else None
        if state is not None:
            yield state


@dataclass(frozen=True, slots=True)
class _Inputs:
    """What is to be landed, and the folder it is landed in, which depends on the content of files."""

    files: tuple[TextFile, ...]
    databases: tuple[Location, ...]
    folder: str


def find_inputs(request: LandingRequest) -> _Inputs:
    files = tuple(
        file
        for location in request.locations
        if location.uri
        for file in find_text_files(location, request.slices, request.storage)
    )
    databases = tuple(location for location in request.locations if not location.uri)
    key = landing_key(request, files, databases)
    folder = request.area.run_folder(key) if databases else request.area.file_folder(key)
    return _Inputs(files, databases, folder)


def _has_content(inputs: _Inputs, pin: LandedPin) -> bool:
    """Whether the files are those of a pin, also where they were copied: old pins have no digests."""
    if inputs.folder == pin.folder:
        return True
    contents = [(file.stat.size, file.digest) for file in inputs.files]
    return bool(contents) and contents == [(file.stat.size, file.digest) for file in pin.files if file.digest]


def land_ahead(request: LandingRequest) -> None:
    """Land small files while there is no session yet; what is wrong with them is said when they are read."""
    if request.area.needs_session or not request.locations or any(not location.uri for location in request.locations):
        return
    with contextlib.suppress(Exception):
        inputs = find_inputs(request)
        if sum(file.stat.size for file in inputs.files) <= _AHEAD_BYTES and request.area.find(inputs.folder) is None:
            _land(None, request, inputs)


def landing_folder(request: LandingRequest) -> str:
    """Where the files of a request are landed, which depends on their content."""
    return find_inputs(request).folder


def land_without_session(request: LandingRequest, pin: LandedPin | None = None) -> PublishedLanding:
    """The landing of a request, made in memory where it is not there; RECOMPUTE_001 for what only Spark can read."""
    if pin is not None and (pinned_landing := request.area.find(pin.folder)) is not None:
        return pinned_landing
    databases = [location for location in request.locations if not location.uri]
    if pin is not None and databases:
        reason = "its landing has been removed or changed"
        raise DaybookError("IO_009", location=", ".join(request.names), reason=reason)
    for location in databases:
        if format_named(location.format).needs_session:
            raise DaybookError("RECOMPUTE_001", what=f"{location.label}, which only Spark can read")
    inputs = find_inputs(request)
    if pin is not None and not _has_content(inputs, pin):
        raise DaybookError("IO_009", location=", ".join(request.names), reason="its files have changed")
    return request.area.find(inputs.folder) or _land(None, request, inputs)


def has_appended_slices(request: LandingRequest, landed: PublishedLanding) -> bool:
    """Whether more than one commit may have filled a slice of what was landed."""
    manifests = [read_manifest(location.uri) for location in request.locations if location.uri]
    return landed.is_appended or any(manifest and manifest.has_appended_slice(request.slices) for manifest in manifests)


def _land(spark: "SparkSession | None", request: LandingRequest, inputs: _Inputs) -> PublishedLanding:
    """A new landing; what cannot be completed is removed. Files that fit into memory need no session."""
    area, files, databases, folder = request.area, inputs.files, inputs.databases, inputs.folder
    attempt = area.new_attempt(folder)
    sink = area.new_sink(spark, attempt, request.columns, request.memory_limit)
    try:
        sources = [
            (format_named(file.location.format).file_rows(file, request.version), file.location) for file in files
        ]
        for number, location in enumerate(databases):
            scratch = f"{area.absolute(attempt)}/scratch-{number}"
            table = format_named(location.format).table_rows(spark, location, request, scratch)
            sources.append((table, location))
        carried = columns_in_folder_names(request.locations, request.storage)
        extra: set[str] = set()
        for source, location in sources:
            for batch in checked_batches(source, location, request.columns):
                sink.add(batch)
            carried |= source.carried
            extra |= source.extra
            if location.period is not None:
                carried.add("_period")
        for file in files:
            file.verify()
        rows = sink.finish(spark, carried, request.version.dataset)
        landed = PublishedLanding(
            folder,
            rows.files,
            tuple(sorted(carried)),
            tuple(sorted(extra)),
            rows.is_unique,
            rows.repeated,
            sink.has_positions,
            any(
                format_named(location.format).has_appended_slice(location, request.slices, request.workspace)
                for location in databases
            ),
            rows.is_numbered,
            rows.columns,
        )
        return area.publish(landed)
    except BaseException as failure:
        # A full disk may refuse even to end the file that is thrown away.
        with contextlib.suppress(OSError):
            sink.close()
        area.remove(attempt)
        if isinstance(failure, OSError):
            raise DaybookError("IO_026", location=area.absolute(attempt), reason=str(failure)) from failure
        raise


def checked_batches(source: RowSource, location: Location, columns: tuple[Binding, ...]) -> Iterator[Batch]:
    period = location.period.identifier if location.period else None
    for batch in source.batches():
        check_nulls(batch, columns, source.name)
        if period is not None and "_period" not in batch.columns:
            column = pa.repeat(pa.scalar(period, pa.string()), batch.rows)
            batch = replace(batch, columns={**batch.columns, "_period": column})
        elif location.null_period is not None and "_period" in batch.columns:
            filled = pc.fill_null(batch.columns["_period"], location.null_period)
            batch = replace(batch, columns={**batch.columns, "_period": filled})
        yield batch


def _read_landing(spark: "SparkSession", landed: PublishedLanding, request: LandingRequest, pin: LandedPin) -> ReadPart:
    from pyspark.sql import functions as F

    dataset = request.version.dataset
    declared = {column.name for column in dataset.main_table.columns}
    columns = [column for column in request.columns if column.name in declared or column.name in landed.carried]
    df = request.area.frame(spark, landed, columns)
    identity = identity_columns(columns, dataset.natural_key_columns)
    rows = SourceRows(lambda: number_occurrences(df, identity, columns), lambda: df)
    if landed.is_unique or landed.is_numbered:
        numbered = df.withColumn(ORDINAL_COLUMN, F.lit(0).cast("bigint")) if landed.is_unique else df
        rows = SourceRows.of(numbered.withColumn(ORIGIN_COLUMN, identity_hash(identity)))
    names = ", ".join(request.names)
    notices = (*extra_column_notices(landed.extra, names), *report_repeated(dataset, landed.repeated, names))
    return ReadPart(
        rows,
        frozenset(landed.carried),
        (pin,),
        notices,
        may_repeat_ids=has_appended_slices(request, landed),
        has_positions=landed.has_positions,
    )


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
    # How many warnings the dataset accepts.
    accepted: int = 0
    locations: tuple[Location, ...] = ()
    workspace: Path = Path()
    storage: Storage = PROVIDER_STORAGE

    def verify_pins(self) -> None:
        """IO_008 when an input changed since it was read; to be called before a commit."""
        for pin in self.pins:
            verify_pin(pin, self.locations, self.workspace, self.storage)


def read_source(
    spark: "SparkSession",
    resolution: Resolution,
    dataset_version: DatasetVersion,
    landing: LandingArea,
    *,
    workspace: Path = Path(),
    pinned: Sequence[Pin] | None = None,
) -> ReadSource:
    """All locations of a resolution as one frame; `pinned` reads the data of an earlier run or fails with IO_009."""
    refuse_repeated_locations(resolution, workspace)
    pins = list(pinned) if pinned is not None else None
    parts: list[ReadPart] = []
    for request in landing_requests(resolution, dataset_version, landing, workspace):
        parts += [_with_slices(part, request.locations[0]) for part in _read_group(spark, request, pins)]
    if not parts:
        parts.append(_empty_part(spark, dataset_version))
    united = replace(
        _union_parts(parts, resolution),
        locations=resolution.locations,
        workspace=workspace,
        storage=landing.storage,
    )
    source = _without_accepted(united, dataset_version.dataset)
    is_direct = any(not format_named(location.format).is_landed for location in resolution.locations)
    if not is_direct or not is_asked_for(dataset_version.dataset):
        return source
    names = ", ".join(location.label for location in resolution.locations[:_MAX_NAMED_LOCATIONS])
    frame = source.frame
    repeated = find_repeated_by_spark(frame.rows.plain, dataset_version.dataset, frame.carried, frame.periods)
    repeated_notices = report_repeated(dataset_version.dataset, repeated, names)
    return replace(source, notices=(*source.notices, *repeated_notices))


def _without_accepted(source: ReadSource, dataset: Dataset) -> ReadSource:
    shown = tuple(notice for notice in source.notices if notice.code not in dataset.accept)
    return replace(source, notices=shown, accepted=len(source.notices) - len(shown))


def land_files_ahead(
    resolution: Resolution, dataset_version: DatasetVersion, landing: LandingArea, *, workspace: Path
) -> None:
    """Land what is small and needs no session, so that it is there when Spark has started."""
    for request in landing_requests(resolution, dataset_version, landing, workspace):
        landed = [location for location in request.locations if format_named(location.format).is_landed]
        land_ahead(replace(request, locations=landed))


def landing_requests(
    resolution: Resolution, dataset_version: DatasetVersion, landing: LandingArea, workspace: Path
) -> Iterator[LandingRequest]:
    """Locations of which the same slices are read, together."""
    slices = needed_slices(dataset_version, resolution.periods)
    groups: dict[tuple[object, ...], list[Location]] = {}
    for location in resolution.locations:
        groups.setdefault((location.slices, location.without), []).append(location)
    for locations in groups.values():
        own = locations[0].slices
        yield LandingRequest(
            locations, dataset_version, landing, frozenset(own) if own is not None else slices, workspace
        )


def _read_group(spark: "SparkSession", landing_request: LandingRequest, pins: list[Pin] | None) -> Iterator[ReadPart]:
    """The parts of some locations, format by format; those that are landed become one."""
    direct: dict[tuple[str, str | None], list[PinnedLocation]] = {}
    landed: list[Location] = []
    for location in landing_request.locations:
        if format_named(location.format).is_landed:
            landed.append(location)
        else:
            alike = direct.setdefault((location.format, location.null_period), [])
            alike.append(PinnedLocation(location, take_pin(pins, location)))
    for (name, null_period), locations in direct.items():
        request = ReadRequest(
            tuple(locations),
            landing_request.version,
            landing_request.slices,
            landing_request.workspace,
            landing_request.storage,
            landing_request.area,
        )
        for part in format_named(name).read(spark, request):
            yield _with_null_period(part, null_period)
    if landed:
        yield read_landed(spark, replace(landing_request, locations=landed), take_landed_pin(pins, landed[0]))


def _with_null_period(part: ReadPart, period: str | None) -> ReadPart:
    """Rows without a period belong to that of the run that wrote them."""
    from pyspark.sql import functions as F

    if period is None or "_period" not in part.carried:
        return part
    filled = F.coalesce(F.col("_period"), F.lit(period))
    return replace(part.map(lambda df: df.withColumn("_period", filled)), known_periods=None)


def _with_slices(part: ReadPart, location: Location) -> ReadPart:
    """The rows of the slices that are read in this location, where others are read elsewhere."""
    from pyspark.sql import functions as F

    column = next((name for name in (RUN_PERIOD_COLUMN, "_period") if name in part.carried), None)
    if column is None or (location.slices is None and not location.without):
        return part
    period = F.col(column)
    kept = period.isin(*location.slices) if location.slices is not None else ~period.isin(*location.without)
    condition = kept | period.isNull() if location.slices is None else kept
    return part.map(lambda df: df.where(condition))


def take_pin(pins: list[Pin] | None, location: Location) -> Pin | None:
    """The pin of a replay for this location."""
    return _take_first(pins, location, lambda pin: _is_pin_of(pin, location))


def _is_pin_of(pin: Pin, location: Location) -> bool:
    if isinstance(pin, LandedPin):
        return location.is_database and pin.uris == (location.label,)
    return pin.uri == location.label


def take_landed_pin(pins: list[Pin] | None, location: Location) -> LandedPin | None:
    """A landing is one for all of its locations."""
    pin = _take_first(pins, location, lambda pin: isinstance(pin, LandedPin))
    return pin if isinstance(pin, LandedPin) else None


def _take_first(pins: list[Pin] | None, location: Location, is_wanted: Callable[[Pin], bool]) -> Pin | None:
    if pins is None:
        return None
    for index, pin in enumerate(pins):
        if is_wanted(pin):
            return pins.pop(index)
    raise DaybookError("IO_009", location=location.label, reason="the snapshot has no pin for it")


def verify_pin(pin: Pin, locations: Sequence[Location], workspace: Path, storage: Storage = PROVIDER_STORAGE) -> None:
    """IO_008 when the source, which is at one of the locations, is not what it was."""
    match pin:
        case TablePin():
            location = next(location for location in locations if location.label == pin.uri)
            format_named(pin.version.format).verify_pin(pin, location, workspace, storage)
        case FilesPin():
            verify_files(pin, storage)
        case LandedPin():
            pass
        case _:
            assert_never(pin)


def _empty_part(spark: "SparkSession", dataset_version: DatasetVersion) -> ReadPart:
    """No rows, for a window without a period that has data."""
    carried: dict[str, ColumnType] = {"_period": STRING, "_valid_from": DATE, "_valid_to": DATE}
    declared = {column.name: column.type for column in dataset_version.dataset.main_table.columns}
    fields = [pa.field(name, arrow_type(type_)) for name, type_ in {**declared, **carried}.items()]
    identity = [pa.field(ORIGIN_COLUMN, pa.string()), pa.field(ORDINAL_COLUMN, pa.int64())]
    table = pa.schema([*fields, *identity]).empty_table()
    return ReadPart(SourceRows.of(arrow_frame(spark, table)), frozenset(carried), ())


def _union_parts(parts: Sequence[ReadPart], resolution: Resolution) -> ReadSource:
    from pyspark.sql import functions as F

    carried = frozenset[str]().union(*(part.carried for part in parts))
    types = carried_types()
    has_positions = any(part.has_positions for part in parts)
    rows: list[SourceRows] = []
    for part in parts:
        lacking: dict[str, Column] = {
            name: F.lit(None).cast(spark_data_type(types[name])) for name in sorted(carried - part.carried)
        }
        if has_positions and not part.has_positions:
            lacking[POSITION_COLUMN] = F.lit(None).cast("string")
        rows.append(part.rows.map(methodcaller("withColumns", lacking)) if lacking else part.rows)
    notices = tuple(dict.fromkeys(notice for part in parts for notice in part.notices))
    pins = tuple(pin for part in parts for pin in part.pins)
    sizes = tuple(size for part in parts for size in part.sizes)
    is_small = all(part.sizes for part in parts) and sum(sizes) <= _SMALL_BYTES
    may_repeat_ids = len(resolution.locations) > 1 or any(part.may_repeat_ids for part in parts)
    frame = SourceFrame(
        reduce(SourceRows.union, rows),
        carried,
        resolution.periods,
        _known_periods(parts, period_column(carried)),
        is_small,
        may_repeat_ids,
        resolution.as_of,
        resolution.row_period,
        has_positions,
    )
    return ReadSource(frame, pins, notices, sizes)


def _known_periods(parts: Sequence[ReadPart], column: str) -> frozenset[str] | None:
    """The periods of all rows; a part without the column has rows that the time filter does not accept."""
    periods = frozenset[str]()
    for part in parts:
        if part.known_periods is None or column not in part.carried:
            return None
        periods |= part.known_periods
    return periods
