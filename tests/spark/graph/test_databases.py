"""Databases in a close: a first period whose table is not there yet, and whether a table has changed."""

import sqlite3
from contextlib import closing
from typing import Any

import psycopg
import pytest

from daybook.graph.build_plan import BuildRequest
from daybook.model.datasource import PostgresqlSource
from daybook.workspace.close import build_close, close_status
from daybook.workspace.lifecycle import activate_projects
from daybook.workspace.open_workspace import OpenedWorkspace, open_workspace
from tests.workspaces import Folder, to_table

BALANCES = [{"name": "account", "type": "string"}, {"name": "amount", "type": "decimal(38,2)"}]


@pytest.fixture
def books(folder: Folder) -> Folder:
    folder.datasource("db", "sqlite", path="books.db")
    return folder


def execute(folder: Folder, *statements: str) -> None:
    with closing(sqlite3.connect(folder.root / "books.db")) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def opened(folder: Folder) -> OpenedWorkspace:
    return open_workspace(folder.root, session=folder.session)


def built(folder: Folder, period: str) -> dict[str, tuple[str, str | None]]:
    result = build_close(opened(folder), BuildRequest(period))
    return {each.node.name: (each.result, each.reason) for each in result.nodes}


def test_the_first_period_of_a_roll_forward_needs_no_table(books: Folder) -> None:
    location: dict[str, Any] = {"datasource_id": "db", "table": "closing"}
    books.dataset("closing", BALANCES, location, temporal_mode="period")
    books.define("dataset", {"id": "opening", "view": {"of": "closing", "window": "previous", "missing": "empty"}})
    books.dataset("movements", BALANCES, {"path": "gl/{{identifier}}.csv"}, temporal_mode="period")
    for month, amount in (("2026-01", "10.00"), ("2026-02", "2.50")):
        books.write_csv(f"gl/{month}.csv", [{"account": "cash", "amount": amount}])
    total = {"group_by": ["account"], "aggregations": [{"column": "amount", "expression": "SUM(amount)"}]}
    books.project(
        {"type": "append", "arguments": {"source": {"dataset_id": "opening"}}},
        {"type": "aggregate", "arguments": total},
        {**to_table("closing", "db", columns=["account", "amount"]), "selector": "_operation_seq = 2"},
        id_="roll",
        input_="movements",
    )
    activate_projects(opened(books))
    assert {result for result, _ in built(books, "2026-01..2026-02").values()} == {"ran"}
    with closing(sqlite3.connect(books.root / "books.db")) as connection:
        rows = connection.execute("select _run_period, amount from closing order by 1").fetchall()
    assert [(period, str(amount)) for period, amount in rows] == [("2026-01", "10.00"), ("2026-02", "12.50")]
    assert {result for result, _ in built(books, "2026-01..2026-02").values()} == {"fresh"}


@pytest.mark.parametrize("has_column", [True, False])
def test_a_table_is_asked_by_the_column_that_its_dataset_names(books: Folder, has_column: bool) -> None:
    execute(
        books,
        "create table items (account text, amount text, changed text)",
        "insert into items values ('cash', '1.00', '2026-01-05')",
    )
    table = {"name": "items", "columns": BALANCES, "location": {"datasource_id": "db", "table": "items"}}
    rule = {"freshness": {"column": "changed"}} if has_column else {}
    books.define("dataset", {"id": "items", "main_table": table, **rule})
    books.project(to_table("copy"), id_="copies", input_="items")
    activate_projects(opened(books))
    assert built(books, "2026-01")["copies@2026-01"][0] == "ran"
    (status,) = close_status(opened(books), period="2026-01").nodes
    assert (status.state, status.reasons) == ("unknown", ("items 2026-01: the database was not asked",))
    (asked,) = close_status(opened(books), period="2026-01", ask=True).nodes
    if not has_column:
        assert (asked.state, asked.reasons) == ("stale", ("items 2026-01: a database is read again by every build",))
        return
    assert (asked.state, asked.reasons) == ("fresh", ())
    assert built(books, "2026-01")["copies@2026-01"][0] == "fresh"
    execute(books, "update items set amount = '2.00', changed = '2026-01-06'")
    (asked,) = close_status(opened(books), period="2026-01", ask=True).nodes
    words = (
        "items 2026-01: db.items has 1 rows, changed up to 2026-01-06; the run read 1 rows, changed up to 2026-01-05"
    )
    assert (asked.state, asked.reasons) == ("stale", (words,))
    assert built(books, "2026-01")["copies@2026-01"][0] == "ran"


def test_a_draft_of_a_table_is_kept_until_the_table_changes(books: Folder) -> None:
    """Drafts and live runs compare a table in the same way: by the column that its dataset names."""
    (books.root / "daybook.yaml").write_text("{name: tests, sandbox: sandbox}")
    execute(
        books,
        "create table items (account text, amount text, changed text)",
        "insert into items values ('cash', '1.00', '2026-01-05')",
    )
    table = {"name": "items", "columns": BALANCES, "location": {"datasource_id": "db", "table": "items"}}
    books.define("dataset", {"id": "items", "main_table": table, "freshness": {"column": "changed"}})
    books.project(to_table("copy"), id_="copies", input_="items")
    request = BuildRequest("2026-01", is_draft=True)

    def outcome() -> str:
        (node,) = build_close(opened(books), request).nodes
        return node.result

    assert [outcome(), outcome()] == ["ran", "fresh"]
    execute(books, "insert into items values ('bank', '2.00', '2026-01-09')")
    assert [outcome(), outcome()] == ["ran", "fresh"]


def test_nodes_side_by_side_write_to_postgresql(folder: Folder, postgresql: PostgresqlSource) -> None:
    """Spark finds the data source that writes there by the session of the node's own thread."""
    options = postgresql.options
    folder.datasource("pg", "postgresql", host=options.host, database=options.database, user=options.user)
    folder.project(to_table("built_orders", "pg"), id_="writes")
    activate_projects(opened(folder))
    assert {result for result, _ in built(folder, "2026-01..2026-02").values()} == {"ran"}
    with psycopg.connect(f"host={options.host} dbname={options.database} user={options.user}") as connection:
        query = "select _run_period, count(*) from built_orders group by 1 order by 1"
        rows = connection.execute(query).fetchall()
    assert rows == [("2026-01", 3), ("2026-02", 1)]
