"""Writes Delta tables: Spark writes the files, the `deltalake` package commits them with their statistics."""

import datetime
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.schema import Field
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

from daybook.errors import DaybookError
from daybook.io.bindings import Binding, checked_options
from daybook.io.column_types import arrow_type
from daybook.io.data_files import DataFile
from daybook.io.filesystem import (
    absolute_uri,
    arrow_path,
    join_uri,
    list_files,
    local_path,
    partition_folder,
    remove_folder,
    spark_uri,
)
from daybook.io.formats.delta.history import (
    INFO_KEY,
    TABLE_TRANSACTION,
    append_transaction,
    entries_back,
    is_appended_since,
    next_number,
    slice_transaction,
    written_slices,
)
from daybook.io.formats.delta.table import failure_text, numbered_version, open_table, refuse_unknown_features
from daybook.io.formats.parquet.format import scan_parquet
from daybook.io.storage import bucket_of
from daybook.io.target import STAGED_PREFIX, FileTarget, OutputColumn, WrittenSlice
from daybook.io.writer import (
    CheckedTarget,
    Commit,
    Fence,
    FingerprintObserver,
    StagedOutput,
    check_schema_change,
    declared_type_text,
    fingerprint,
    fit_columns,
    no_fence,
    remove_tree,
    staged_parquet_files,
    translate_spark_failures,
    write_options,
)
from daybook.model.types import RUN_PERIOD_COLUMN, DateType, IntegerType, StringType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Longer texts do not help readers to skip files.
_MAX_TEXT = 64


def file_statistics(metadata: pq.FileMetaData, columns: Sequence[OutputColumn]) -> str:
    """Row count, null counts, and bounds of integers, dates and short texts, as the log holds them."""
    positions = {metadata.schema.column(index).path: index for index in range(metadata.num_columns)}
    nulls: dict[str, int] = {}
    low: dict[str, Any] = {}
    high: dict[str, Any] = {}
    groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    for column in columns:
        index = positions.get(column.name)
        parts = [] if index is None else [group.column(index).statistics for group in groups]
        if not parts or any(part is None or not part.has_null_count for part in parts):
            continue
        nulls[column.name] = sum(part.null_count for part in parts)
        bounded = [part for part in parts if part.has_min_max]
        if isinstance(column.type, IntegerType | DateType | StringType) and bounded and _has_all_bounds(parts):
            least, most = min(part.min for part in bounded), max(part.max for part in bounded)
            if _is_short(least) and _is_short(most):
                low[column.name], high[column.name] = _log_value(least), _log_value(most)
    content = {"numRecords": metadata.num_rows, "minValues": low, "maxValues": high, "nullCount": nulls}
    return json.dumps(content, ensure_ascii=False)


def _has_all_bounds(parts: Sequence[Any]) -> bool:
    """Bounds are those of the file only when every part with values has them."""
    return all(part.has_min_max or part.num_values == 0 for part in parts)


def _is_short(value: object) -> bool:
    return not isinstance(value, str) or len(value) <= _MAX_TEXT


def _log_value(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime.date) else value


# Nothing expires by itself; `daybook gc` alone removes.
_CONFIGURATION = {
    "delta.logRetentionDuration": "interval 36500 days",
    "delta.deletedFileRetentionDuration": "interval 36500 days",
    "delta.enableExpiredLogCleanup": "false",
}
# Every question about a table reads its log back to the last checkpoint, on object stores with a request per commit.
_COMMITS_TO_CHECKPOINT = 10
_ATTEMPTS = 30
# Of the network, in one commit.
_MOST_DISTURBANCES = 3


