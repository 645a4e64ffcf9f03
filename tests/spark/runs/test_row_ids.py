"""Row ids are unique however a table came to hold an id twice, and rows know the period of their slice."""

from typing import Any

import pytest

from tests.workspaces import COLUMNS, Folder, to_table

ID = "019b76da-a800-7abc-8def-0123456789a{}"
MASTER = [
    {"order_id": f"M-{number}", "region": "EMEA", "amount": "1.00", "_row_id": ID.format(number)} for number in range(3)
]
CARRIED = [row["_row_id"] for row in MASTER]


@pytest.fixture
def copied(folder: Folder) -> Folder:
    """A project that writes the same three rows, ids included, for every period."""
    folder.write_csv("data/master.csv", MASTER)
    folder.dataset("master", COLUMNS, {"path": "data/master.csv"})
    return folder


def reads(folder: Folder, datasource: str, *, temporal_mode: str | None) -> None:
    """A project that loads the table, and one that appends it to nothing."""
    mode = {"temporal_mode": temporal_mode} if temporal_mode else {}
    folder.dataset("copies", COLUMNS, {"datasource_id": datasource, "table": "result"}, **mode)
    folder.project(to_table("loaded"), id_="loads", input_="copies")
    append = {"type": "append", "arguments": {"source": {"dataset_id": "copies"}}}
    folder.project({"type": "delete"}, append, to_table("appended"), id_="appends")


def ids(folder: Folder, table: str) -> list[str]:
    return sorted(row["_row_id"] for row in folder.table(table))


def run_reader(folder: Folder, project: str, period: str) -> list[str]:
    return [notice.code for notice in folder.run(period, project).notices if notice.code == "RUN_032"]


def test_one_slice_keeps_the_ids_it_carries(copied: Folder) -> None:
    copied.project(to_table(), input_="master")
    copied.runs("2026-01..2026-02")
    reads(copied, "lake", temporal_mode="period")
    assert run_reader(copied, "loads", "2026-01") == []
    assert ids(copied, "loaded") == CARRIED


@pytest.mark.parametrize(
    "format_", ["delta", *(pytest.param(each, marks=pytest.mark.slow) for each in ("iceberg", "parquet", "csv"))]
)
def test_a_table_that_is_read_as_a_whole_has_every_id_once(copied: Folder, format_: str) -> None:
    copied.datasource("store", format_, path="store")
    copied.project(to_table(datasource="store"), input_="master")
    copied.runs("2026-01..2026-02")
    reads(copied, "store", temporal_mode=None)
    assert run_reader(copied, "loads", "2026-02") == ["RUN_032"]
    assert run_reader(copied, "appends", "2026-02") == ["RUN_032"]
    for table in ("loaded", "appended"):
        assert len(set(ids(copied, table))) == 6
        assert set(ids(copied, table)).isdisjoint(CARRIED)
    first = ids(copied, "loaded")
    copied.run("2026-02", "loads")
    assert ids(copied, "loaded") == first


@pytest.mark.parametrize(
    "format_",
    ["sqlite", *(pytest.param(each, marks=pytest.mark.slow) for each in ("delta", "iceberg", "parquet", "csv"))],
)
def test_a_slice_that_was_appended_to_has_every_id_once(copied: Folder, format_: str) -> None:
    copied.datasource("store", format_, path="store.db" if format_ == "sqlite" else "store")
    copied.project(to_table(datasource="store", mode="append"), input_="master")
    copied.run("2026-01")
    copied.run("2026-01")
    reads(copied, "store", temporal_mode="period")
    assert run_reader(copied, "loads", "2026-01") == ["RUN_032"]
    assert run_reader(copied, "appends", "2026-01") == ["RUN_032"]
    for table in ("loaded", "appended"):
        assert len(ids(copied, table)) == len(set(ids(copied, table))) == 6


def test_ids_of_the_first_append_do_not_change_with_the_second(copied: Folder) -> None:
    copied.project(to_table(mode="append"), input_="master")
    copied.run("2026-01")
    reads(copied, "lake", temporal_mode="period")
    copied.run("2026-01", "loads")
    first = ids(copied, "loaded")
    copied.run("2026-01")
    copied.run("2026-01", "loads")
    assert set(first) < set(ids(copied, "loaded"))


def aggregate(*group_by: str) -> dict[str, Any]:
    sums = [{"column": "total", "expression": "SUM(amount)"}]
    return {"type": "aggregate", "arguments": {"group_by": list(group_by), "aggregations": sums}}


def test_a_registered_dataset_without_period_column_has_the_period_of_its_slice(folder: Folder) -> None:
    folder.project(to_table(register_as_dataset="booked", columns=["order_id", "region", "amount"]))
    folder.runs("2026-01..2026-02")
    folder.project(
        aggregate("_period"),
        to_table("read", selector="_operation_seq = 1", columns=["_period", "total"]),
        to_table("details", selector="_operation_seq = 0", columns=["order_id", "_period"]),
        id_="reads",
        input_="booked",
    )
    folder.run("2026-01", "reads")
    assert [(row["_period"], str(row["total"])) for row in folder.table("read")] == [("2026-01", "150.00")]
    assert {(row["order_id"], row["_period"]) for row in folder.table("details")} == {
        ("O-1", "2026-01"),
        ("O-2", "2026-01"),
        ("O-3", "2026-01"),
    }


def test_totals_without_a_period_belong_to_their_slice_for_whoever_reads_them(folder: Folder) -> None:
    folder.project(aggregate("region"), to_table(register_as_dataset="booked", selector="_operation_seq = 1"))
    folder.run("2026-01")
    assert [row["_period"] for row in folder.table()] == [None, None]
    folder.project(to_table("read"), id_="reads", input_="booked")
    folder.run("2026-01", "reads")
    assert [row["_period"] for row in folder.table("read")] == ["2026-01", "2026-01"]
