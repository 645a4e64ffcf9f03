"""Connections to the database of a store, and backups of an embedded store.

A backup is made before a migration and once a day; seven are kept; `doctor --restore` restores the newest sound one.
"""

import datetime
import errno
import os
import shutil
import sqlite3
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, text
from sqlalchemy.exc import DBAPIError, OperationalError

from daybook.errors import DaybookError, flatten
from daybook.model.secrets import read_credential
from daybook.store.address import EmbeddedStore, SharedStore, StoreAddress
from daybook.store.database.tables import METADATA, SCHEMA

BUSY_SECONDS = 60
_READ_ONLY_OPTION = "daybook_read"


def connect_store(address: StoreAddress, root: Path) -> Engine:
    match address:
        case EmbeddedStore(path):
            return _sqlite_engine(path)
        case SharedStore():
            return _postgresql_engine(address, root)


@contextmanager
def write_transaction(engine: Engine, address: StoreAddress) -> Iterator[Connection]:
    """A transaction that may write: all of it or nothing."""
    with _translate_database_errors(address), engine.connect() as connection, connection.begin():
        yield connection


@contextmanager
def read_transaction(engine: Engine, address: StoreAddress) -> Iterator[Connection]:
    """A transaction that only reads and sees one state of the store throughout."""
    with _translate_database_errors(address), engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            connection = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        else:
            connection = connection.execution_options(**{_READ_ONLY_OPTION: True})
        with connection.begin():
            yield connection


def _sqlite_engine(path: Path) -> Engine:
    url = URL.create("sqlite", database=str(path))
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS, "isolation_level": None})

    @event.listens_for(engine, "connect")
    def _prepare(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute("PRAGMA foreign_keys = ON")
        # A commit that was acknowledged survives a power cut.
        connection.execute("PRAGMA synchronous = FULL")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # Taking the write lock first means a transaction waits at its start and never fails half way.
        is_read = connection.get_execution_options().get(_READ_ONLY_OPTION, False)
        connection.exec_driver_sql("BEGIN" if is_read else "BEGIN IMMEDIATE")

    return engine


def _password(address: SharedStore, root: Path) -> str | None:
    if address.credential_ref is None:
        return None
    try:
        return read_credential(address.credential_ref, root)
    except DaybookError as cause:
        raise DaybookError("STORE_029", causes=flatten(cause)) from None


def _postgresql_engine(address: SharedStore, root: Path) -> Engine:
    password = _password(address, root)
    url = URL.create(
        "postgresql+psycopg",
        username=address.user,
        password=password,
        host=address.host,
        port=address.port,
        database=address.database,
        query=dict(address.options),
    )
    return create_engine(
        url,
        isolation_level="READ COMMITTED",
        pool_size=2,
        pool_pre_ping=True,
        connect_args={"connect_timeout": 10, "application_name": "daybook"},
    )


@contextmanager
def _translate_database_errors(address: StoreAddress) -> Iterator[None]:
    """What the database says about itself, in the user's terms; mistakes in our SQL pass through."""
    try:
        yield
    except OperationalError as error:
        if isinstance(error.orig, sqlite3.Error) and is_damage(error.orig):
            raise storage_error(error.orig, address) from error
        if (getattr(error.orig, "sqlite_errorcode", None) or 0) & 0xFF == sqlite3.SQLITE_BUSY:
            raise DaybookError("STORE_006", place=str(address), seconds=BUSY_SECONDS) from error
        if is_disk_full(error.orig, address):
            raise DaybookError("STORE_047", place=str(address), reason=_first_line(error)) from error
        if getattr(error.orig, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR:
            raise
        raise DaybookError("STORE_003", place=str(address), reason=_first_line(error)) from error
    except DBAPIError as error:
        if isinstance(error.orig, sqlite3.Error) and is_damage(error.orig):
            raise storage_error(error.orig, address) from error
        raise


_FULL_STATE = "53100"
_FULL_ERRNOS = (errno.ENOSPC, errno.EDQUOT)
# SQLite needs this much to open a database whose log is empty.
_MIN_FREE_BYTES = 64 << 10


def is_disk_full(error: BaseException | None, address: StoreAddress) -> bool:
    """Whether a database or a folder could not grow; SQLite often says no more than that reading or writing failed."""
    if isinstance(error, OSError):
        return error.errno in _FULL_ERRNOS
    if getattr(error, "sqlstate", None) == _FULL_STATE:
        return True
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN) and isinstance(address, EmbeddedStore):
        with suppress(OSError):
            return shutil.disk_usage(address.path.parent).free < _MIN_FREE_BYTES
    return code == sqlite3.SQLITE_FULL


_DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT)
_DAMAGE_TEXTS = ("malformed", "could not decode to utf-8", "file is not a database")
_MISSING_TABLE = "no such table: "


