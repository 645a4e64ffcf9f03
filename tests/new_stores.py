"""New SQLite stores of tests: Alembic makes the first one of a test run, the others get its tables.

Alembic takes fifty milliseconds for each. Stores that exist already are migrated as ever. All stores share the
statements that SQLAlchemy compiled, which it keeps apart for each of them otherwise.
"""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from typing import Any
from unittest.mock import patch

from sqlalchemy import Connection, Engine, create_engine, insert
from sqlalchemy.util import LRUCache

from daybook.store import store
from daybook.store.database import connection as connections
from daybook.store.database.log import NO_LINE, write_line
from daybook.store.database.tables import LOG_HEAD, LOG_LINE, WORKSPACE_IDENTITY, WORKSPACE_ROOT
from daybook.store.database.workspace_root import WorkspaceRoot
from daybook.store.records import Actor, LogHead

Upgrade = Callable[[Connection, WorkspaceRoot | None], None]
BY_ALEMBIC: Upgrade = store.upgrade_schema


@cache
def _statements() -> tuple[str, ...]:
    """What creates the tables, indexes and triggers of the newest schema, in their order."""
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        BY_ALEMBIC(connection, None)
        rows = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
        statements = tuple(rows.scalars())
    engine.dispose()
    return statements


def copy_schema(connection: Connection, root: WorkspaceRoot | None = None) -> None:
    if connection.dialect.name != "sqlite" or store.read_schema_version(connection) is not None:
        BY_ALEMBIC(connection, root)
        return
    for statement in _statements():
        connection.exec_driver_sql(statement)
    connection.exec_driver_sql("INSERT INTO alembic_version VALUES (?)", (store.LATEST_SCHEMA,))
    connection.execute(insert(WORKSPACE_IDENTITY), {"number": 1, "id": secrets.token_hex(16), "kind": "own"})
    line, head = write_line(LogHead(0, NO_LINE), datetime.now(UTC), Actor("tests"), "begin", "copied", {})
    connection.execute(insert(LOG_LINE), {"number": head.number, "line": line})
    connection.execute(insert(LOG_HEAD), {"number": head.number, "digest": head.digest})
    if root is not None:
        connection.execute(insert(WORKSPACE_ROOT), {"root": root.real})


@contextmanager
def made_by(upgrade: Upgrade) -> Iterator[None]:
    with patch.object(store, "upgrade_schema", upgrade):
        yield


@contextmanager
def shared_statements() -> Iterator[None]:
    first = create_engine("sqlite://")
    first.connect().close()
    first.dispose()
    compiled = LRUCache[Any, Any](1000)

    def create(url: Any, **options: Any) -> Engine:
        engine = create_engine(url, **options)
        if engine.dialect.name == first.dialect.name:
            # Compiled statements are found by the dialect that they were compiled for.
            engine.dialect = engine.pool._dialect = first.dialect
            engine.update_execution_options(compiled_cache=compiled)
        return engine

    with patch.object(connections, "create_engine", create):
        yield
