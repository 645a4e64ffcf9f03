"""Reads Delta tables: the log gives files and partition values of a version, Spark or Arrow reads the files.

`DeltaTable.to_pyarrow_table` would read without Spark as well, and ends about one process in 25 by an abort after all
was done (deltalake 1.6.6 with pyarrow 26), so it is not used.
"""

import os
import posixpath
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, DeltaProtocolError, TableNotFoundError

from daybook.errors import DaybookError, raise_all
from daybook.io.bindings import (
    Bindings,
    bind_columns,
    checked_options,
    extra_column_notices,
    is_slice_needed,
    missing_column_errors,
)
from daybook.io.data_files import DataFile
from daybook.io.filesystem import (
    absolute_uri,
    arrow_path,
    is_uri,
    join_uri,
    list_files,
    local_path,
    relative_to,
    translate_read_errors,
)
from daybook.io.formats.delta.history import TABLE_TRANSACTION, is_appended_since, read_entry, slice_transaction
from daybook.io.formats.parquet.format import known_periods, scan_parquet, type_errors
from daybook.io.pins import ReadPart, TablePin
from daybook.io.storage import PROVIDER_STORAGE, Storage, bucket_of
from daybook.io.stored_rows import ParquetPart, StoredRows, parquet_rows
from daybook.io.target import FileTarget, parse_staged_name
from daybook.io.writer import Commit
from daybook.model.definition import DatasetVersion, TableVersion
from daybook.model.types import RUN_PERIOD_COLUMN
from daybook.resolve.location import Location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_KNOWN_READER_FEATURES = frozenset({"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"})
_KNOWN_WRITER_FEATURES = frozenset({"appendOnly", "invariants", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"})
_FEATURE_NAMES = {"deletionVectors": "deletion vectors", "columnMapping": "column mapping"}
# What the `deltalake` package decodes in the path of a table, however it is given.
_PATH_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}|\\")


def numbered_version(number: int) -> TableVersion:
    return TableVersion("delta", str(number))


def version_number(version: TableVersion | None) -> int | None:
    """The number by which the log knows a version."""
    return None if version is None else int(version.token)


def open_table(uri: str, version: int | None = None, storage: Storage = PROVIDER_STORAGE) -> DeltaTable | None:
    """The table, at a version; None when there is none."""
    path = local_path(uri)
    if path is not None and (escape := _PATH_ESCAPE.search(str(path.absolute()))):
        reason = f"Delta tables cannot be in a folder with {escape[0]} in its name, which would be read as an escape"
        raise DaybookError("IO_012", location=uri, reason=reason, hint="rename the folder, or write another format")
    with translate_read_errors(uri):
        if path is not None and not (path / "_delta_log").is_dir():
            return None
    try:
        return DeltaTable(absolute_uri(uri), version=version, storage_options=storage.delta_options(uri))
    except TableNotFoundError:
        return None
    except (DeltaError, OSError) as failure:
        if bucket_of(uri) is not None and not isinstance(failure, DeltaProtocolError):
            raise DaybookError("IO_073", location=uri, reason=failure_text(failure)) from failure
        if version is not None:
            raise DaybookError("IO_009", location=uri, reason=failure_text(failure)) from failure
        raise DaybookError("IO_012", location=uri, reason=failure_text(failure)) from failure


# Failures of object stores come in colours, and one cause below the other.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def failure_text(failure: Exception) -> str:
    """What deltalake says of a failure, in one line."""
    causes = (line.strip(" ↳") for line in _COLOUR.sub("", str(failure)).splitlines())
    return ": ".join(cause for cause in causes if cause)


def has_table(uri: str, storage: Storage = PROVIDER_STORAGE) -> bool:
    """Whether there is a table; on this machine its log is not read for that."""
    path = local_path(uri)
    if path is None or _PATH_ESCAPE.search(str(path.absolute())):
        return open_table(uri, storage=storage) is not None
    with translate_read_errors(uri):
        return (path / "_delta_log").is_dir() and DeltaTable.is_deltatable(absolute_uri(uri))


def refuse_unknown_features(table: DeltaTable, uri: str, *, is_write: bool) -> None:
    protocol = table.protocol()
    mapping = (table.metadata().configuration or {}).get("delta.columnMapping.mode", "none")
    if mapping != "none":
        raise DaybookError("IO_010", format="Delta", location=uri, feature=_FEATURE_NAMES["columnMapping"])
    features = [name for name in protocol.reader_features or () if name not in _KNOWN_READER_FEATURES]
    if is_write:
        features += [name for name in protocol.writer_features or () if name not in _KNOWN_WRITER_FEATURES]
    # Column mapping may be supported by a table that does not use it.
    features = [name for name in features if name != "columnMapping"]
    if features:
        # The best known one explains most.
        worst = min(features, key=lambda name: name not in _FEATURE_NAMES)
        raise DaybookError("IO_010", format="Delta", location=uri, feature=_FEATURE_NAMES.get(worst, worst))


_FILE_CHECKERS = 16


@dataclass(frozen=True, slots=True)
class DeltaFiles:
    """The live files of a table at a version, found and checked."""

    files: tuple[DataFile, ...]
    bindings: Bindings
    partitions: frozenset[str]
    root: str
    pin: TablePin
    may_repeat_ids: bool

    @property
    def carried(self) -> frozenset[str]:
        return frozenset(binding.name for binding in self.bindings.carried)


def find_delta(
    location: Location,
    version: DatasetVersion,
    slices: frozenset[str] | None,
    pin: TablePin | None,
    storage: Storage = PROVIDER_STORAGE,
) -> DeltaFiles:
    uri = location.file_uri
    at = version_number(pin.version if pin else location.version)
    table = open_table(uri, at, storage)
    if table is None:
        if pin is not None:
            raise DaybookError("IO_009", location=uri, reason="the table no longer exists")
        raise DaybookError("IO_001", location=uri)
    refuse_unknown_features(table, uri, is_write=False)
    if pin is not None and str(table.metadata().id) != pin.table_id:
        raise DaybookError("IO_009", location=uri, reason="the table was created again")
    schema = pa.schema(table.schema().to_arrow())
    bindings = bind_columns(schema.names, version, location)
    raise_all([*missing_column_errors(bindings, uri), *type_errors(bindings.all, schema, uri)])
    files = [file for file in data_files(table, uri) if is_slice_needed(file.partitions, slices)]
    refuse_foreign_files(files, uri, location.options)
    _refuse_vacuumed(files, uri, at, storage)
    partitions = frozenset(table.metadata().partition_columns)
    read_pin = TablePin(uri, numbered_version(table.version()), str(table.metadata().id))
    may_repeat_ids = _has_appended_slice(table, files, uri)
    return DeltaFiles(tuple(files), bindings, partitions, location.root or uri, read_pin, may_repeat_ids)


def read_delta(
    spark: "SparkSession", table: DeltaFiles, location: Location, storage: Storage = PROVIDER_STORAGE
) -> ReadPart:
    rows = scan_parquet(spark, table.files, table.bindings.all, table.partitions, table.root, storage)
    sizes = tuple(file.size for file in table.files)
    notices = extra_column_notices(table.bindings.extra, location.file_uri)
    periods = known_periods(table.files, table.carried)
    return ReadPart(rows, table.carried, (table.pin,), notices, sizes, table.may_repeat_ids, known_periods=periods)


def _has_appended_slice(table: DeltaTable, files: Sequence[DataFile], uri: str) -> bool:
    """Whether more than one commit of Daybook's filled a slice, or one that appends and may be followed by others."""
    writers: dict[str | None, set[tuple[str, int] | None]] = {}
    for file in files:
        folder = relative_to(file.path, absolute_uri(uri)).partition("/")[0]
        writers.setdefault(file.partitions.get(RUN_PERIOD_COLUMN), set()).add(parse_staged_name(folder))
    return any(
        len(commits) > 1 or (commits != {None} and not _is_replaced(table, run_period))
        for run_period, commits in writers.items()
    )


def _is_replaced(table: DeltaTable, run_period: str | None) -> bool:
    """Whether a commit has replaced the slice or the whole table, and none has appended since."""
    return not is_appended_since(table, run_period) and any(
        table.transaction_version(transaction) is not None
        for transaction in (slice_transaction(run_period), TABLE_TRANSACTION)
    )


def data_files(table: DeltaTable, uri: str) -> list[DataFile]:
    """The live files with their partition values as the log writes them, in the order of their paths.

    A log may name any file; call `refuse_foreign_files` before they are read.
    """
    columns = table.metadata().partition_columns
    rows: list[dict[str, Any]] = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    base = absolute_uri(uri)
    files = []
    for row in rows:
        values = {column: _partition_text(row[f"partition.{column}"]) for column in columns}
        # The log holds paths as URIs.
        path = unquote(row["path"])
        is_absolute = is_uri(path) or path.startswith("/")
        files.append(DataFile(_without_dots(path if is_absolute else join_uri(base, path)), values, row["size_bytes"]))
    return sorted(files, key=lambda file: file.path)


def _without_dots(path: str) -> str:
    """A local path or a URI whose parts . and .. are resolved."""
    if (local := local_path(path)) is not None:
        return os.path.normpath(local)
    start = path.find("/", path.find("://") + 3)
    return path if start < 0 else path[:start] + posixpath.normpath(path[start:])


def refuse_foreign_files(files: Sequence[DataFile], uri: str, options: Mapping[str, Any]) -> None:
    """IO_042 for a data file outside of the table's folder, which another program may have written into the log."""
    if checked_options("delta", options)["shallow_clones"]:
        return
    base = _without_dots(absolute_uri(uri)) + "/"
    is_local = local_path(uri) is not None
    foreign = next((file.path for file in files if not file.path.startswith(base)), None)
    if foreign is None and is_local:
        foreign = _find_link_outside([file.path for file in files], os.path.realpath(base))
    if foreign is not None:
        raise DaybookError("IO_042", format="Delta", location=uri, file=foreign)


def _find_link_outside(paths: Sequence[str], base: str) -> str | None:
    """The first file that a link, itself or one of its folders, leads out of the table; folders are followed once."""
    real_folder = cache(os.path.realpath)
    for path in paths:
        folder, _, name = path.rpartition("/")
        real = os.path.realpath(path) if Path(path).is_symlink() else f"{real_folder(folder)}/{name}"
        if not real.startswith(f"{base}/"):
            return path
    return None


def _partition_text(value: object) -> str | None:
    """Partition values come typed; Spark casts them back from text."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)


def _refuse_vacuumed(files: list[DataFile], uri: str, version: int | None, storage: Storage) -> None:
    """Time travel may name files that a vacuum removed; say so before Spark does."""
    if version is None:
        return
    with ThreadPoolExecutor(_FILE_CHECKERS) as pool:
        if not all(pool.map(lambda file: list_files(file.path, storage=storage), files)):
            raise DaybookError("IO_009", location=uri, reason=f"version {version} has been vacuumed")


def has_data_commits_since(pin: TablePin, storage: Storage = PROVIDER_STORAGE) -> bool:
    """Whether a commit after the pinned version added or removed rows; a log that was cut off counts as a change."""
    table = open_table(pin.uri, storage=storage)
    if table is None or str(table.metadata().id) != pin.table_id:
        return True
    for version in range(int(pin.version.token) + 1, table.version() + 1):
        entry = read_entry(pin.uri, version, storage)
        if entry is None or entry.changes_data:
            return True
    return False


def verify_table(pin: TablePin, storage: Storage = PROVIDER_STORAGE) -> None:
    """IO_008 when the table is gone or another one, or the version is not there any more."""
    table = open_table(pin.uri, version_number(pin.version), storage)
    if table is None or str(table.metadata().id) != pin.table_id:
        raise DaybookError("IO_008", file=pin.uri)


def read_rows(
    uri: str,
    *,
    run_period: str | None = None,
    version: int | None = None,
    storage: Storage = PROVIDER_STORAGE,
) -> pa.Table:
    """The rows of a table, or of the slice of one period, with the columns of its schema."""
    table = open_table(uri, version, storage)
    if table is None:
        raise DaybookError("IO_001", location=uri)
    refuse_unknown_features(table, uri, is_write=False)
    schema = pa.schema(table.schema().to_arrow())
    parts = []
    files = data_files(table, uri)
    refuse_foreign_files(files, uri, {})
    for file in files:
        if run_period is None or file.partitions.get(RUN_PERIOD_COLUMN) == run_period:
            place = arrow_path(file.path, storage)
            with place.system.open_input_file(place.path) as source:
                stored = pq.ParquetFile(source).read()
            parts.append(_with_schema(stored, schema, file.partitions))
    return pa.concat_tables(parts) if parts else schema.empty_table()


def _with_schema(stored: pa.Table, schema: pa.Schema, partitions: Mapping[str, str | None]) -> pa.Table:
    """Columns that the file does not have are those of its folder, or NULL."""
    columns = []
    for field in schema:
        if field.name in stored.column_names:
            columns.append(stored[field.name].cast(field.type))
        else:
            value = pa.scalar(partitions.get(field.name), pa.string()).cast(field.type)
            columns.append(pa.repeat(value, stored.num_rows))
    return pa.table(columns, schema=schema)


def committed_rows(target: FileTarget, commit: Commit) -> StoredRows:
    """What a commit added, at the version it made: the files below the folder that is named after run and operation."""
    uri = target.uri
    table = open_table(uri, version_number(commit.version), target.storage)
    if table is None:
        raise DaybookError("RUN_084", run_id=target.run_id, location=target.label, reason="the table does not exist")
    refuse_unknown_features(table, uri, is_write=False)
    files = data_files(table, uri)
    refuse_foreign_files(files, uri, target.options)
    parts = [
        ParquetPart(file.path, file.partitions, target.storage)
        for file in files
        if parse_staged_name(relative_to(file.path, absolute_uri(uri)).partition("/")[0])
        == (target.run_id, target.operation_seq)
    ]
    rows = parquet_rows(target.columns, parts, target.label)
    if (row_count := sum(block.rows or 0 for block in rows.blocks)) != commit.rows:
        reason = f"the table has {row_count} of {commit.rows} rows"
        raise DaybookError("RUN_084", run_id=target.run_id, location=target.label, reason=reason)
    return rows
