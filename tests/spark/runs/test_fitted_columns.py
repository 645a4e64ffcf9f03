"""An output column that has fewer places than its table's is written in the table's type."""

import json
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import pytest
from deltalake import DeltaTable

from daybook.errors import DaybookError
from daybook.runs.run_result import RunFailedError
from tests.postgres import PostgresServer
from tests.workspaces import ORDERS, Folder, assign, to_path, to_table

FORMATS = (
    *("delta", "parquet", "csv", "json", "sqlite"),
    pytest.param("postgresql", marks=pytest.mark.postgres),
)


def target_of(folder: Folder, type_: str, server: PostgresServer | None = None) -> None:
    """A data source `target` of a type."""
    options: dict[str, Any] = {"path": "target.db" if type_ == "sqlite" else "target"}
    if server is not None:
        url = urlsplit(server.create_database())
        options = {"host": str(server.folder), "database": url.path.removeprefix("/"), "user": "postgres"}
    folder.datasource("target", type_, **options)


def table_of(folder: Folder, type_: str, server: PostgresServer | None = None) -> None:
    """The same, with a project that writes one of its tables with two places."""
    target_of(folder, type_, server)
    project(folder, 2)


@pytest.fixture
def server(request: pytest.FixtureRequest, type_: str) -> PostgresServer | None:
    return request.getfixturevalue("postgres_server") if type_ == "postgresql" else None


def project(folder: Folder, places: int, **more: Any) -> None:
    folder.project(
        assign("share", f"ROUND(amount / 3, {places})"),
        to_table(datasource="target", columns=["order_id", "share"], register_as_dataset="shares", **more),
    )


def shares(folder: Folder, period: str) -> list[Decimal]:
    """As the next project reads them."""
    folder.project(to_path("shares.jsonl", columns=["order_id", "share"]), id_="reader", input_="shares")
    folder.run(period, "reader")
    lines = (folder.root / "shares.jsonl").read_text().splitlines()
    return sorted(Decimal(json.loads(line, parse_float=str)["share"]) for line in lines)


@pytest.mark.parametrize("type_", FORMATS)
def test_fewer_places_than_the_table_has(folder: Folder, type_: str, server: PostgresServer | None) -> None:
    table_of(folder, type_, server)
    folder.run("2026-01")
    before = shares(folder, "2026-01")
    assert before == [Decimal("0.00"), Decimal("16.67"), Decimal("33.33")]
    project(folder, 1)
    result = folder.run("2026-02")
    assert shares(folder, "2026-02") == [Decimal("23.3")]
    assert shares(folder, "2026-01") == before
    replayed = folder.replay(result.run_id)
    assert [output.is_same for output in replayed.outputs] == [True]
    again = folder.run("2026-01")
    assert again.status == "completed"
    assert shares(folder, "2026-01") == [Decimal("0.0"), Decimal("16.7"), Decimal("33.3")]


def test_a_table_keeps_its_type_and_so_does_the_registered_dataset(folder: Folder) -> None:
    table_of(folder, "delta")
    folder.run("2026-01")
    types = [str(field.type) for field in DeltaTable(folder.root / "target/result").schema().fields]
    project(folder, 1)
    folder.run("2026-02")
    assert [str(field.type) for field in DeltaTable(folder.root / "target/result").schema().fields] == types
    with folder.around() as around, around.store.read() as transaction:
        found = transaction.stored_definitions(with_sandbox=True)
        first, second = (found.dataset("shares", version) for version in (1, 2))
    assert first is not None
    assert second is not None
    assert first.dataset.main_table.columns == second.dataset.main_table.columns


@pytest.mark.parametrize("type_", FORMATS)
def test_a_value_that_does_not_fit_fails_before_the_commit(
    folder: Folder, type_: str, server: PostgresServer | None
) -> None:
    target_of(folder, type_, server)
    folder.project(assign("share", "amount * 1.00"), to_table(datasource="target", columns=["order_id", "share"]))
    folder.run("2026-01")
    folder.write_csv("data/orders.csv", [{**ORDERS[0], "amount": "9" * 15}])
    wide = assign("share", "amount * 100000000000000000000000")
    folder.project(wide, to_table(datasource="target", columns=["order_id", "share"]))
    with pytest.raises(RunFailedError) as failed:
        folder.run("2026-01")
    assert failed.value.error.code == "PROJECT_033"
    assert failed.value.error.parameters["column"] == "share"


def test_more_places_and_other_kinds_are_refused_as_before(folder: Folder) -> None:
    table_of(folder, "delta")
    folder.run("2026-01")
    for expression in ("ROUND(amount / 3, 3)", "order_id"):
        folder.project(assign("share", expression), to_table(datasource="target", columns=["order_id", "share"]))
        with pytest.raises(DaybookError) as refused:
            folder.run("2026-02")
        assert [cause.code for cause in refused.value.causes] == ["IO_021"]


def test_an_integer_is_written_as_the_decimal_of_the_table(folder: Folder) -> None:
    table_of(folder, "parquet")
    folder.run("2026-01")
    folder.project(
        assign("share", "7"),
        to_table(datasource="target", columns=["order_id", "share"], register_as_dataset="shares"),
    )
    folder.run("2026-02")
    assert shares(folder, "2026-02") == [Decimal(7)]