def is_damage(error: sqlite3.Error) -> bool:
    """Whether SQLite found a file that does not hold what was written."""
    text = str(error)
    if text.startswith(_MISSING_TABLE):
        return text.removeprefix(_MISSING_TABLE).removeprefix("main.") in METADATA.tables
    code = getattr(error, "sqlite_errorcode", None)
    return (code is not None and code & 0xFF in _DAMAGE_CODES) or text.lower().startswith(_DAMAGE_TEXTS)


def storage_error(error: sqlite3.Error, address: StoreAddress) -> DaybookError:
    """What SQLite says of the file of a store; one that is no database and has no backups was never a store."""
    is_foreign = "not a database" in str(error) and isinstance(address, EmbeddedStore) and not address.backups.is_dir()
    code = "STORE_041" if is_damage(error) and not is_foreign else "STORE_003"
    code = "STORE_047" if is_disk_full(error, address) else code
    return DaybookError(code, place=str(address), reason=str(error))


def _first_line(error: DBAPIError) -> str:
    lines = str(error.orig).strip().splitlines()
    return lines[0] if lines else type(error.orig).__name__


def read_clock(connection: Connection) -> datetime.datetime:
    """The time of the database."""
    if connection.dialect.name == "postgresql":
        time: datetime.datetime = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
        return time.astimezone(datetime.UTC)
    reading = connection.execute(text("SELECT strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')")).scalar_one()
    return datetime.datetime.fromisoformat(reading)


def insert_if_absent(connection: Connection, table: Table, values: Mapping[str, Any]) -> bool:
    """False when the key is taken; waits for a transaction that is about to take it."""
    return connection.execute(insert_into(connection, table, values).on_conflict_do_nothing()).rowcount == 1


def insert_into(connection: Connection, table: Table, values: Mapping[str, Any]) -> Any:
    """An insert with `on_conflict_*`, which each dialect has of its own; importing PostgreSQL's takes a while."""
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table).values(values)
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(table).values(values)


_KEPT = 7
_DAY = len("20260131")
# In the header of a file that is a temporary copy of a store, which needs no backups.
_COPY_MARK = 1
_MAX_NAMED_PROBLEMS = 3


@dataclass(frozen=True, slots=True)
class RestoredStore:
    """Which backup was restored, and where the damaged file is now."""

    backup: Path
    damaged: Path


def backup_folder(store: Path) -> Path:
    return EmbeddedStore(store).backups


def list_backups(store: Path) -> tuple[Path, ...]:
    """The newest first; names are times in UTC."""
    folder = backup_folder(store)
    return tuple(sorted(folder.glob("*.db"), reverse=True)) if folder.is_dir() else ()


def find_damage(store: Path) -> str | None:
    """What is wrong with the file of a store, by SQLite's own check and by the tables it must have; None if nothing.

    A store of an older or newer Daybook has other tables; it is not damaged.
    """
    try:
        with closing(_open(store)) as connection:
            problems = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(10)")]
            tables = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            has_schema = "alembic_version" in tables
            query = "SELECT version_num FROM alembic_version"
            schemas = {str(row[0]) for row in connection.execute(query)} if has_schema else set()
    except sqlite3.Error as failure:
        return str(failure)
    if problems != ["ok"]:
        return "; ".join(problems[:_MAX_NAMED_PROBLEMS])
    missing = sorted({"alembic_version", *METADATA.tables} - tables) if schemas <= {SCHEMA} else []
    return f"it lacks the table {missing[0]}" if missing else None


def mark_as_copy(connection: sqlite3.Connection) -> None:
    """The file is a temporary copy of a store."""
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
    """Replace a damaged store by the newest sound backup; the damaged file is kept beside it."""
    damage = find_damage(store) if store.exists() and store.stat().st_size else "it is empty"
    if damage is None:
        raise DaybookError("STORE_043", place=str(store))
    sound = next((backup for backup in list_backups(store) if find_damage(backup) is None), None)
    if sound is None:
        raise DaybookError("STORE_044", place=str(store), folder=str(backup_folder(store)))
    fresh = store.with_name(f".{store.name}.{uuid.uuid4().hex}")
    damaged = store.with_name(f"{store.name}.damaged-{uuid.uuid4().hex[:8]}")
    shutil.copyfile(sound, fresh)
    with fresh.open("rb") as written:
        os.fsync(written.fileno())
    # SQLite's files beside the store belong to the damaged one, and would be applied to the restored one.
    for suffix in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            store.with_name(store.name + suffix).rename(damaged.with_name(damaged.name + suffix))
    # There is a store at every moment; without one, the next command would create a new store.
    with suppress(FileNotFoundError):
        shutil.copyfile(store, damaged)
    fresh.replace(store)
    return RestoredStore(sound, damaged)


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=60)
