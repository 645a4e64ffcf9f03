"""Lands sources that cannot be pinned: copies them once as Parquet, and reads the copy."""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from daybook.engine.source import ORDINAL_COLUMN, ORIGIN_COLUMN, POSITION_COLUMN, literal_path_pattern
from daybook.errors import DaybookError
from daybook.io.bindings import Binding, extra_column_notices
from daybook.io.filesystem import spark_uri
from daybook.io.formats.files.manifest import read_manifest
from daybook.io.formats.parquet.scan import spark_schema
from daybook.io.landing.area import LandingSink, PublishedLanding, identity_columns, identity_hash
from daybook.io.landing.request import LandingRequest, TextFile, columns_in_folder_names, find_text_files, landing_key
from daybook.io.landing.rows import Batch, RowSource, check_nulls
from daybook.io.pins import LandedPin, PinnedFile, ReadPart, TableState
from daybook.io.registry import format_named
from daybook.io.repeated_keys import report_repeated
from daybook.resolve.locations.location import Location


def read_landed(spark: SparkSession, request: LandingRequest, pin: LandedPin | None = None) -> ReadPart:
    """The landing of a request; with a pin the one an earlier run read, or IO_009."""
    if pin is not None and (known := request.area.find(pin.folder)) is not None:
        return _read_landing(spark, known, request, pin)
    reason = "its landing has been removed or changed"
    if pin is not None and any(not location.uri for location in request.locations):
        raise DaybookError("IO_009", location=", ".join(request.names), reason=reason)
    found = _find_inputs(request)
    if pin is not None and found.folder != pin.folder:
        raise DaybookError("IO_009", location=", ".join(request.names), reason=f"{reason}, and so have its files")
    states = tuple(_table_states(request, found.databases))
    landed = request.area.find(found.folder) or _land(spark, request, found)
    files = tuple(PinnedFile(file.stat, file.digest) for file in found.files)
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


def _find_inputs(request: LandingRequest) -> _Inputs:
    files = tuple(
        file for location in request.locations if location.uri for file in find_text_files(location, request.slices)
    )
    databases = tuple(location for location in request.locations if not location.uri)
    key = landing_key(request, files, databases)
    folder = request.area.run_folder(key) if databases else request.area.file_folder(key)
    return _Inputs(files, databases, folder)


def _land(spark: SparkSession, request: LandingRequest, inputs: _Inputs) -> PublishedLanding:
    """A new landing; what cannot be completed is removed."""
    area, files, databases, folder = request.area, inputs.files, inputs.databases, inputs.folder
    attempt = area.new_attempt(folder)
    sink = LandingSink(area, attempt, request.columns, request.memory_limit)
    try:
        sources = [
            (format_named(file.location.format).file_rows(file, request.version), file.location) for file in files
        ]
        for number, location in enumerate(databases):
            scratch = f"{area.absolute(attempt)}/scratch-{number}"
            table = format_named(location.format).table_rows(spark, location, request, scratch)
            sources.append((table, location))
        carried = columns_in_folder_names(request.locations)
        extra: set[str] = set()
        for source, location in sources:
            for batch in _checked_batches(source, location, request.columns):
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
        )
        area.publish(landed)
    except BaseException as failure:
        # A full disk may refuse even to end the file that is thrown away.
        with contextlib.suppress(OSError):
            sink.close()
        area.remove(attempt)
        if isinstance(failure, OSError):
            raise DaybookError("IO_026", location=area.absolute(attempt), reason=str(failure)) from failure
        raise
    return landed


def _checked_batches(source: RowSource, location: Location, columns: tuple[Binding, ...]) -> Iterator[Batch]:
    period = location.period.identifier if location.period else None
    for batch in source.batches():
        check_nulls(batch, columns, source.name)
        if period is not None and "_period" not in batch.columns:
            column = pa.repeat(pa.scalar(period, pa.string()), batch.rows)
            batch = replace(batch, columns={**batch.columns, "_period": column})
        yield batch


def _read_landing(spark: SparkSession, landed: PublishedLanding, request: LandingRequest, pin: LandedPin) -> ReadPart:
    dataset = request.version.dataset
    declared = {column.name for column in dataset.main_table.columns}
    columns = [column for column in request.columns if column.name in declared or column.name in landed.carried]
    schema = spark_schema(columns, with_ordinal=not landed.is_unique)
    if landed.has_positions:
        schema = schema.add(POSITION_COLUMN, "string")
    df = spark.read.schema(schema).parquet(
        *(literal_path_pattern(spark_uri(request.area.absolute(file.path))) for file in landed.files)
    )
    if landed.is_unique:
        df = df.withColumn(ORDINAL_COLUMN, F.lit(0).cast("bigint"))
    df = df.withColumn(ORIGIN_COLUMN, identity_hash(identity_columns(columns, dataset.natural_key_columns)))
    names = ", ".join(request.names)
    notices = (*extra_column_notices(landed.extra, names), *report_repeated(dataset, landed.repeated, names))
    manifests = [read_manifest(location.uri) for location in request.locations if location.uri]
    may_repeat_ids = landed.is_appended or any(
        manifest and manifest.has_appended_slice(request.slices) for manifest in manifests
    )
    return ReadPart(
        df,
        frozenset(landed.carried),
        (pin,),
        notices,
        may_repeat_ids=may_repeat_ids,
        has_positions=landed.has_positions,
    )
