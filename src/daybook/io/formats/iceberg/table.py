"""Reads Iceberg tables: the metadata gives the files of a snapshot, Spark or Arrow reads them by field id.

Columns are not found by name, since they may have been renamed, or another column may have had the name. Imported files
have no field ids and are read by the names that the table maps to ids.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.manifest import DataFileContent, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import DataScan, FileScanTask, Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import StringType

from daybook.errors import DaybookError, raise_all
from daybook.io.bindings import (
    Binding,
    Bindings,
    bind_columns,
    extra_column_notices,
    is_slice_needed,
    missing_column_errors,
)
from daybook.io.data_files import DataFile, TableFiles
from daybook.io.filesystem import arrow_path, is_uri, join_uri, list_files
from daybook.io.format import PinnedLocation, ReadRequest
from daybook.io.formats.iceberg.catalog import allowed_folders, catalog_errors, feature_error, opened_table
from daybook.io.formats.iceberg.columns import arrow_schema, slice_predicate
from daybook.io.formats.iceberg.history import (
    SnapshotVersion,
    ancestors,
    changes_data,
    current_version,
    slices_appended_to,
)
from daybook.io.formats.parquet.format import known_periods, scan_parquet, type_errors
from daybook.io.iceberg_names import ICEBERG_NAMES, daybook_name, stored_name
from daybook.io.pins import ReadPart, TablePin
from daybook.io.storage import Storage, bucket_of
from daybook.io.stored_rows import ParquetPart, StoredRows, parquet_rows
from daybook.io.target import TableTarget, parse_staged_name
from daybook.io.writer import Commit, fingerprint
from daybook.model.types import RUN_PERIOD_COLUMN
from daybook.resolve.location import Location
from daybook.resolve.paths import canonical_uri

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FIELD_ID = b"PARQUET:field_id"
_FOOTER_READERS = 16
# They are sent to Spark with the query; a table with more of them must be compacted first.
MOST_DELETED_ROWS = 1_000_000
_COMPACT_HINT = "compact the table: CALL system.rewrite_data_files with delete-file-threshold 1"


@dataclass(frozen=True, slots=True)
class IcebergFiles:
    """The checked files of a table at a snapshot, grouped by how their columns are read."""

    groups: tuple["_FileGroup", ...]
    bindings: Bindings
    root: str
    pin: TablePin
    may_repeat_ids: bool
    storage: Storage

    @property
    def carried(self) -> frozenset[str]:
        return frozenset(binding.name for binding in self.bindings.carried)


@dataclass(frozen=True, slots=True)
class _FileGroup:
    """Files in which the columns are found in the same way."""

    files: tuple[DataFile, ...]
    # By field id; by the names of these bindings where files have no ids.
    bindings: tuple[Binding, ...]
    field_ids: Mapping[str, int] | None
    # Columns that the files lack: they have the value of the partition, or are NULL.
    partitions: frozenset[str] = frozenset()
    deleted: Mapping[str, pa.Array] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _OpenedTable:
    """A table at the snapshot that is read, with the schema that its columns are read by."""

    table: Table
    at: SnapshotVersion
    schema: Schema
    pin: TablePin
    storage: Storage

    @property
    def label(self) -> str:
        return self.pin.uri


@contextmanager
def _opened_for_reading(pinned_location: PinnedLocation, request: ReadRequest) -> Iterator[_OpenedTable]:
    location = pinned_location.location
    pin = pinned_location.pin if isinstance(pinned_location.pin, TablePin) else None
    with opened_table(location, request.workspace, request.storage) as table:
        if table is None:
            if pin is not None:
                raise DaybookError("IO_009", location=location.label, reason="the table no longer exists")
            raise DaybookError("IO_001", location=location.label)
        if pin is not None and str(table.metadata.table_uuid) != pin.table_id:
            raise DaybookError("IO_009", location=location.label, reason="the table was created again")
        version = pin.version if pin is not None else location.version
        at = current_version(table) if version is None else SnapshotVersion.of(version)
        schema = _schema_at(table, at, location.label)
        read_pin = TablePin(location.label, at.version, str(table.metadata.table_uuid))
        yield _OpenedTable(table, at, schema, read_pin, request.storage)


def _schema_at(table: Table, at: SnapshotVersion, label: str) -> Schema:
    schemas = table.schemas()
    snapshot = None if at.snapshot_id is None else table.snapshot_by_id(at.snapshot_id)
    if at.snapshot_id is not None and snapshot is None:
        raise DaybookError("IO_009", location=label, reason=f"snapshot {at.snapshot_id} has expired")
    own = snapshot.schema_id if snapshot is not None else None
    schema_id = at.schema_id if at.schema_id is not None else own
    schema = table.schema() if schema_id is None else schemas.get(schema_id)
    if schema is None:
        raise DaybookError("IO_009", location=label, reason=f"schema {schema_id} has been removed")
    return schema


def find_iceberg(pinned_location: PinnedLocation, request: ReadRequest) -> IcebergFiles:
    location = pinned_location.location
    with _opened_for_reading(pinned_location, request) as opened:
        schema, label = opened.schema, opened.label
        names = [daybook_name(column.name) for column in schema.fields]
        bindings = _as_stored(bind_columns(names, request.version, location))
        errors = type_errors(bindings.all, arrow_schema(schema), label)
        raise_all([*missing_column_errors(bindings, label), *errors])
        _refuse_defaults(opened, bindings)
        tasks = _plan_files(opened, request.slices)
        _refuse_foreign_files(tasks, opened.table, location, request.workspace)
        files = {task.file.file_path: _data_file(opened, task.file) for task in tasks}
        needed = [task for task in tasks if is_slice_needed(files[task.file.file_path].partitions, request.slices)]
        groups = tuple(_group_files(opened, bindings, needed, files))
        root = opened.table.location().rstrip("/").rpartition("/")[0]
        may_repeat_ids = _has_appended_slice(opened.table, [files[task.file.file_path] for task in needed])
        return IcebergFiles(groups, bindings, _plain_path(root), opened.pin, may_repeat_ids, opened.storage)


def _as_stored(bindings: Bindings) -> Bindings:
    """Bindings to the names that columns have in the table."""
    declared, carried = (
        tuple(replace(binding, stored=stored_name(binding.stored)) for binding in bound)
        for bound in (bindings.declared, bindings.carried)
    )
    return replace(bindings, declared=declared, carried=carried)


def _plan_files(opened: _OpenedTable, slices: frozenset[str] | None) -> list[FileScanTask]:
    if opened.at.snapshot_id is None:
        return []
    scan = opened.table.scan(_slice_filter(opened, slices), snapshot_id=opened.at.snapshot_id)
    return plan_files(scan, opened.label)


def plan_files(scan: DataScan, label: str) -> list[FileScanTask]:
    """The files of a scan in the order of their paths; what Daybook cannot read is refused by name."""
    with catalog_errors(label):
        try:
            tasks = list(scan.plan_files())
        except (ValueError, NotImplementedError) as failure:
            if "equality deletes" not in str(failure):
                raise
            raise feature_error(label, "equality deletes", _COMPACT_HINT) from failure
    other = next((task.file.file_format for task in tasks if task.file.file_format != FileFormat.PARQUET), None)
    if other is not None:
        raise feature_error(label, f"{other.value} files")
    return sorted(tasks, key=lambda task: task.file.file_path)


def _slice_filter(opened: _OpenedTable, slices: frozenset[str] | None) -> BooleanExpression:
    """A filter that leaves out files of other slices, if the present table has the column for it."""
    is_filtered = slices is not None and all(
        any(column.name == RUN_PERIOD_COLUMN and isinstance(column.field_type, StringType) for column in schema.fields)
        for schema in (opened.schema, opened.table.schema())
    )
    return slice_predicate(slices) if slices and is_filtered else AlwaysTrue()


def _refuse_defaults(opened: _OpenedTable, bindings: Bindings) -> None:
    """IO_010 for columns with an initial default, which files from before the column would need."""
    used = {binding.stored for binding in bindings.all}
    for column in opened.schema.fields:
        if column.name in used and column.initial_default is not None:
            raise feature_error(opened.label, f"a default value of column {column.name}")


def _refuse_foreign_files(tasks: Sequence[FileScanTask], table: Table, location: Location, workspace: Path) -> None:
    """IO_042 for a file of this machine outside of the table and of the warehouse; metadata can name any file.

    On object stores for one in another bucket, which the keys of this workspace may open though its writer's do not.
    """
    places = [_plain_path(place) for place in allowed_folders(table, location, workspace)]
    buckets = {bucket_of(place) for place in places if is_uri(place)}
    folders = tuple(os.path.realpath(place) + "/" for place in places if not is_uri(place) and place.startswith("/"))
    for file in (file for task in tasks for file in (task.file, *task.delete_files)):
        path = _plain_path(file.file_path)
        is_inside = bucket_of(path) in buckets if is_uri(path) else os.path.realpath(path).startswith(folders)
        if not is_inside:
            raise DaybookError("IO_042", format="Iceberg", location=location.label, file=path)


def _data_file(opened: _OpenedTable, file: IcebergFile) -> DataFile:
    return DataFile(_plain_path(file.file_path), _partition_values(opened, file), file.file_size_in_bytes)


def _partition_values(opened: _OpenedTable, file: IcebergFile) -> dict[str, str | None]:
    """The columns that have one value in a file, as text."""
    spec = opened.table.specs()[file.spec_id]
    values: dict[str, str | None] = {}
    for position, partition in enumerate(spec.fields):
        name = opened.schema.find_column_name(partition.source_id)
        if name is not None and isinstance(partition.transform, IdentityTransform):
            values[name] = _partition_text(file.partition[position])
    return values


def _partition_text(value: object) -> str | None:
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)


def _plain_path(path: str) -> str:
    """A local path without scheme, as pyiceberg reads it: nothing in it is decoded. Object stores have one spelling."""
    if not path.lower().startswith("file:"):
        return canonical_uri(path)
    return "/" + path[len("file:") :].lstrip("/")


def _group_files(
    opened: _OpenedTable, bindings: Bindings, tasks: Sequence[FileScanTask], files: Mapping[str, DataFile]
) -> Iterator[_FileGroup]:
    ids = {column.name: column.field_id for column in opened.schema.fields}
    field_ids = {binding.stored: ids[binding.stored] for binding in bindings.all}
    imported = _imported_files(opened, tasks)
    deleted = _deleted_rows(opened, tasks)
    groups: dict[tuple[tuple[str | None, ...] | None, bool], list[DataFile]] = {}
    for task in tasks:
        path = task.file.file_path
        columns = _columns_of_import(opened, bindings, imported[path]) if path in imported else None
        groups.setdefault((columns, path in deleted), []).append(files[path])
    for (columns, has_deleted), members in groups.items():
        own = {file.path: deleted[file.path] for file in members} if has_deleted else {}
        if columns is None:
            yield _FileGroup(tuple(members), bindings.all, field_ids, deleted=own)
        else:
            yield _group_of_imports(bindings, columns, members, own)


def _group_of_imports(
    bindings: Bindings, columns: tuple[str | None, ...], files: Sequence[DataFile], deleted: Mapping[str, pa.Array]
) -> _FileGroup:
    """Files without field ids; columns that they lack have the values of their partitions."""
    bound = tuple(
        binding if name is None else replace(binding, stored=name)
        for binding, name in zip(bindings.all, columns, strict=True)
    )
    lacking = frozenset(binding.stored for binding, name in zip(bindings.all, columns, strict=True) if name is None)
    return _FileGroup(tuple(files), bound, None, lacking, deleted)


def _imported_files(opened: _OpenedTable, tasks: Sequence[FileScanTask]) -> dict[str, frozenset[str]]:
    """The columns of files without field ids; only a table that maps names to ids may have some."""
    if opened.table.name_mapping() is None:
        return {}
    paths = [task.file.file_path for task in tasks]
    with ThreadPoolExecutor(_FOOTER_READERS) as pool:
        schemas = pool.map(lambda path: read_footer(_plain_path(path), opened.storage), paths)
        return {
            path: frozenset(schema.names)
            for path, schema in zip(paths, schemas, strict=True)
            if not _ids_by_name(schema)
        }


def _columns_of_import(opened: _OpenedTable, bindings: Bindings, stored: frozenset[str]) -> tuple[str | None, ...]:
    """The name of each column in a file, by the names that its field id is mapped from."""
    mapping = opened.table.name_mapping()
    names = {mapped.field_id: mapped.names for mapped in mapping} if mapping is not None else {}
    ids = {column.name: column.field_id for column in opened.schema.fields}
    return tuple(
        next((name for name in names.get(ids[binding.stored], ()) if name in stored), None) for binding in bindings.all
    )


def read_footer(path: str, storage: Storage) -> pa.Schema:
    at = arrow_path(path, storage)
    try:
        with at.system.open_input_file(at.path) as stream:
            return pq.read_schema(stream)
    except FileNotFoundError as failure:
        raise DaybookError("IO_009", location=path, reason="the file has been removed") from failure
    except (OSError, pa.ArrowInvalid) as failure:
        raise DaybookError("IO_012", location=path, reason=str(failure)) from failure


def _ids_by_name(schema: pa.Schema) -> dict[str, int]:
    return {column.name: int(column.metadata[_FIELD_ID]) for column in schema if _FIELD_ID in (column.metadata or {})}


def _deleted_rows(opened: _OpenedTable, tasks: Sequence[FileScanTask]) -> dict[str, pa.Array]:
    """The positions of the rows that later snapshots have deleted, by file."""
    from pyiceberg.io.pyarrow import _read_deletes

    delete_files = {file.file_path: file for task in tasks for file in task.delete_files}
    if any(file.content != DataFileContent.POSITION_DELETES for file in delete_files.values()):
        raise feature_error(opened.label, "equality deletes", _COMPACT_HINT)
    count = sum(file.record_count for file in delete_files.values())
    if count > MOST_DELETED_ROWS:
        raise feature_error(opened.label, f"{count} deleted rows in files of their own", _COMPACT_HINT)
    with catalog_errors(opened.label), ThreadPoolExecutor(_FOOTER_READERS) as pool:
        read = list(pool.map(lambda file: _read_deletes(opened.table.io, file), delete_files.values()))
    positions_by_file = dict(zip(delete_files, read, strict=True))
    deleted: dict[str, pa.Array] = {}
    for task in tasks:
        parts = [
            chunk
            for file in task.delete_files
            if (positions := positions_by_file[file.file_path].get(task.file.file_path)) is not None
            for chunk in positions.chunks
        ]
        if parts:
            deleted[_plain_path(task.file.file_path)] = pa.concat_arrays([part.cast(pa.int64()) for part in parts])
    return deleted


def read_iceberg(spark: "SparkSession", table: IcebergFiles, location: Location) -> Iterator[ReadPart]:
    groups = table.groups or (_FileGroup((), table.bindings.all, None),)
    notices = extra_column_notices(table.bindings.extra, location.label)
    for number, group in enumerate(groups):
        rows = scan_parquet(
            spark,
            group.files,
            group.bindings,
            group.partitions,
            table.root,
            table.storage,
            field_ids=group.field_ids,
            deleted=group.deleted,
        )
        yield ReadPart(
            rows,
            table.carried,
            # The table has one pin, however many scans it takes.
            (table.pin,) if number == 0 else (),
            notices,
            tuple(file.size for file in group.files),
            table.may_repeat_ids,
            known_periods=known_periods(group.files, table.carried),
        )


def table_files(table: IcebergFiles) -> TableFiles:
    """The same for readers without Spark: each file with the names that its columns have in it."""
    files: list[DataFile] = []
    for group in table.groups:
        bindings = list(zip(table.bindings.all, group.bindings, strict=True))
        for file in group.files:
            names: dict[str, str | None]
            if group.field_ids is None:
                names = {own.stored: bound.stored for own, bound in bindings}
                names |= dict.fromkeys(group.partitions)
            else:
                stored = {number: name for name, number in _ids_by_name(read_footer(file.path, table.storage)).items()}
                names = {own.stored: stored.get(group.field_ids[own.stored]) for own, _ in bindings}
            files.append(replace(file, stored_names=names, deleted=group.deleted.get(file.path)))
    in_order = tuple(sorted(files, key=lambda file: file.path))
    return TableFiles(in_order, table.bindings.all, frozenset(), table.root, table.may_repeat_ids)


def _has_appended_slice(table: Table, files: Iterable[DataFile]) -> bool:
    """Whether more than one commit of Daybook's filled a slice, or one that appends and may be followed by others."""
    appended = slices_appended_to(table)
    writers: dict[str | None, set[tuple[str, int] | None]] = {}
    for file in files:
        folder = file.path.rpartition("/")[0].rpartition("/")[2]
        writers.setdefault(file.partitions.get(RUN_PERIOD_COLUMN), set()).add(parse_staged_name(folder))
    return any(
        len(commits) > 1 or (commits != {None} and (run_period is None or run_period in appended))
        for run_period, commits in writers.items()
    )


