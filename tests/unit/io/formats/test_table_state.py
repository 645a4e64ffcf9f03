"""What tables of databases say of themselves, without Spark."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from daybook.definitions.loading import load_text
from daybook.errors import DaybookError
from daybook.io.pins import LandedPin, TableState, pin_from_json, pin_to_json
from daybook.io.registry import format_named
from daybook.resolve.location import Location, table_location
from tests.postgres import PostgresServer


def location_of(root: Path, table: str) -> Location:
    (definition,) = load_text("datasource: {id: db, type: sqlite, options: {path: books.db}}", "d.yaml")
    return table_location(definition.model, table, None, root)


def test_a_sqlite_table_is_there_or_not(tmp_path: Path) -> None:
    sqlite = format_named("sqlite")
    assert not sqlite.table_exists(location_of(tmp_path, "items"), tmp_path)
    with closing(sqlite3.connect(tmp_path / "books.db")) as connection, connection:
        connection.execute("create table items (a integer)")
    assert sqlite.table_exists(location_of(tmp_path, "items"), tmp_path)
    assert not sqlite.table_exists(location_of(tmp_path, "others"), tmp_path)


def test_a_sqlite_table_tells_rows_and_newest(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "books.db")) as connection, connection:
        connection.execute("create table items (a integer)")
    sqlite, location = format_named("sqlite"), location_of(tmp_path, "items")
    assert sqlite.table_state(location, "a", tmp_path) == TableState("db.items", "a", 0, None)
    with closing(sqlite3.connect(tmp_path / "books.db")) as connection, connection:
        connection.execute("insert into items values (4), (9)")
    assert sqlite.table_state(location, "a", tmp_path) == TableState("db.items", "a", 2, "9")
    with pytest.raises(DaybookError) as refused:
        sqlite.table_state(location, "b", tmp_path)
    assert refused.value.code == "IO_002"


@pytest.mark.postgres
def test_a_postgresql_table_tells_the_same(postgres_server: PostgresServer, tmp_path: Path) -> None:
    import psycopg

    url = postgres_server.create_database()
    database = url.removeprefix("postgresql://postgres@/").partition("?")[0]
    options = f"host: {postgres_server.folder}, database: {database}, user: postgres"
    (definition,) = load_text(f"datasource: {{id: db, type: postgresql, options: {{{options}}}}}", "d.yaml")
    location, postgresql = table_location(definition.model, "items", None, tmp_path), format_named("postgresql")
    assert not postgresql.table_exists(location, tmp_path)
    with psycopg.connect(url) as connection:
        connection.execute("create table items (a integer)")
        connection.execute("insert into items values (4), (9)")
    assert postgresql.table_exists(location, tmp_path)
    assert postgresql.table_state(location, "a", tmp_path) == TableState(location.label, "a", 2, "9")
    with pytest.raises(DaybookError) as refused:
        postgresql.table_state(location, "b", tmp_path)
    assert refused.value.code == "IO_012"


def test_a_pin_keeps_what_tables_said() -> None:
    pin = LandedPin(("db.items",), "f", 2, states=(TableState("db.items", "a", 2, "9"),))
    assert pin_from_json(pin_to_json(pin)) == pin
