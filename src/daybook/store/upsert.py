"""Inserts that give way to a row another process wrote first."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_if_absent(connection: Connection, table: Table, values: Mapping[str, Any]) -> bool:
    """False when the key is taken; waits for a transaction that is about to take it."""
    if connection.dialect.name == "postgresql":
        return connection.execute(postgresql.insert(table).values(values).on_conflict_do_nothing()).rowcount == 1
    return connection.execute(sqlite.insert(table).values(values).on_conflict_do_nothing()).rowcount == 1