class DeltaWriter:
    def check(self, target: FileTarget) -> CheckedTarget:
        checked_options("delta", target.options)
        table = _open(target)
        if table is None:
            self._check_place(target)
            return CheckedTarget()
        fitted: tuple[OutputColumn, ...] = ()
        if _find_commit(table, target) is None:
            fitted = fit_columns(target, _stored_types(table, target))
            self._check_table(table, replace(target, columns=fitted or target.columns))
        return CheckedTarget(written_slices(table, target), str(_slice_version(table, target)), fitted)

    def stage(self, df: "DataFrame", target: FileTarget, checked: CheckedTarget | None = None) -> StagedOutput:
        seen = self._seen(target) if checked is None else checked.seen
        place = join_uri(absolute_uri(target.uri), target.new_attempt_name())
        # The log holds the partition value; some readers take it from the path all the same.
        folder = partition_folder({RUN_PERIOD_COLUMN: target.run_period}) if target.run_period is not None else ""
        watch = FingerprintObserver(target.columns, takes_fingerprint=False)
        with translate_spark_failures(target):
            writer = watch.on(df).write.options(**write_options(place, target.storage))
            writer.mode("error").parquet(spark_uri(join_uri(place, folder) if folder else place, target.storage))
        files = staged_parquet_files(place, lambda footer: file_statistics(footer, target.columns), target.storage)
        return StagedOutput(place, sum(file.rows for file in files), files=files, digest=watch.digest, seen=seen)

    def commit(self, staged: StagedOutput, target: FileTarget, fence: Fence = no_fence) -> Commit:
        actions = _add_actions(staged, target)
        disturbances = 0
        for _ in range(_ATTEMPTS):
            table = _open(target)
            slices: tuple[WrittenSlice, ...] = ()
            if table is not None:
                if (done := _find_commit(table, target)) is not None:
                    return done
                self._check_table(table, target)
                self._check_slice(table, staged, target)
                slices = written_slices(table, target)
            fence(slices)
            try:
                if table is None:
                    self._create(actions, staged, target)
                else:
                    self._write(table, actions, staged, target)
            except CommitFailedError:
                continue
            except (DeltaError, OSError) as failure:
                if (done := self._find_made_commit(target)) is not None:
                    return replace(done, is_repeat=False)
                if table is None and _open(target) is not None:
                    continue
                # A put that arrives late is refused by the store: it must be the first of its version.
                disturbances += bucket_of(target.uri) is not None
                if 0 < disturbances <= _MOST_DISTURBANCES:
                    continue
                raise DaybookError("IO_026", location=target.label, reason=failure_text(failure)) from failure
            if table is None:
                # A table is created by its version 0, or not at all.
                return Commit(staged.rows, numbered_version(0))
            done = _find_new_commit(table, target)
            return Commit(staged.rows, done.version if done else None)
        raise DaybookError("IO_024", location=target.label, slice=target.slice_note)

    def _find_made_commit(self, target: FileTarget) -> Commit | None:
        """The commit whose answer was lost on its way from an object store; IO_073 where that cannot be found out."""
        return self.committed(target) if bucket_of(target.uri) is not None else None

    def committed(self, target: FileTarget) -> Commit | None:
        table = _open(target)
        return None if table is None else _find_commit(table, target)

    def slices(self, target: FileTarget) -> tuple[WrittenSlice, ...]:
        table = _open(target)
        return () if table is None else written_slices(table, target)

    def drop_slice(self, target: FileTarget, fence: Fence = no_fence) -> Commit:
        for _ in range(_ATTEMPTS):
            table = _open(target)
            if table is None:
                raise DaybookError("IO_001", location=target.label)
            if (done := _find_commit(table, target)) is not None:
                return done
            refuse_unknown_features(table, target.label, is_write=True)
            rows = _slice_rows(table, target)
            fence(written_slices(table, target))
            properties = _commit_properties(table, target, StagedOutput("", rows), is_dropped=True)
            filters = [(RUN_PERIOD_COLUMN, "=", target.run_period or "")]
            try:
                table.create_write_transaction(
                    [], "overwrite", table.schema(), [RUN_PERIOD_COLUMN], filters, commit_properties=properties
                )
            except CommitFailedError:
                continue
            except DeltaError as failure:
                raise DaybookError("IO_026", location=target.label, reason=failure_text(failure)) from failure
            dropped = _find_new_commit(table, target)
            return Commit(rows, dropped.version if dropped else None)
        raise DaybookError("IO_024", location=target.label, slice=target.slice_note)

    def discard(self, target: FileTarget) -> None:
        """Staged folders that no version of the table refers to."""
        root = local_path(target.uri)
        committed = self._committed_folder(target)
        for name in _staged_names(target):
            if name == committed:
                continue
            if root is not None:
                remove_tree(root / name)
            else:
                remove_folder(join_uri(target.uri, name), target.storage)

    def fingerprint(self, spark: "SparkSession", target: FileTarget, commit: Commit) -> str:
        """Of the rows a commit wrote, from its files; IO_009 when they have been vacuumed."""
        place = self._committed_folder(target)
        folder = join_uri(absolute_uri(target.uri), place or "")
        files = list_files(folder, storage=target.storage) if place and place != "*" else ()
        if not files and commit.rows:
            reason = f"the files of version {commit.version.token if commit.version else None} have been removed"
            raise DaybookError("IO_009", location=target.label, reason=reason)
        bindings = [Binding(column.name, column.name, column.type) for column in target.columns]
        data = [DataFile(file.path) for file in files]
        rows = scan_parquet(spark, data, bindings, frozenset(), None, target.storage)
        return fingerprint(rows.plain, target.columns)

    def _seen(self, target: FileTarget) -> str | None:
        table = _open(target)
        return str(_slice_version(table, target)) if table is not None else None

    def _check_place(self, target: FileTarget) -> None:
        """A table is not made on top of other files."""
        ours = f"{absolute_uri(target.uri)}/{STAGED_PREFIX}"
        if any(not file.path.startswith(ours) for file in list_files(target.uri, storage=target.storage)):
            raise DaybookError("IO_028", location=target.label, found="not a Delta table", expected="one")

    def _check_table(self, table: DeltaTable, target: FileTarget) -> None:
        refuse_unknown_features(table, target.label, is_write=True)
        if target.mode == "error":
            raise DaybookError("IO_020", location=target.label)
        if target.mode == "replace":
            return
        partitions = table.metadata().partition_columns
        if target.run_period is not None and partitions != [RUN_PERIOD_COLUMN]:
            difference = f"partitioned by {', '.join(partitions) or 'nothing'} instead of {RUN_PERIOD_COLUMN}"
            raise DaybookError("IO_021", location=target.label, difference=difference)
        check_schema_change(target, _stored_types(table, target))

    def _check_slice(self, table: DeltaTable, staged: StagedOutput, target: FileTarget) -> None:
        if target.mode == "append":
            return
        if staged.seen is not None and str(_slice_version(table, target)) != staged.seen:
            raise DaybookError("IO_024", location=target.label, slice=target.slice_note)
        if staged.rows == 0 and not target.allow_empty and (rows := _slice_rows(table, target)):
            raise DaybookError("IO_023", location=target.label, rows=rows, slice=target.slice_note)

    def _create(self, actions: list[AddAction], staged: StagedOutput, target: FileTarget) -> None:
        create_table_with_add_actions(
            absolute_uri(target.uri),
            _delta_schema(target),
            actions,
            mode="error",
            partition_by=list(_partition_columns(target)),
            configuration=_configuration(target),
            commit_properties=_commit_properties(None, target, staged),
            storage_options=target.storage.delta_options(target.uri),
        )

    def _write(self, table: DeltaTable, adds: list[AddAction], staged: StagedOutput, target: FileTarget) -> None:
        actions: list[AddAction | RemoveAction] = [*adds]
        properties = _commit_properties(table, target, staged)
        partitions = list(_partition_columns(target))
        if target.mode == "replace" and table.metadata().partition_columns != partitions:
            create_table_with_add_actions(
                absolute_uri(target.uri),
                _delta_schema(target),
                adds,
                mode="overwrite",
                partition_by=partitions,
                configuration=_configuration(target),
                commit_properties=properties,
                storage_options=target.storage.delta_options(target.uri),
            )
            return
        if target.mode == "append":
            self._add_columns(table, target)
            table.create_write_transaction(
                actions, "append", _next_schema(table, target), partitions, commit_properties=properties
            )
            return
        filters = None
        if target.mode == "replace_period":
            self._add_columns(table, target)
            filters = [(RUN_PERIOD_COLUMN, "=", target.run_period or "")]
        schema = _next_schema(table, target) if filters else _delta_schema(target)
        table.create_write_transaction(actions, "overwrite", schema, partitions, filters, commit_properties=properties)

    def _add_columns(self, table: DeltaTable, target: FileTarget) -> None:
        existing = {field.name for field in table.schema().fields}
        added = [column for column in target.columns if column.name not in existing]
        if added:
            fields = Schema.from_arrow(pa.schema([(c.name, arrow_type(c.type)) for c in added])).fields
            table.alter.add_columns([Field(field.name, field.type, nullable=True) for field in fields])

    def _committed_folder(self, target: FileTarget) -> str | None:
        table = _open(target)
        if table is None or table.transaction_version(target.staging_key) is None:
            return None
        commit = _find_commit_info(table, target)
        # Where the log no longer says which folder it was, none of them may go.
        return "*" if commit is None else str(commit[1]["place"])


