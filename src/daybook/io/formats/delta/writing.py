"""Writing Delta: Spark writes the files below the table, the `deltalake` package commits them."""

import json
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.schema import Field
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions
from pyspark.sql import DataFrame, SparkSession

from daybook.errors import DaybookError
from daybook.io.column_types import arrow_type
from daybook.io.fingerprint import fingerprint
from daybook.io.formats.delta.statistics import statistics
from daybook.io.formats.delta.tables import commit_infos, open_table, refuse_unknown_features, table_uri
from daybook.io.hive import partition_folder
from daybook.io.options import options_of
from daybook.io.place import child, list_files, local_path, store_of
from daybook.io.scanning import DataFile, scan
from daybook.io.schema_change import check_columns, type_text
from daybook.io.staged_names import PREFIX
from daybook.io.staging import attempt_name, parquet_files, remove_tree, spark_writes
from daybook.io.tables import Binding
from daybook.io.writing import Commit, Fence, Staged, Target, no_fence
from daybook.model.system_columns import RUN_PERIOD

# Nothing expires by itself; `daybook gc` alone removes.
_CONFIGURATION = {
    "delta.logRetentionDuration": "interval 36500 days",
    "delta.deletedFileRetentionDuration": "interval 36500 days",
    "delta.enableExpiredLogCleanup": "false",
}
_INFO = "daybook"
_ATTEMPTS = 30


class DeltaWriter:
    def check(self, target: Target) -> None:
        options_of("delta", target.options)
        table = open_table(target.uri or "")
        if table is None:
            self._check_place(target)
        elif _committed(table, target) is None:
            self._check_table(table, target)

    def stage(self, df: DataFrame, target: Target) -> Staged:
        table = open_table(target.uri or "")
        seen = str(_slice_version(table, target)) if table else None
        place = child(table_uri(target.uri or ""), attempt_name(target))
        # The log holds the partition value; some readers take it from the path all the same.
        folder = partition_folder({RUN_PERIOD: target.run_period}) if target.run_period is not None else ""
        with spark_writes(target):
            df.write.mode("error").parquet(child(place, folder) if folder else place)
        files = parquet_files(place, lambda footer: statistics(footer, target.columns))
        return Staged(place, sum(file.rows for file in files), files=files, seen=seen)

    def commit(self, staged: Staged, target: Target, fence: Fence = no_fence) -> Commit:
        actions = _add_actions(staged, target)
        for _ in range(_ATTEMPTS):
            table = open_table(target.uri or "")
            if table is not None:
                if (done := _committed(table, target)) is not None:
                    return done
                self._check_table(table, target)
                self._check_slice(table, staged, target)
            fence()
            try:
                if table is None:
                    self._create(actions, staged, target)
                else:
                    self._write(table, actions, staged, target)
            except CommitFailedError:
                continue
            except DeltaError as failure:
                if table is None and open_table(target.uri or "") is not None:
                    continue
                raise DaybookError("IO_026", location=target.place, reason=str(failure)) from failure
            done = self.committed(target)
            return Commit(staged.rows, done.delta_version if done else None)
        raise DaybookError("IO_024", location=target.place, slice=target.slice_note)

    def committed(self, target: Target) -> Commit | None:
        table = open_table(target.uri or "")
        return None if table is None else _committed(table, target)

    def discard(self, target: Target) -> None:
        """Staged folders that no version of the table refers to."""
        root = local_path(target.uri or "")
        committed = self._committed_place(target)
        for name in _staged_names(target):
            if name == committed:
                continue
            if root is not None:
                remove_tree(root / name)
            else:
                place = store_of(child(target.uri or "", name))
                place.system.delete_dir(place.path)

    def fingerprint(self, spark: SparkSession, target: Target, commit: Commit) -> str:
        """Of the rows a commit wrote, from its files; IO_009 when they have been vacuumed."""
        place = self._committed_place(target)
        folder = child(table_uri(target.uri or ""), place or "")
        files = list_files(folder) if place and place != "*" else ()
        if not files and commit.rows:
            reason = f"the files of version {commit.delta_version} have been removed"
            raise DaybookError("IO_009", location=target.place, reason=reason)
        bindings = [Binding(column.name, column.name, column.type) for column in target.columns]
        df = scan(spark, [DataFile(file.path) for file in files], bindings, frozenset(), None)
        return fingerprint(df, target.columns)

    def _check_place(self, target: Target) -> None:
        """A table is not made on top of other files."""
        ours = f"{table_uri(target.uri or '')}/{PREFIX}"
        if any(not file.path.startswith(ours) for file in list_files(target.uri or "")):
            raise DaybookError("IO_028", location=target.place, found="no Delta table", expected="one")

    def _check_table(self, table: DeltaTable, target: Target) -> None:
        refuse_unknown_features(table, target.place, is_write=True)
        if target.mode == "error":
            raise DaybookError("IO_020", location=target.place)
        if target.mode == "replace":
            return
        schema = pa.schema(table.schema().to_arrow())
        partitions = table.metadata().partition_columns
        if target.run_period is not None and partitions != [RUN_PERIOD]:
            difference = f"partitioned by {', '.join(partitions) or 'nothing'} instead of {RUN_PERIOD}"
            raise DaybookError("IO_021", location=target.place, difference=difference)
        check_columns(target, {field.name: type_text(field.type) for field in schema if field.name not in _own(target)})

    def _check_slice(self, table: DeltaTable, staged: Staged, target: Target) -> None:
        if target.mode == "append":
            return
        if staged.seen is not None and str(_slice_version(table, target)) != staged.seen:
            raise DaybookError("IO_024", location=target.place, slice=target.slice_note)
        if staged.rows == 0 and not target.allow_empty and (rows := _slice_rows(table, target)):
            raise DaybookError("IO_023", location=target.place, rows=rows, slice=target.slice_note)

    def _create(self, actions: list[AddAction], staged: Staged, target: Target) -> None:
        create_table_with_add_actions(
            table_uri(target.uri or ""),
            _schema(target),
            actions,
            mode="error",
            partition_by=list(_own(target)),
            configuration=_CONFIGURATION,
            commit_properties=_properties(target, staged, 0),
        )

    def _write(self, table: DeltaTable, adds: list[AddAction], staged: Staged, target: Target) -> None:
        actions: list[AddAction | RemoveAction] = [*adds]
        properties = _properties(target, staged, _slice_version(table, target) + 1)
        partitions = list(_own(target))
        if target.mode == "replace" and table.metadata().partition_columns != partitions:
            create_table_with_add_actions(
                table_uri(target.uri or ""),
                _schema(target),
                adds,
                mode="overwrite",
                partition_by=partitions,
                configuration=_CONFIGURATION,
                commit_properties=properties,
            )
            return
        if target.mode == "append":
            self._add_columns(table, target)
            table.create_write_transaction(actions, "append", _schema(target), partitions, commit_properties=properties)
            return
        filters = None
        if target.mode == "replace_period":
            self._add_columns(table, target)
            filters = [(RUN_PERIOD, "=", target.run_period or "")]
        table.create_write_transaction(
            actions, "overwrite", _schema(target), partitions, filters, commit_properties=properties
        )

    def _add_columns(self, table: DeltaTable, target: Target) -> None:
        existing = {field.name for field in table.schema().fields}
        added = [column for column in target.columns if column.name not in existing]
        if added:
            fields = Schema.from_arrow(pa.schema([(c.name, arrow_type(c.type)) for c in added])).fields
            table.alter.add_columns([Field(field.name, field.type, nullable=True) for field in fields])

    def _committed_place(self, target: Target) -> str | None:
        table = open_table(target.uri or "")
        if table is None or table.transaction_version(target.key) is None:
            return None
        found = _commit_info(table, target)
        # Where the log no longer says which folder it was, none of them may go.
        return "*" if found is None else str(found[1]["place"])