def committed_rows(target: TableTarget, commit: Commit) -> StoredRows:
    """What a commit added, at the snapshot that it made."""
    paths = _committed_files(target, commit)
    if paths is None:
        reason = "the table or its snapshot no longer exists"
        raise DaybookError("RUN_084", run_id=target.run_id, location=target.label, reason=reason)
    parts = [ParquetPart(path, storage=target.storage, names=ICEBERG_NAMES) for path in paths]
    rows = parquet_rows(target.columns, parts, target.label)
    if (row_count := sum(block.rows or 0 for block in rows.blocks)) != commit.rows:
        reason = f"the table has {row_count} of {commit.rows} rows"
        raise DaybookError("RUN_084", run_id=target.run_id, location=target.label, reason=reason)
    return rows


def committed_fingerprint(spark: "SparkSession", target: TableTarget, commit: Commit) -> str:
    """Of the rows a commit wrote, from its files; IO_009 when its snapshot has expired."""
    paths = _committed_files(target, commit)
    if paths is None or (commit.rows and not all(list_files(path, storage=target.storage) for path in paths)):
        raise DaybookError("IO_009", location=target.label, reason="the snapshot of the run has expired")
    bindings = [Binding(column.name, stored_name(column.name), column.type) for column in target.columns]
    files = [DataFile(path) for path in paths]
    return fingerprint(scan_parquet(spark, files, bindings, frozenset(), None, target.storage).plain, target.columns)


