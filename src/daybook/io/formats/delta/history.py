"""Reads the log of a Delta table: the commits of runs, and the owners of slices.

Read from the files of the log, since `DeltaTable.history` finds nothing in a folder with # or ? in its name.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from deltalake import DeltaTable
from pyarrow import fs

from daybook.io.filesystem import absolute_uri, arrow_path, join_uri
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.io.target import FileTarget, SliceOwner, WrittenSlice
from daybook.model.types import RUN_PERIOD_COLUMN

# What Daybook writes of itself into a commit.
INFO_KEY = "daybook"
# A writer that replaces the table, or the slice of a period, raises the version of this transaction.
TABLE_TRANSACTION = "daybook-table"
# A transaction is numbered by the version its commit was meant to be; other commits may have come in between.
_MOST_BETWEEN = 4


def slice_transaction(run_period: str | None) -> str:
    return f"daybook-slice-{run_period}"


def append_transaction(run_period: str | None) -> str:
    """Set by the first append to a slice after it was replaced or dropped."""
    return f"daybook-append-{run_period}"


def is_appended_since(table: DeltaTable, run_period: str | None) -> bool:
    """Whether a slice was appended to after it, or the whole table, was last replaced."""
    appended = table.transaction_version(append_transaction(run_period))
    names = (slice_transaction(run_period), TABLE_TRANSACTION)
    replaced = [number for name in names if (number := table.transaction_version(name)) is not None]
    return appended is not None and appended > max(replaced, default=-1)


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One commit: its actions as the log has them."""

    version: int
    actions: tuple[dict[str, Any], ...]

    @property
    def info(self) -> dict[str, Any]:
        """What Daybook wrote of itself; empty for commits of others."""
        for action in self.actions:
            text = action.get("commitInfo", {}).get(INFO_KEY)
            if isinstance(text, str):
                content: dict[str, Any] = json.loads(text)
                return content
        return {}

    @property
    def transactions(self) -> dict[str, int]:
        return {action["txn"]["appId"]: action["txn"]["version"] for action in self.actions if "txn" in action}

    @property
    def changes_data(self) -> bool:
        changes = [action.get("add") or action.get("remove") for action in self.actions]
        return any(change and change.get("dataChange", True) for change in changes)

    @property
    def owner(self) -> SliceOwner:
        info = self.info
        names = (info.get("workspace", ""), info.get("workspace_id", ""))
        return SliceOwner(info["project_id"], info["operation_id"], *names)


def read_entry(uri: str, version: int, storage: Storage = PROVIDER_STORAGE) -> LogEntry | None:
    """A commit; None when the log no longer has it."""
    at = arrow_path(join_uri(absolute_uri(uri), "_delta_log", f"{version:020}.json"), storage)
    try:
        with at.system.open_input_stream(at.path) as stream:
            return LogEntry(version, tuple(json.loads(line) for line in stream.read().splitlines()))
    except FileNotFoundError:
        return None


def newest_after(uri: str, version: int, storage: Storage = PROVIDER_STORAGE) -> int:
    """The newest version of a table that has this one; only the names in the log are looked at."""
    log = join_uri(absolute_uri(uri), "_delta_log")
    while _has_entry(log, version + 1, storage):
        version += 1
    return version


def _has_entry(log: str, version: int, storage: Storage) -> bool:
    at = arrow_path(join_uri(log, f"{version:020}.json"), storage)
    return bool(at.system.get_file_info(at.path).type == fs.FileType.File)


def entries_back(table: DeltaTable, uri: str, storage: Storage = PROVIDER_STORAGE) -> Iterator[LogEntry]:
    """Newest first, as far back as the log goes."""
    for version in range(table.version(), -1, -1):
        if (entry := read_entry(uri, version, storage)) is None:
            return
        yield entry


def next_number(table: DeltaTable | None) -> int:
    """The version that the next commit is meant to be, by which its transactions are numbered."""
    return 0 if table is None else table.version() + 1


def written_slices(table: DeltaTable, target: FileTarget) -> tuple[WrittenSlice, ...]:
    """The slices that a commit would write to or throw away."""
    match target.mode:
        case "replace":
            slices = [_written_slice(table, target, period) for period in _live_periods(table)]
        case "replace_period" | "append":
            slices = [_written_slice(table, target, target.run_period)] if target.run_period is not None else []
        case "error":
            slices = []
    return tuple(slice_ for slice_ in slices if slice_ is not None)


def _live_periods(table: DeltaTable) -> list[str]:
    if table.metadata().partition_columns != [RUN_PERIOD_COLUMN]:
        return []
    return sorted({str(partition[RUN_PERIOD_COLUMN]) for partition in table.partitions()})


def _written_slice(table: DeltaTable, target: FileTarget, period: str) -> WrittenSlice | None:
    """By the last commits that replaced the table, replaced the slice, and began to append to it."""
    whole = _find_transaction(table, target, TABLE_TRANSACTION)
    own = _find_transaction(table, target, slice_transaction(period))
    shared = _find_transaction(table, target, append_transaction(period))
    first = whole.version if whole is not None else 0
    if own is not None and own.version >= first and own.info:
        if not own.info.get("is_dropped"):
            return WrittenSlice(period, own.info["run_id"], own.owner, own.info.get("rows"))
        whole, first = None, own.version
    if whole is not None and whole.info.get("run_period") == period:
        return WrittenSlice(period, whole.info["run_id"], whole.owner, whole.info.get("rows"))
    if shared is not None and shared.version >= first and shared.info:
        return WrittenSlice(period, shared.info["run_id"], None)
    return None


def _find_transaction(table: DeltaTable, target: FileTarget, name: str) -> LogEntry | None:
    """The commit that made the last version of a transaction."""
    number = table.transaction_version(name)
    if number is None:
        return None
    for version in range(number, min(number + _MOST_BETWEEN, table.version()) + 1):
        entry = read_entry(target.uri, version, target.storage)
        if entry is not None and entry.transactions.get(name) == number:
            return entry
    # Tables of earlier Daybooks number their transactions from 0.
    entries = entries_back(table, target.uri, target.storage)
    return next((entry for entry in entries if entry.transactions.get(name) == number), None)
