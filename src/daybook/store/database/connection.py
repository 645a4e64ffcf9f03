"""Database connections with the transactions and inserts that the store needs."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event
from sqlalchemy.exc import DBAPIError, OperationalError

from daybook.errors import DaybookError, flatten
from daybook.model.secrets import read_credential
from daybook.store.address import EmbeddedStore, SharedStore, StoreAddress
from daybook.store.database.tables import METADATA

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
        if "database is locked" in str(error.orig):
            raise DaybookError("STORE_006", place=str(address), seconds=BUSY_SECONDS) from error
        if getattr(error.orig, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR:
            raise
        raise DaybookError("STORE_003", place=str(address), reason=_first_line(error)) from error
    except DBAPIError as error:
        if isinstance(error.orig, sqlite3.Error) and is_damage(error.orig):
            raise storage_error(error.orig, address) from error
        raise


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
    return DaybookError(code, place=str(address), reason=str(error))


def _first_line(error: DBAPIError) -> str:
    lines = str(error.orig).strip().splitlines()
    return lines[0] if lines else type(error.orig).__name__


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