def _configuration(target: FileTarget) -> dict[str, str]:
    if bucket_of(target.uri) is None:
        return _CONFIGURATION
    return {**_CONFIGURATION, "delta.checkpointInterval": str(_COMMITS_TO_CHECKPOINT)}


def _open(target: FileTarget) -> DeltaTable | None:
    return open_table(target.uri, storage=target.storage)


def _staged_names(target: FileTarget) -> list[str]:
    prefix = f"{target.staging_key}."
    place = arrow_path(target.uri, target.storage)
    from pyarrow import fs

    items = place.system.get_file_info(fs.FileSelector(place.path, allow_not_found=True))
    return [item.base_name for item in items if item.base_name.startswith(prefix)]


def _stored_types(table: DeltaTable, target: FileTarget) -> dict[str, str | None]:
    """The columns that a commit keeps, with their types; none for one that replaces the table."""
    if target.mode == "replace":
        return {}
    schema = pa.schema(table.schema().to_arrow())
    return {
        field.name: declared_type_text(field.type) for field in schema if field.name not in _partition_columns(target)
    }


def _partition_columns(target: FileTarget) -> tuple[str, ...]:
    return (RUN_PERIOD_COLUMN,) if target.run_period is not None else ()


def _delta_schema(target: FileTarget) -> Schema:
    fields = [(column.name, arrow_type(column.type)) for column in target.columns]
    return Schema.from_arrow(pa.schema([*fields, *((name, pa.string()) for name in _partition_columns(target))]))