def _committed_files(target: TableTarget, commit: Commit) -> list[str] | None:
    """The files below the folder that is named after run and operation; None where the snapshot is gone."""
    snapshot_id = None if commit.version is None else SnapshotVersion.of(commit.version).snapshot_id
    with opened_table(target.location, target.workspace, target.storage) as table:
        if table is None or snapshot_id is None or table.snapshot_by_id(snapshot_id) is None:
            return None
        tasks = plan_files(table.scan(snapshot_id=snapshot_id), target.label)
        _refuse_foreign_files(tasks, table, target.location, target.workspace)
    paths = [_plain_path(task.file.file_path) for task in tasks]
    return [path for path in paths if parse_staged_name(path.split("/")[-2]) == (target.run_id, target.operation_seq)]


def has_changed_since(pin: TablePin, location: Location, workspace: Path, storage: Storage) -> bool:
    """Whether a snapshot after the pinned one added or removed rows, or the history does not reach the pinned one.

    Columns that are renamed since count, too: that makes no snapshot, and other values are read under a name.
    """
    with opened_table(location, workspace, storage) as table:
        if table is None or str(table.metadata.table_uuid) != pin.table_id:
            return True
        at = SnapshotVersion.of(pin.version)
        if _has_other_columns(table, at, location.label):
            return True
        pinned = at.snapshot_id
        for snapshot in ancestors(table):
            if snapshot.snapshot_id == pinned:
                return False
            if changes_data(snapshot):
                return True
            if snapshot.parent_snapshot_id is None:
                return pinned is not None
        return pinned is not None


