"""Iceberg tables of a catalog: read by the files of a snapshot, committed as one snapshot, held by tags."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from daybook.io.data_files import TableFiles
from daybook.io.filesystem import join_uri, list_folder
from daybook.io.format import Format, HoldingStore, Leftover, PinnedLocation, ReadRequest, VersionHolder
from daybook.io.formats.iceberg.catalog import (
    STORAGE_ERRORS,
    catalog_errors,
    load_table,
    opened_catalog,
    opened_table,
)
from daybook.io.formats.iceberg.history import (
    SnapshotVersion,
    ancestors,
    current_version,
    hold_version,
    release_version,
    versions_held_by,
)
from daybook.io.formats.iceberg.table import (
    committed_fingerprint,
    committed_rows,
    data_folder,
    find_iceberg,
    has_changed_since,
    read_iceberg,
    referenced_folders,
    table_files,
    verify_table,
)
from daybook.io.formats.iceberg.writer import IcebergWriter
from daybook.io.pins import ReadPart, TablePin
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.io.stored_rows import StoredRows
from daybook.io.target import TableTarget, parse_staged_name
from daybook.io.writer import Commit
from daybook.model.datasource import DataSource, IcebergSource
from daybook.model.definition import TableVersion
from daybook.resolve.location import Location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class IcebergFormat(Format):
    name = "iceberg"
    is_landed = False
    takes_fingerprint = False

    @cached_property
    def writer(self) -> IcebergWriter:
        return IcebergWriter()

    @property
    def storage_errors(self) -> tuple[type[Exception], ...]:
        return (*STORAGE_ERRORS, pa.ArrowException)

    def table_exists(self, location: Location, workspace: Path, storage: Storage = PROVIDER_STORAGE) -> bool:
        with opened_table(location, workspace, storage) as table:
            if table is None or location.version is None:
                return table is not None
            snapshot_id = SnapshotVersion.of(location.version).snapshot_id
            return snapshot_id is None or table.snapshot_by_id(snapshot_id) is not None

    def read(self, spark: "SparkSession", request: ReadRequest) -> Iterator[ReadPart]:
        for pinned in request.locations:
            for part in read_iceberg(spark, find_iceberg(pinned, request), pinned.location):
                yield part.with_period(pinned.location)

    def table_files(self, location: PinnedLocation, request: ReadRequest) -> TableFiles:
        return table_files(find_iceberg(location, request))

    def committed_rows(self, target: TableTarget, commit: Commit) -> StoredRows:
        return committed_rows(target, commit)

    def fingerprint(self, spark: "SparkSession", target: TableTarget, commit: Commit) -> str:
        return committed_fingerprint(spark, target, commit)

    def has_changed(
        self, pin: TablePin, location: Location, workspace: Path, storage: Storage = PROVIDER_STORAGE
    ) -> bool:
        return has_changed_since(pin, location, workspace, storage)

    def newest_version(
        self, location: Location, known: TableVersion, workspace: Path, storage: Storage = PROVIDER_STORAGE
    ) -> TableVersion:
        """The present version, if the known snapshot is among its ancestors; the table may have been rolled back."""
        with opened_table(location, workspace, storage) as table:
            if table is None:
                return known
            snapshot_id = SnapshotVersion.of(known).snapshot_id
            is_later = any(snapshot.snapshot_id == snapshot_id for snapshot in ancestors(table))
            return current_version(table).version if is_later else known

    def verify_pin(
        self, pin: TablePin, location: Location, workspace: Path, storage: Storage = PROVIDER_STORAGE
    ) -> None:
        verify_table(pin, location, workspace, storage)

    def hold_version(
        self,
        location: Location,
        version: TableVersion,
        holder: VersionHolder,
        workspace: Path,
        storage: Storage = PROVIDER_STORAGE,
    ) -> None:
        with opened_table(location, workspace, storage) as table, catalog_errors(location.label):
            if table is not None:
                hold_version(table, version, holder)

    def release_version(
        self,
        location: Location,
        version: TableVersion,
        holder: VersionHolder,
        workspace: Path,
        storage: Storage = PROVIDER_STORAGE,
    ) -> None:
        with opened_table(location, workspace, storage) as table, catalog_errors(location.label):
            if table is not None:
                release_version(table, holder)

    def versions_held_by(
        self, location: Location, store: HoldingStore, workspace: Path, storage: Storage = PROVIDER_STORAGE
    ) -> tuple[tuple[TableVersion, VersionHolder], ...]:
        with opened_table(location, workspace, storage) as table:
            return () if table is None else versions_held_by(table, store)

    def find_leftovers(
        self, datasource: DataSource, workspace: Path, storage: Storage = PROVIDER_STORAGE
    ) -> Iterable[Leftover]:
        return tuple(_staged_leftovers(datasource, workspace, storage))

    def ping(self, datasource: DataSource, workspace: Path, storage: Storage = PROVIDER_STORAGE) -> str:
        if not isinstance(datasource, IcebergSource):
            raise TypeError(f"{datasource.id} is no catalog")
        options = datasource.options
        described = f"{options.catalog} catalog, namespace {options.namespace}"
        with opened_catalog(datasource, workspace, storage) as catalog, catalog_errors(datasource.id):
            if catalog is None or not catalog.namespace_exists(tuple(options.namespace.split("."))):
                return f"{described} (created by the first write)"
            return described


def _staged_leftovers(datasource: DataSource, workspace: Path, storage: Storage) -> Iterator[Leftover]:
    """Folders that killed runs staged in tables of the namespace, and for tables that were never created."""
    if not isinstance(datasource, IcebergSource):
        return
    namespace = tuple(datasource.options.namespace.split("."))
    with opened_catalog(datasource, workspace, storage) as catalog, catalog_errors(datasource.id):
        if catalog is None or not catalog.namespace_exists(namespace):
            return
        folders: set[str] = set()
        for *_, name in catalog.list_tables(namespace):
            location = Location("iceberg", table=name, schema=".".join(namespace), datasource=datasource)
            table = load_table(catalog, location, storage)
            if table is None:
                continue
            folder = data_folder(table.location(), table.properties)
            folders.add(folder)
            staged = _staged_in(folder, storage)
            needed = referenced_folders(table, staged)
            for staged_name, run_id in staged.items():
                if staged_name not in needed:
                    yield Leftover(run_id, join_uri(folder, staged_name))
        for folder in _table_folders(datasource, workspace, namespace, storage):
            if folder not in folders:
                yield from (
                    Leftover(run_id, join_uri(folder, name)) for name, run_id in _staged_in(folder, storage).items()
                )


def _staged_in(folder: str, storage: Storage) -> dict[str, str]:
    """The run of each staged folder."""
    owners = {item.base_name: parse_staged_name(item.base_name) for item in list_folder(folder, storage)}
    return {name: owner[0] for name, owner in owners.items() if owner is not None}


def _table_folders(
    datasource: IcebergSource, workspace: Path, namespace: tuple[str, ...], storage: Storage
) -> Iterator[str]:
    """Where a SQL catalog puts the tables of a namespace, by its default."""
    warehouse = Location("iceberg", datasource=datasource).occupied_path(workspace) or datasource.options.warehouse
    if datasource.options.catalog != "sql" or warehouse is None:
        return
    folder = join_uri(warehouse, ".".join(namespace))
    for item in list_folder(folder, storage):
        yield join_uri(folder, item.base_name, "data")


FORMAT: Format = IcebergFormat()