def _staged_names(target: Target) -> list[str]:
    prefix = f"{target.key}."
    place = store_of(target.uri or "")
    from pyarrow import fs

    found = place.system.get_file_info(fs.FileSelector(place.path, allow_not_found=True))
    return [item.base_name for item in found if item.base_name.startswith(prefix)]


def _own(target: Target) -> tuple[str, ...]:
    return (RUN_PERIOD,) if target.run_period is not None else ()


def _schema(target: Target) -> Schema:
    fields = [(column.name, arrow_type(column.type)) for column in target.columns]
    return Schema.from_arrow(pa.schema([*fields, *((name, pa.string()) for name in _own(target))]))


def _slice_id(target: Target) -> str:
    return f"daybook-slice-{target.run_period}" if target.mode == "replace_period" else "daybook-table"


def _slice_version(table: DeltaTable, target: Target) -> int:
    found = table.transaction_version(_slice_id(target))
    return -1 if found is None else found


def _slice_rows(table: DeltaTable, target: Target) -> int:
    rows: list[dict[str, Any]] = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    if target.mode == "replace_period":
        rows = [row for row in rows if row[f"partition.{RUN_PERIOD}"] == target.run_period]
    # A file without statistics holds at least one row for this purpose.
    return sum(1 if row["num_records"] is None else row["num_records"] for row in rows)


def _properties(target: Target, staged: Staged, slice_version: int) -> CommitProperties:
    info = {
        "key": target.key,
        "run_id": target.run_id,
        "operation_seq": target.operation_seq,
        "project_id": target.owner.project_id,
        "operation_id": target.owner.operation_id,
        "run_period": target.run_period,
        "rows": staged.rows,
        "place": staged.place.rpartition("/")[2],
    }
    transactions = [Transaction(target.key, 1)]
    if target.mode != "append":
        transactions.append(Transaction(_slice_id(target), slice_version))
    return CommitProperties(custom_metadata={_INFO: json.dumps(info)}, app_transactions=transactions)


def _committed(table: DeltaTable, target: Target) -> Commit | None:
    if table.transaction_version(target.key) is None:
        return None
    found = _commit_info(table, target)
    if found is None:
        return Commit(0, None, is_repeat=True)
    version, info = found
    return Commit(int(info["rows"]), version, is_repeat=True)


def _commit_info(table: DeltaTable, target: Target) -> tuple[int, dict[str, Any]] | None:
    """Version and description of the commit of this run and operation; it is nearly always among the last few."""
    for version, entry in commit_infos(table, target.uri or ""):
        text = entry.get(_INFO)
        info = json.loads(text) if isinstance(text, str) else {}
        if info.get("key") == target.key:
            return version, info
    return None


def _add_actions(staged: Staged, target: Target) -> list[AddAction]:
    values = {RUN_PERIOD: target.run_period} if target.run_period is not None else {}
    folder = staged.place.rpartition("/")[2]
    # Files without rows hold nothing to be read.
    files = [file for file in staged.files if file.rows]
    return [
        AddAction(f"{folder}/{each.path}", each.size, values, each.modified_ns // 1_000_000, True, each.described or "")
        for each in files
    ]