def _has_other_columns(table: Table, at: SnapshotVersion, label: str) -> bool:
    """Whether a column had another name at a version, or its name was that of another column."""
    try:
        schemas = (_schema_at(table, at, label), table.schema())
    except DaybookError:
        return True
    before, now = ({(column.name, column.field_id) for column in schema.fields} for schema in schemas)
    return before != now


def verify_table(pin: TablePin, location: Location, workspace: Path, storage: Storage) -> None:
    """IO_008 when the table is gone or another one, or the snapshot has expired."""
    with opened_table(location, workspace, storage) as table:
        snapshot_id = SnapshotVersion.of(pin.version).snapshot_id
        is_there = table is not None and (snapshot_id is None or table.snapshot_by_id(snapshot_id) is not None)
        if table is None or not is_there or str(table.metadata.table_uuid) != pin.table_id:
            raise DaybookError("IO_008", file=pin.uri)


def data_folder(location: str, properties: Mapping[str, Any]) -> str:
    """Where the files of a table are written."""
    folder: str = properties.get("write.data.path") or join_uri(location, "data")
    return _plain_path(folder.rstrip("/"))


def referenced_folders(table: Table, names: Iterable[str]) -> set[str]:
    """The folders that a snapshot of any branch or tag still refers to."""
    candidates = set(names)
    if not candidates:
        return set()
    manifests = {
        manifest.manifest_path: manifest for snapshot in table.snapshots() for manifest in snapshot.manifests(table.io)
    }
    paths = (
        entry.data_file.file_path
        for manifest in manifests.values()
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False)
    )
    return candidates & {path.rpartition("/")[0].rpartition("/")[2] for path in paths}
