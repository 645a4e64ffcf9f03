"""Reads tables of a catalog: Delta and Iceberg at a version, everything else from a copy that Spark makes once per run.

Rows have no stable position: they are identified by their natural key, else by their content, and a number among equal
rows.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from daybook.engine.context import SourceRows, aliased_sql
from daybook.errors import DaybookError, raise_all
from daybook.expression import quote_identifier, quote_literal
from daybook.expression import spark_type as sql_type
from daybook.io.bindings import (
    Binding,
    Bindings,
    bind_columns,
    carried_types,
    extra_column_notices,
    missing_column_errors,
    validity_types,
)
from daybook.io.column_types import arrow_equivalent, arrow_type, stored_type_fits
from daybook.io.data_files import FetchedRows
from daybook.io.format import PinnedLocation, ReadRequest
from daybook.io.formats.spark_catalog.history import commits_of, has_appended_slice
from daybook.io.formats.spark_catalog.table import (
    CatalogTable,
    TableName,
    as_named,
    catalog_error,
    current_version,
    failure_reason,
    require_table,
    session_errors,
    table_id,
    table_version,
    version_token,
    versioned_frame,
)
from daybook.io.landing.area import LandingArea, PublishedLanding, identity_columns, number_occurrences
from daybook.io.pins import LandedPin, Pin, ReadPart, TablePin
from daybook.io.state_tables import stream_batches
from daybook.model.types import RUN_PERIOD_COLUMN, STRING
from daybook.resolve.location import catalog_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


@dataclass(frozen=True, slots=True)
class _BoundTable:
    """The rows of a table in the columns of a dataset, and what they were read from."""

    df: "DataFrame"
    bindings: tuple[Binding, ...]
    carried: frozenset[str]
    pin: Pin
    extra: tuple[str, ...]
    may_repeat_ids: bool = False


def read_table(spark: "SparkSession", pinned: PinnedLocation, request: ReadRequest) -> ReadPart:
    """The rows of one table; with a pin those that an earlier run read, or IO_009."""
    table = _bound_table(spark, pinned, request)
    return ReadPart(
        _identified(table.df, table.bindings, request),
        table.carried,
        (table.pin,),
        extra_column_notices(table.extra, pinned.location.label),
        may_repeat_ids=table.may_repeat_ids,
    )


def fetch_table(spark: "SparkSession", pinned: PinnedLocation, request: ReadRequest) -> FetchedRows:
    """The same rows, brought to this machine."""
    bound = _bound_table(spark, pinned, request)
    schema = pa.schema([(binding.name, arrow_type(binding.type)) for binding in bound.bindings])
    try:
        batches = [batch.select(schema.names).cast(schema) for batch in stream_batches(bound.df)]
    except session_errors() as failure:
        # The log of a table knows a version for longer than its files are there.
        raise DaybookError("IO_009", location=pinned.location.label, reason=failure_reason(failure)) from failure
    return FetchedRows(pa.Table.from_batches(batches, schema), bound.bindings, bound.may_repeat_ids)


def _bound_table(spark: "SparkSession", pinned: PinnedLocation, request: ReadRequest) -> _BoundTable:
    name = TableName.of(pinned.location)
    if isinstance(pinned.pin, LandedPin):
        return _landed_table(spark, pinned, request)
    try:
        table = require_table(spark, name)
        if table.provider is None and pinned.pin is None:
            return _landed_table(spark, pinned, request)
        return _version_of_table(spark, table, pinned, request)
    except session_errors() as failure:
        raise catalog_error(name, failure) from failure


def _version_of_table(
    spark: "SparkSession", table: CatalogTable, pinned: PinnedLocation, request: ReadRequest
) -> _BoundTable:
    location, pin = pinned.location, pinned.pin
    label = location.label
    token = _pinned_token(pinned)
    if table.provider is None:
        raise DaybookError("IO_009", location=label, reason=f"it is now a table of {table.kind}")
    identity = table_id(spark, table)
    if isinstance(pin, TablePin) and pin.table_id != identity:
        raise DaybookError("IO_009", location=label, reason="the table was created again")
    version = current_version(spark, table) if token is None else token
    df = _frame_at(spark, table, version, label, is_pinned=token is not None)
    bindings = checked_bindings(df.schema, pinned, request)
    return _BoundTable(
        bound_columns(df, bindings.all),
        bindings.all,
        frozenset(binding.name for binding in bindings.carried),
        TablePin(label, table_version(table.provider, version), identity),
        bindings.extra,
        has_appended_slice(commits_of(spark, table), request.slices),
    )


def _pinned_token(pinned: PinnedLocation) -> str | None:
    version = pinned.pin.version if isinstance(pinned.pin, TablePin) else pinned.location.version
    return None if version is None else version_token(version)


def _frame_at(spark: "SparkSession", table: CatalogTable, token: str, label: str, *, is_pinned: bool) -> "DataFrame":
    """The rows of a version; IO_009 for a pinned version that no longer exists."""
    try:
        df = as_named(versioned_frame(spark, table.name, token), table.provider)
        # Reading the schema makes Spark resolve the version.
        df.schema  # noqa: B018
    except session_errors() as failure:
        if not is_pinned:
            raise
        raise DaybookError("IO_009", location=label, reason=f"version {token} is no longer there") from failure
    return df


def _identified(df: "DataFrame", columns: Iterable[Binding], request: ReadRequest) -> SourceRows:
    """Rows that are numbered among equal ones where row ids are needed."""
    everything = tuple(columns)
    identity = identity_columns(everything, request.version.dataset.natural_key_columns)
    return SourceRows(lambda: number_occurrences(df, identity, everything), lambda: df)


def checked_bindings(schema: "StructType", pinned: PinnedLocation, request: ReadRequest) -> Bindings:
    """How the columns of a table become those of the dataset; IO_002 and IO_003 for what is missing or does not fit."""
    location, version = pinned.location, request.version
    bindings = bind_columns(schema.names, version, location)
    fields = {field.name: field.dataType for field in schema}
    errors = missing_column_errors(bindings, location.label)
    for binding in bindings.all:
        stored = fields.get(binding.stored)
        if stored is not None and not stored_type_fits(arrow_equivalent(stored), binding.type):
            stored_text, declared = stored.simpleString(), str(binding.type)
            errors.append(
                DaybookError("IO_003", file=location.label, column=binding.stored, found=stored_text, declared=declared)
            )
    raise_all(errors)
    return bindings


def bound_columns(df: "DataFrame", bindings: Iterable[Binding]) -> "DataFrame":
    columns = {b.name: f"CAST({quote_identifier(b.stored)} AS {sql_type(b.type)})" for b in bindings}
    return df.selectExpr(*aliased_sql(columns))


def _landed_table(spark: "SparkSession", pinned: PinnedLocation, request: ReadRequest) -> _BoundTable:
    """A copy that Spark makes once per run."""
    location, pin = pinned.location, pinned.pin
    label = location.label
    area = request.area
    if area is None:
        raise ValueError("a table without versions is landed")
    if isinstance(pin, LandedPin):
        landed = area.find(pin.folder)
        if landed is None:
            raise DaybookError("IO_009", location=label, reason="its landing has been removed or changed")
    else:
        folder = area.run_folder(_landing_key(pinned, request))
        landed = area.find(folder) or _land(spark, pinned, request, area, folder)
    bindings = _landed_columns(landed, request)
    df = area.frame(spark, landed, bindings)
    read_pin = LandedPin((label,), landed.folder, landed.rows)
    return _BoundTable(df, bindings, frozenset(landed.carried), read_pin, landed.extra)


def _land(
    spark: "SparkSession", pinned: PinnedLocation, request: ReadRequest, area: LandingArea, folder: str
) -> PublishedLanding:
    name = TableName.of(pinned.location)
    df = spark.table(name.sql)
    bindings = checked_bindings(df.schema, pinned, request)
    names = {binding.stored for binding in bindings.carried}
    if request.slices is not None and RUN_PERIOD_COLUMN in names:
        listed = ", ".join(quote_literal(period, STRING) for period in sorted(request.slices))
        df = df.where(f"{RUN_PERIOD_COLUMN} IN ({listed})" if listed else "FALSE")
    carried = tuple(binding.name for binding in bindings.carried)
    return area.land_frame(spark, folder, bound_columns(df, bindings.all), carried, bindings.extra)


def _landed_columns(landed: PublishedLanding, request: ReadRequest) -> tuple[Binding, ...]:
    table = request.version.dataset.main_table
    types = {**carried_types(), **validity_types(table)}
    return (
        *(Binding(column.name, column.name, column.type, column.nullable) for column in table.columns),
        *(Binding(name, name, types[name]) for name in landed.carried),
    )


def _landing_key(pinned: PinnedLocation, request: ReadRequest) -> str:
    dataset = request.version.dataset
    content = [
        list(catalog_names(pinned.location)),
        [[column.name, str(column.type), column.nullable] for column in dataset.main_table.columns],
        dataset.main_table.temporal_mode,
        sorted(request.slices) if request.slices is not None else None,
    ]
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=16).hexdigest()