def _next_schema(table: DeltaTable, target: FileTarget) -> Schema:
    """Columns that the output keeps stay in the table; its files lack them, and readers find NULL."""
    return table.schema() if target.on_schema_change == "keep" else _delta_schema(target)


def _slice_id(target: FileTarget) -> str:
    return slice_transaction(target.run_period) if target.mode == "replace_period" else TABLE_TRANSACTION


def _slice_version(table: DeltaTable, target: FileTarget) -> int:
    version = table.transaction_version(_slice_id(target))
    return -1 if version is None else version


def _slice_rows(table: DeltaTable, target: FileTarget) -> int:
    rows: list[dict[str, Any]] = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    if target.mode == "replace_period":
        rows = [row for row in rows if row[f"partition.{RUN_PERIOD_COLUMN}"] == target.run_period]
    # A file without statistics holds at least one row for this purpose.
    return sum(1 if row["num_records"] is None else row["num_records"] for row in rows)


def _commit_properties(
    table: DeltaTable | None, target: FileTarget, staged: StagedOutput, *, is_dropped: bool = False
) -> CommitProperties:
    info = {
        "key": target.staging_key,
        "run_id": target.run_id,
        "operation_seq": target.operation_seq,
        "project_id": target.owner.project_id,
        "operation_id": target.owner.operation_id,
        "workspace": target.owner.workspace,
        "workspace_id": target.owner.workspace_id,
        "run_period": target.run_period,
        "rows": staged.rows,
        "place": staged.staging.rpartition("/")[2],
        **({"is_dropped": True} if is_dropped else {}),
    }
    number = next_number(table)
    transactions = [Transaction(target.staging_key, 1), *(Transaction(name, number) for name in _claims(table, target))]
    return CommitProperties(custom_metadata={INFO_KEY: json.dumps(info)}, app_transactions=transactions)


def _claims(table: DeltaTable | None, target: FileTarget) -> list[str]:
    """The transactions that make two writers of one slice conflict, and by which its owner is found."""
    if target.mode == "append":
        # Set once, so that later appends do not conflict.
        is_marked = target.run_period is None or (table is not None and is_appended_since(table, target.run_period))
        return [] if is_marked else [append_transaction(target.run_period)]
    whole = [] if target.mode == "replace_period" else [TABLE_TRANSACTION]
    return whole + ([slice_transaction(target.run_period)] if target.run_period is not None else [])


def _find_new_commit(table: DeltaTable, target: FileTarget) -> Commit | None:
    """What was just committed to an opened table; opening it again would read all of its log."""
    table.update_incremental()
    return _find_commit(table, target)


def _find_commit(table: DeltaTable, target: FileTarget) -> Commit | None:
    if table.transaction_version(target.staging_key) is None:
        return None
    commit = _find_commit_info(table, target)
    if commit is None:
        return Commit(0, None, is_repeat=True)
    version, info = commit
    return Commit(int(info["rows"]), numbered_version(version), is_repeat=True)


def _find_commit_info(table: DeltaTable, target: FileTarget) -> tuple[int, dict[str, Any]] | None:
    """Version and description of the commit of this run and operation; it is nearly always among the last few."""
    for entry in entries_back(table, target.uri, target.storage):
        if (info := entry.info).get("key") == target.staging_key:
            return entry.version, info
    return None


def _add_actions(staged: StagedOutput, target: FileTarget) -> list[AddAction]:
    values = {RUN_PERIOD_COLUMN: target.run_period} if target.run_period is not None else {}
    folder = staged.staging.rpartition("/")[2]
    # Files without rows hold nothing to be read.
    files = [file for file in staged.files if file.rows]
    return [
        AddAction(
            f"{folder}/{staged_file.path}",
            staged_file.size,
            values,
            staged_file.modified_ns // 1_000_000,
            True,
            staged_file.described or "",
        )
        for staged_file in files
    ]
