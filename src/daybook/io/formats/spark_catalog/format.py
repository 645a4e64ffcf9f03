"""Tables of a catalog that the Spark session knows: Unity, Glue, Hive, Polaris, Nessie, or the session's own."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from daybook.engine.java.session import current_session
from daybook.errors import DaybookError
from daybook.expression import quote_identifier
from daybook.io.data_files import FetchedRows, TableFiles
from daybook.io.format import Format, Leftover, PinnedLocation, ReadRequest, VersionHolder
from daybook.io.formats.spark_catalog.committed import committed_batches, committed_page, keep_rows, kept_frame
from daybook.io.formats.spark_catalog.history import commits_of, has_appended_slice
from daybook.io.formats.spark_catalog.reading import fetch_table, read_table
from daybook.io.formats.spark_catalog.table import (
    TableName,
    active_session,
    current_version,
    drop_table,
    find_table,
    new_table_provider,
    require_catalog_source,
    require_schema,
    run_of_staged,
    session_errors,
    table_id,
    table_version,
    tables_beginning,
    version_token,
)
from daybook.io.formats.spark_catalog.writer import CatalogWriter
from daybook.io.pins import ReadPart, TablePin
from daybook.io.row_page import PageRequest, RowPage
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.io.target import TableTarget
from daybook.io.writer import Commit
from daybook.model.datasource import DataSource
from daybook.model.definition import TableVersion
from daybook.resolve.location import Location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkCatalogFormat(Format):
    """Reads and writes through the session by table names, without reading files."""

    name = "spark_catalog"
    is_landed = False
    needs_session = True
    pages_by_session = True

    @cached_property
    def writer(self) -> CatalogWriter:
        return CatalogWriter()

    @property
    def storage_errors(self) -> tuple[type[Exception], ...]:
        return session_errors()

    def read(self, spark: "SparkSession", request: ReadRequest) -> Iterator[ReadPart]:
        for pinned in request.locations:
            yield read_table(spark, pinned, request).with_period(pinned.location)

    def table_files(self, location: PinnedLocation, request: ReadRequest) -> TableFiles:
        raise DaybookError("RECOMPUTE_001", what=f"{location.location.label}, which only Spark can read")

    def fetch_rows(self, spark: "SparkSession", location: PinnedLocation, request: ReadRequest) -> FetchedRows:
        return fetch_table(spark, location, request)

    def committed_page(self, target: TableTarget, commit: Commit, request: PageRequest) -> RowPage:
        return committed_page(target, commit, request)

    def committed_batches(self, target: TableTarget, commit: Commit, request: PageRequest) -> Iterator[pa.RecordBatch]:
        return committed_batches(target, commit, request)

    def keep_committed(self, target: TableTarget, commit: Commit) -> None:
        keep_rows(target, commit)

    def kept_rows(self, target: TableTarget, version: TableVersion) -> "DataFrame | None":
        return kept_frame(target, version)

    def table_exists(self, location: Location, workspace: Path, storage: Storage = PROVIDER_STORAGE) -> bool:
        return find_table(active_session(), TableName.of(location)) is not None

    def has_appended_slice(self, location: Location, slices: frozenset[str] | None, workspace: Path) -> bool:
        spark = active_session()
        table = find_table(spark, TableName.of(location))
        return table is not None and table.provider is not None and has_appended_slice(commits_of(spark, table), slices)

    def verify_pin(
        self, pin: TablePin, location: Location, workspace: Path, storage: Storage = PROVIDER_STORAGE
    ) -> None:
        if not _is_same_table(pin, location):
            raise DaybookError("IO_008", file=pin.uri)

    def has_changed(
        self, pin: TablePin, location: Location, workspace: Path, storage: Storage = PROVIDER_STORAGE
    ) -> bool:
        spark = active_session()
        table = find_table(spark, TableName.of(location))
        if table is None or not _is_same_table(pin, location):
            return True
        return current_version(spark, table) != version_token(pin.version)

    def newest_version(
        self, location: Location, known: TableVersion, workspace: Path, storage: Storage = PROVIDER_STORAGE
    ) -> TableVersion:
        spark = active_session()
        table = find_table(spark, TableName.of(location))
        if table is None or table.provider is None:
            return known
        return table_version(table.provider, current_version(spark, table))

    def hold_version(
        self,
        location: Location,
        version: TableVersion,
        holder: VersionHolder,
        workspace: Path,
        storage: Storage = PROVIDER_STORAGE,
    ) -> None:
        """Tags snapshots of Iceberg; Delta has no mark for versions, which depend on how the table is vacuumed."""
        if version.token.startswith("iceberg:"):
            name, snapshot = TableName.of(location), int(version_token(version))
            tag = f"CREATE TAG IF NOT EXISTS {_tag(holder)} AS OF VERSION {snapshot}"
            active_session().sql(f"ALTER TABLE {name.sql} {tag}").collect()

    def release_version(
        self,
        location: Location,
        version: TableVersion,
        holder: VersionHolder,
        workspace: Path,
        storage: Storage = PROVIDER_STORAGE,
    ) -> None:
        if version.token.startswith("iceberg:"):
            name = TableName.of(location)
            active_session().sql(f"ALTER TABLE {name.sql} DROP TAG IF EXISTS {_tag(holder)}").collect()

    def find_leftovers(
        self, datasource: DataSource, workspace: Path, storage: Storage = PROVIDER_STORAGE
    ) -> Iterable[Leftover]:
        name = _any_table(datasource)
        for table in tables_beginning(active_session(), name, "daybook_"):
            if (run_id := run_of_staged(table)) is not None:
                yield Leftover(run_id, datasource=datasource, table=table, schema=name.schema)

    def remove_leftover(self, leftover: Leftover, workspace: Path) -> None:
        if leftover.datasource is None or leftover.table is None:
            return
        spark = active_session()
        at = _any_table(leftover.datasource)
        name = TableName(at.catalog, leftover.schema or at.schema, leftover.table)
        table = find_table(spark, name)
        drop_table(spark, name, table.provider if table else None)

    def ping(self, datasource: DataSource, workspace: Path, storage: Storage = PROVIDER_STORAGE) -> str:
        name = _any_table(datasource)
        place = f"{name.catalog}.{name.schema}"
        if (spark := current_session()) is None:
            return f"{place}, checked when a run uses it"
        require_schema(spark, name)
        provider = new_table_provider(spark, require_catalog_source(datasource))
        return f"{place}, new tables are of {provider}" if provider else f"{place}, for reading"


def _is_same_table(pin: TablePin, location: Location) -> bool:
    spark = active_session()
    table = find_table(spark, TableName.of(location))
    return table is not None and table.provider is not None and table_id(spark, table) == pin.table_id


def _tag(holder: VersionHolder) -> str:
    return quote_identifier(f"daybook-{holder.key}")


def _any_table(datasource: DataSource) -> TableName:
    options = require_catalog_source(datasource).options
    return TableName(options.catalog, options.schema_name, "")


FORMAT: Format = SparkCatalogFormat()
