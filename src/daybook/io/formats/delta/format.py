"""Delta tables: read by the files of a version, committed through the log, vacuumed by `gc`."""

import json
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyarrow import fs

from daybook.io.data_files import TableFiles
from daybook.io.filesystem import FileStat, absolute_uri, arrow_path, join_uri, list_files, list_folder, make_folder
from daybook.io.format import Format, HoldingStore, Leftover, PinnedLocation, ReadRequest, VacuumRequest, VersionHolder
from daybook.io.formats.delta.history import newest_after
from daybook.io.formats.delta.table import (
    DeltaFiles,
    committed_rows,
    data_files,
    find_delta,
    has_data_commits_since,
    has_table,
    numbered_version,
    open_table,
    read_delta,
    refuse_unknown_features,
    verify_table,
    version_number,
)
from daybook.io.formats.delta.writer import DeltaWriter
from daybook.io.formats.files.format import FolderFormat
from daybook.io.pins import ReadPart, TablePin
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.io.stored_rows import StoredRows
from daybook.io.target import FileTarget, parse_staged_name, staged_key
from daybook.io.writer import Commit
from daybook.model.definition import TableVersion
from daybook.resolve.location import Location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Readers pass over names that begin with an underscore.
_PINS = "_daybook/pins"


def hold_version(uri: str, version: TableVersion, holder: VersionHolder, storage: Storage = PROVIDER_STORAGE) -> None:
    at = arrow_path(_pin_file(uri, version, holder), storage)
    log = arrow_path(join_uri(absolute_uri(uri), "_delta_log"), storage)
    is_gone = log.system.get_file_info(log.path).type != fs.FileType.Directory
    if is_gone or at.system.get_file_info(at.path).type == fs.FileType.File:
        return
    make_folder(join_uri(absolute_uri(uri), _PINS), storage)
    content = {"version": version.token, "dataset": holder.dataset_id, "dataset_version": holder.dataset_version}
    with at.system.open_output_stream(at.path) as stream:
        stream.write(json.dumps(content).encode())


def release_version(
    uri: str, version: TableVersion, holder: VersionHolder, storage: Storage = PROVIDER_STORAGE
) -> None:
    at = arrow_path(_pin_file(uri, version, holder), storage)
    if at.system.get_file_info(at.path).type == fs.FileType.File:
        at.system.delete_file(at.path)


def held_versions(uri: str, released: Collection[VersionHolder] = (), storage: Storage = PROVIDER_STORAGE) -> set[int]:
    """Versions that some holder needs; a name says it all, so that a half-written file still counts."""
    gone = {holder.key for holder in released}
    names = [item.base_name.split(".") for item in list_folder(join_uri(absolute_uri(uri), _PINS), storage)]
    return {int(name[0]) for name in names if len(name) == 3 and name[0].isdecimal() and name[1] not in gone}


def versions_held_by(
    uri: str, store: HoldingStore, storage: Storage = PROVIDER_STORAGE
) -> tuple[tuple[TableVersion, VersionHolder], ...]:
    """What one store needs; files that were not written to their end say nothing."""
    holders = []
    system = arrow_path(uri, storage).system
    for item in list_folder(join_uri(absolute_uri(uri), _PINS), storage):
        with suppress(ValueError, KeyError, TypeError), system.open_input_stream(item.path) as stream:
            content = json.loads(stream.read())
            holder = VersionHolder(store, content["dataset"], content["dataset_version"])
            if item.base_name == f"{content['version']}.{holder.key}.json":
                holders.append((TableVersion("delta", str(content["version"])), holder))
    return tuple(holders)


def _pin_file(uri: str, version: TableVersion, holder: VersionHolder) -> str:
    return join_uri(absolute_uri(uri), _PINS, f"{version.token}.{holder.key}.json")


def vacuum_table(request: VacuumRequest) -> tuple[FileStat, ...]:
    table = open_table(request.uri, storage=request.storage)
    if table is None:
        return ()
    refuse_unknown_features(table, request.uri, is_write=True)
    newest = table.version()
    kept = {*map(int, request.keep), *held_versions(request.uri, request.released, request.storage)}
    kept_versions = {version for version in kept if version <= newest}
    kept_versions |= set(range(max(0, newest - request.latest + 1), newest + 1))
    needed: set[str] = set()
    for version in kept_versions:
        if (then := open_table(request.uri, version, request.storage)) is not None:
            needed |= {file.path for file in data_files(then, request.uri)}
    files = tuple(
        file
        for file in list_files(request.uri, request.uri, request.storage)
        if file.path.endswith(".parquet") and file.path not in needed and file.modified_ns < request.modified_before_ns
    )
    if not request.is_dry_run:
        for file in files:
            at = arrow_path(file.path, request.storage)
            at.system.delete_file(at.path)
    return files


