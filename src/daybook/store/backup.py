"""Backups of an embedded store: before a migration and once a day, seven kept, restored by `doctor --restore`."""

import os
import shutil
import sqlite3
import uuid
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from daybook.errors import DaybookError
from daybook.store.address import EmbeddedStore
from daybook.store.database.connection import is_damage, storage_error
from daybook.store.database.tables import METADATA

_KEPT = 7
_DAY = len("20260131")
# In the header of a file that is a passing copy of a store, of which nobody needs backups.
_COPY_MARK = 1
_MAX_NAMED_PROBLEMS = 3


@dataclass(frozen=True, slots=True)
class RestoredStore:
    """Which backup was put back, and where the damaged file is now."""

    backup: Path
    damaged: Path


def backup_folder(store: Path) -> Path:
    return EmbeddedStore(store).backups


def list_backups(store: Path) -> tuple[Path, ...]:
    """The newest first; names are times in UTC."""
    folder = backup_folder(store)
    return tuple(sorted(folder.glob("*.db"), reverse=True)) if folder.is_dir() else ()


def find_damage(store: Path) -> str | None:
    """What is wrong with the file of a store, by SQLite's own check and by the tables it must have; None if nothing."""
    try:
        with closing(_open(store)) as connection:
            found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(10)")]
            tables = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error as failure:
        return str(failure)
    if found != ["ok"]:
        return "; ".join(found[:_MAX_NAMED_PROBLEMS])
    missing = sorted({"alembic_version", *METADATA.tables} - tables)
    return f"it lacks the table {missing[0]}" if missing else None


def mark_as_copy(connection: sqlite3.Connection) -> None:
    """The file is a passing copy of a store."""
    connection.execute(f"PRAGMA user_version = {_COPY_MARK}")


def back_up(store: Path, *, is_daily: bool = False) -> Path | None:
    """A copy of the store as it is, in one state, next to earlier ones; the oldest beyond seven go.

    None where it is not needed: the file is a copy itself, or has a backup of today and `is_daily` asks for no other.
    A damaged store is not copied, so that damage never pushes a good backup out.
    """
    folder = backup_folder(store)
    try:
        with closing(_open(store)) as source:
            (mark,) = source.execute("PRAGMA user_version").fetchone()
            # To the millisecond: a migration takes one backup before it and one after it.
            (now,) = source.execute("SELECT replace(strftime('%Y%m%dT%H%M%f', 'now'), '.', '')").fetchone()
            newest = next((backup.name for backup in list_backups(store)), "")
            if mark == _COPY_MARK or (is_daily and newest[:_DAY] == now[:_DAY]):
                return None
            folder.mkdir(exist_ok=True)
            fresh = folder / f".{uuid.uuid4().hex}"
            try:
                return _copy(source, fresh, folder / f"{now}.db", store)
            finally:
                fresh.unlink(missing_ok=True)
    except (sqlite3.Error, OSError) as failure:
        if isinstance(failure, sqlite3.Error) and is_damage(failure):
            raise storage_error(failure, EmbeddedStore(store)) from failure
        reason = (failure.strerror if isinstance(failure, OSError) else None) or str(failure)
        raise DaybookError("STORE_042", place=str(store), reason=reason) from failure


def _copy(source: sqlite3.Connection, fresh: Path, backup: Path, store: Path) -> Path:
    with closing(sqlite3.connect(fresh)) as target:
        source.backup(target)
        (state,) = target.execute("PRAGMA quick_check(1)").fetchone()
    if state != "ok":
        raise DaybookError("STORE_041", place=str(store), reason=state)
    with fresh.open("rb") as written:
        os.fsync(written.fileno())
    fresh.replace(backup)
    for old in list_backups(store)[_KEPT:]:
        old.unlink(missing_ok=True)
    return backup


def restore_backup(store: Path) -> RestoredStore:
    """Put the newest sound backup in the place of a damaged store, which is kept beside it."""
    damage = find_damage(store) if store.exists() and store.stat().st_size else "it is empty"
    if damage is None:
        raise DaybookError("STORE_043", place=str(store))
    # A backup from before a migration may lack tables that only newer stores have.
    sound = next((backup for backup in list_backups(store) if _is_sound(backup)), None)
    if sound is None:
        raise DaybookError("STORE_044", place=str(store), folder=str(backup_folder(store)))
    fresh = store.with_name(f".{store.name}.{uuid.uuid4().hex}")
    damaged = store.with_name(f"{store.name}.damaged-{uuid.uuid4().hex[:8]}")
    shutil.copyfile(sound, fresh)
    with fresh.open("rb") as written:
        os.fsync(written.fileno())
    # What SQLite keeps beside the file belongs to the damaged one, and would be applied to the restored one.
    for suffix in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            store.with_name(store.name + suffix).rename(damaged.with_name(damaged.name + suffix))
    # At no moment is there no store, which the next command would take for a new workspace.
    with suppress(FileNotFoundError):
        shutil.copyfile(store, damaged)
    fresh.replace(store)
    return RestoredStore(sound, damaged)


def _is_sound(backup: Path) -> bool:
    damage = find_damage(backup)
    return damage is None or damage.startswith("it lacks the table")


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=60)