def staged_leftovers(uri: str, storage: Storage = PROVIDER_STORAGE) -> Iterator[Leftover]:
    """Staged folders inside a table that no version refers to."""
    staged = {
        item.base_name: owner for item in list_folder(uri, storage) if (owner := parse_staged_name(item.base_name))
    }
    staged = {name: owner for name, owner in staged.items() if not name.startswith(".")}
    if not staged:
        return
    table = open_table(uri, storage=storage)
    referred = _referenced_folders(table, uri) if table else set()
    for name, (run_id, seq) in staged.items():
        is_committed = table is not None and table.transaction_version(staged_key(run_id, seq)) is not None
        if name not in referred and not is_committed:
            yield Leftover(run_id, join_uri(uri, name))


def _referenced_folders(table: DeltaTable, uri: str) -> set[str]:
    start = len(absolute_uri(uri)) + 1
    return {file.path[start:].split("/")[0] for file in data_files(table, uri)}


class DeltaFormat(FolderFormat):
    name = "delta"
    is_landed = False
    takes_fingerprint = False

    @cached_property
    def writer(self) -> DeltaWriter:
        return DeltaWriter()

    @property
    def storage_errors(self) -> tuple[type[Exception], ...]:
        return (*super().storage_errors, DeltaError)

    def exists(self, location: Location, storage: Storage = PROVIDER_STORAGE) -> bool:
        version = version_number(location.version)
        if version is None:
            return has_table(location.file_uri, storage)
        return open_table(location.file_uri, version, storage) is not None

    def read(self, spark: "SparkSession", request: ReadRequest) -> Iterator[ReadPart]:
        for pinned_location in request.locations:
            part = read_delta(spark, _find(pinned_location, request), pinned_location.location, request.storage)
            yield part.with_period(pinned_location.location)

    def table_files(self, location: PinnedLocation, request: ReadRequest) -> TableFiles:
        table = _find(location, request)
        return TableFiles(table.files, table.bindings.all, table.partitions, table.root, table.may_repeat_ids)

    def committed_rows(self, target: FileTarget, commit: Commit) -> StoredRows:
        return committed_rows(target, commit)

    def has_changed(
        self, pin: TablePin, location: Location, workspace: Path, storage: Storage = PROVIDER_STORAGE
    ) -> bool:
        return has_data_commits_since(pin, storage)

    def newest_version(
        self, location: Location, known: TableVersion, workspace: Path, storage: Storage = PROVIDER_STORAGE
    ) -> TableVersion:
        before = version_number(known)
        return known if before is None else numbered_version(newest_after(location.file_uri, before, storage))

    def verify_pin(
        self, pin: TablePin, location: Location, workspace: Path, storage: Storage = PROVIDER_STORAGE
    ) -> None:
        verify_table(pin, storage)

    def fingerprint(self, spark: "SparkSession", target: FileTarget, commit: Commit) -> str:
        return self.writer.fingerprint(spark, target, commit)

    def hold_version(
        self,
        location: Location,
        version: TableVersion,
        holder: VersionHolder,
        workspace: Path,
        storage: Storage = PROVIDER_STORAGE,
    ) -> None:
        hold_version(location.file_uri, version, holder, storage)

    def release_version(
        self,
        location: Location,
        version: TableVersion,
        holder: VersionHolder,
        workspace: Path,
        storage: Storage = PROVIDER_STORAGE,
    ) -> None:
        release_version(location.file_uri, version, holder, storage)

    def versions_held_by(
        self, location: Location, store: HoldingStore, workspace: Path, storage: Storage = PROVIDER_STORAGE
    ) -> tuple[tuple[TableVersion, VersionHolder], ...]:
        return versions_held_by(location.file_uri, store, storage)

    def vacuum(self, request: VacuumRequest) -> tuple[FileStat, ...]:
        return vacuum_table(request)

    def staging_folder(self, location: Location) -> str | None:
        return location.uri

    def leftovers_in_folder(self, folder: str, storage: Storage = PROVIDER_STORAGE) -> Iterator[Leftover]:
        return staged_leftovers(folder, storage)


def _find(pinned_location: PinnedLocation, request: ReadRequest) -> DeltaFiles:
    pin = pinned_location.pin if isinstance(pinned_location.pin, TablePin) else None
    return find_delta(pinned_location.location, request.version, request.slices, pin, request.storage)


FORMAT: Format = DeltaFormat()
