"""Outputs that become datasets: versions, schema, time, readers, and what is only a warning."""

from decimal import Decimal
from typing import Any

import pytest

from daybook.errors import DaybookError
from daybook.model.types import STRING, DecimalType
from daybook.runs.run_result import RunResult
from tests.workspaces import COLUMNS, LAKE_VARIABLE, ORDERS, Folder, assign, to_path, to_table


@pytest.fixture(params=["delta", pytest.param("iceberg", marks=pytest.mark.slow)], autouse=True)
def lake(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What holds for registrations on one kind of table holds for the other."""
    monkeypatch.setenv(LAKE_VARIABLE, request.param)


def codes(result: RunResult) -> list[str]:
    return [notice.code for notice in result.notices]


def registered(folder: Folder, dataset_id: str, version: int | None = None) -> Any:
    with folder.around() as around, around.store.read() as transaction:
        return transaction.stored_definitions(with_sandbox=True).dataset(dataset_id, version)


def test_new_and_next_version_with_the_exact_schema(folder: Folder) -> None:
    folder.project(assign("tax", "amount * 0.19"), to_table(register_as_dataset="booked"))
    first = folder.run("2026-01")
    second = folder.run("2026-02")
    assert [(run.outputs[0].dataset_id, run.outputs[0].dataset_version) for run in (first, second)] == [
        ("booked", 1),
        ("booked", 2),
    ]
    table = registered(folder, "booked").dataset.main_table
    assert [(column.name, column.type) for column in table.columns] == [
        ("order_id", STRING),
        ("region", STRING),
        ("amount", DecimalType(18, 2)),
        ("tax", DecimalType(21, 4)),
    ]
    assert table.temporal_mode == "period"
    assert codes(first) == []


def test_readable_at_once_as_input_join_and_append_source(folder: Folder) -> None:
    folder.project(assign("tax", "amount * 2"), to_table(register_as_dataset="booked"))
    folder.run("2026-01")
    folder.project(assign("net", "amount + tax"), to_table("as_input"), id_="reads", input_="booked")
    folder.project(
        {
            "type": "update",
            "arguments": {
                "joins": [{"alias": "b", "dataset_id": "booked", "on": "orders.order_id = b.order_id"}],
                "assignments": [{"column": "tax", "expression": "b.tax"}],
            },
        },
        {"type": "append", "arguments": {"source": {"dataset_id": "booked"}, "source_selector": "amount = 0"}},
        to_table("as_join"),
        id_="joins",
    )
    folder.run("2026-01", "reads")
    folder.run("2026-01", "joins")
    assert sorted((row["order_id"], row["net"]) for row in folder.table("as_input")) == [
        ("O-1", Decimal(300)),
        ("O-2", Decimal(150)),
        ("O-3", Decimal(0)),
    ]
    assert sorted((row["order_id"], row["tax"], row["_source_dataset_id"]) for row in folder.table("as_join")) == [
        ("O-1", Decimal(200), "orders"),
        ("O-2", Decimal(100), "orders"),
        ("O-3", Decimal(0), "booked"),
        ("O-3", Decimal(0), "orders"),
    ]


def test_an_old_version_stays_readable_as_it_was(folder: Folder) -> None:
    folder.project(to_table(register_as_dataset="booked"))
    folder.run("2026-01")
    folder.write_csv("data/orders.csv", [{**row, "amount": "1.00"} for row in ORDERS])
    folder.run("2026-01")
    folder.project(to_table("then"), id_="then", input={"dataset_id": "booked", "dataset_version": 1})
    folder.project(to_table("now"), id_="now", input_="booked")
    folder.run("2026-01", "then")
    folder.run("2026-01", "now")
    assert {row["order_id"]: row["amount"] for row in folder.table("then")}["O-1"] == Decimal("100.00")
    assert {row["order_id"]: row["amount"] for row in folder.table("now")}["O-1"] == Decimal("1.00")


def test_summary_rows_come_along_by_their_slice(folder: Folder) -> None:
    total = {"group_by": ["region"], "aggregations": [{"column": "total", "expression": "SUM(amount)"}]}
    folder.project({"type": "aggregate", "arguments": total}, to_table(register_as_dataset="booked"))
    folder.runs("2026-01..2026-02")
    folder.project(to_table("copy"), id_="reads", input_="booked")
    result = folder.run("2026-01", "reads")
    totals = sorted(
        (row["region"], row["total"], row["_origin_seq"]) for row in folder.table("copy") if row["_origin_seq"]
    )
    assert totals == [("APAC", Decimal("0.00"), 1), ("EMEA", Decimal("150.00"), 1)]
    assert result.outputs[0].rows_written == 5


@pytest.mark.parametrize(
    "temporal",
    [
        {},
        pytest.param({"temporal_mode": "snapshot"}, marks=pytest.mark.slow),
        pytest.param({"temporal_mode": "bitemporal"}, marks=pytest.mark.slow),
    ],
)
def test_every_period_reads_what_its_own_run_wrote(folder: Folder, temporal: dict[str, str]) -> None:
    lists = [{"item": "a", "price": "2.00", "valid_from": "2020-01-01", "valid_to": ""}]
    columns = [{"name": "item", "type": "string"}, {"name": "price", "type": "decimal(18,2)"}]
    folder.dataset("prices", columns, {"path": "data/prices.csv"}, **temporal)
    folder.write_csv("data/prices.csv", lists)
    total = {"group_by": ["item"], "aggregations": [{"column": "total", "expression": "SUM(price)"}]}
    folder.project(
        {"type": "aggregate", "arguments": total}, to_table("listed", register_as_dataset="listed"), input_="prices"
    )
    folder.runs("2026-01..2026-02")
    folder.project(to_table("copy"), id_="reads", input_="listed")
    folder.runs("2026-01..2026-02", "reads")
    found = sorted((row["_run_period"], row["_origin_seq"], row["price"], row["total"]) for row in folder.table("copy"))
    price = Decimal("2.00")
    assert found == [
        (period, seq, *values)
        for period in ("2026-01", "2026-02")
        for seq, values in ((0, (price, None)), (1, (None, price)))
    ]


def test_without_delta_it_follows_the_live_data_and_says_so(folder: Folder) -> None:
    folder.project(to_path("out/{{identifier}}.csv", register_as_dataset="listed"))
    result = folder.run("2026-01")
    assert codes(result) == ["RUN_008"]
    assert result.outputs[0].dataset_id == "listed"
    folder.project(to_table("copy"), id_="reads", input_="listed")
    assert folder.run("2026-01", "reads").outputs[0].rows_written == 3


def test_the_temporal_mode_survives_with_its_columns(folder: Folder) -> None:
    folder.project(
        to_table("all", register_as_dataset="table"),
        to_table("some", register_as_dataset="columns-of-table", columns=["order_id"]),
        to_path("out/all.parquet", register_as_dataset="file"),
        to_path("out/some.parquet", register_as_dataset="columns-of-file", columns=["order_id"]),
    )
    folder.run("2026-01")
    modes = {"table": "period", "columns-of-table": "period", "file": "period", "columns-of-file": None}
    assert {name: registered(folder, name).dataset.main_table.temporal_mode for name in modes} == modes


def test_a_registration_that_is_declared_otherwise_is_refused_before_anything_is_written(folder: Folder) -> None:
    folder.dataset("mine", [{"name": "x", "type": "string"}], {"path": "data/mine.csv"})
    folder.project(to_table("other"), id_="keeps-mine", input_="mine")
    folder.write_csv("data/mine.csv", [{"x": "1"}])
    folder.run("2026-01", "keeps-mine")
    folder.project(to_table(register_as_dataset="mine"))
    with pytest.raises(DaybookError) as refused:
        folder.run("2026-01")
    assert refused.value.code == "OUTPUT_023"
    assert not (folder.root / "lake").joinpath("result").exists()
    assert folder.dataset_versions("mine") == (1,)


def test_an_output_of_system_columns_alone_is_no_dataset(folder: Folder) -> None:
    """V-007, before anything is written."""
    folder.project(to_table(columns=["_row_id"], register_as_dataset="bare"))
    with pytest.raises(DaybookError) as refused:
        folder.run("2026-01")
    assert refused.value.code == "OUTPUT_007"
    assert not (folder.root / "lake").joinpath("result").exists()


def test_a_name_that_is_no_id_gets_a_slug_and_stays(folder: Folder) -> None:
    folder.project(to_table(register_as_dataset="Monthly totals"))
    assert folder.run("2026-01").outputs[0].dataset_id == "monthly-totals"
    assert registered(folder, "monthly-totals").dataset.name == "Monthly totals"


def test_a_dataset_that_a_file_declares_gets_the_data_of_an_output(folder: Folder) -> None:
    folder.dataset("booked", [COLUMNS[0], {"name": "amount", "type": "decimal(20,4)"}], None, temporal_mode="period")
    folder.project(to_table(register_as_dataset="booked"))
    first, second = folder.run("2026-01"), folder.run("2026-02")
    assert [run.outputs[0].dataset_version for run in (first, second)] == [2, 3]
    folder.project(to_table("copy", system_columns=False), id_="reads", input_="booked")
    assert folder.run("2026-01", "reads").outputs[0].rows_written == 3
    # Every row is read through the declaration, not as it was written.
    assert set(folder.table("copy")[0]) == {"order_id", "amount", "_run_period"}


def test_a_version_that_breaks_a_project_is_told(folder: Folder) -> None:
    folder.project(assign("tax", "amount * 2"), to_table(register_as_dataset="booked"))
    folder.run("2026-01")
    folder.project(assign("net", "amount + tax"), to_table("net"), id_="reads", input_="booked")
    folder.run("2026-01", "reads")
    folder.activate("reads")
    folder.project(to_table(mode="replace", register_as_dataset="booked"))
    assert codes(folder.run("2026-01")) == ["RUN_020"]


TOTAL_BY_REGION = {
    "type": "aggregate",
    "arguments": {"group_by": ["region"], "aggregations": [{"column": "total", "expression": "SUM(amount)"}]},
}


def with_total_of_region(dataset_id: str) -> dict[str, Any]:
    joins = [{"alias": "t", "dataset_id": dataset_id, "on": "region = t.region"}]
    assignments = [{"column": "total", "expression": "t.total"}]
    return {"type": "update", "arguments": {"joins": joins, "assignments": assignments}}


@pytest.mark.parametrize(
    "location",
    [
        "out/sums.csv",
        "out/{{identifier}}.parquet",
        {"path": "out/folder", "format": "json"},
        pytest.param({"path": "out/delta", "format": "delta"}, marks=pytest.mark.slow),
        pytest.param({"path": "out/folder", "format": "parquet"}, marks=pytest.mark.slow),
    ],
)
def test_totals_in_a_registered_file_or_folder_belong_to_the_period_of_its_run(folder: Folder, location: Any) -> None:
    """January: EMEA 100 and 50, APAC 0; the totals have no `_period` of their own."""
    written = to_path(location, register_as_dataset="sums", columns=["region", "total", "_period"])
    folder.project(TOTAL_BY_REGION, {**written, "selector": "_operation_seq = 1"}, id_="writes")
    folder.run("2026-01", "writes")
    folder.project(with_total_of_region("sums"), to_table("joined"), id_="joins")
    folder.project(to_table("copy"), id_="reads", input_="sums")
    folder.run("2026-01", "joins")
    folder.run("2026-01", "reads")
    totals = {row["order_id"]: row["total"] for row in folder.table("joined")}
    assert totals == {"O-1": Decimal(150), "O-2": Decimal(150), "O-3": Decimal(0)}
    assert {(row["region"], row["_period"]) for row in folder.table("copy")} == {
        ("EMEA", "2026-01"),
        ("APAC", "2026-01"),
    }


def test_totals_in_a_file_that_somebody_changed_belong_to_no_period(folder: Folder) -> None:
    written = to_path("out/sums.csv", register_as_dataset="sums", columns=["region", "total", "_period"])
    folder.project(TOTAL_BY_REGION, {**written, "selector": "_operation_seq = 1"}, id_="writes")
    folder.run("2026-01", "writes")
    with (folder.root / "out/sums.csv").open("a", encoding="utf-8") as file:
        file.write("LATAM,7.00,2026-01\n")
    folder.project(to_table("copy"), id_="reads", input_="sums")
    folder.run("2026-01", "reads")
    assert [row["region"] for row in folder.table("copy")] == ["LATAM"]


PRICE_COLUMNS = [{"name": "item", "type": "string"}, {"name": "price", "type": "decimal(18,2)"}]


def register_prices(folder: Folder, period: str, price: str, **input_: str) -> RunResult:
    """Prices of a timeless list, registered through a table that collects periods."""
    folder.dataset("prices", PRICE_COLUMNS, {"path": "data/prices.csv"}, **input_)
    row = {"item": "a", "price": price}
    folder.write_csv("data/prices.csv", [{**row, "valid_from": "2020-01-01", "valid_to": ""}] if input_ else [row])
    folder.project(
        to_table("listed", register_as_dataset="listed", columns=["item", "price"]), id_="lists", input_="prices"
    )
    return folder.run(period, "lists")


def prices_read(folder: Folder, period: str, input_: Any = "listed") -> list[Decimal]:
    reference = input_ if isinstance(input_, dict) else {"dataset_id": input_}
    folder.define("project", {"id": "reads", "input": reference, "operations": [to_table("copy", on_empty="replace")]})
    folder.run(period, "reads")
    return [row["price"] for row in folder.table("copy") if row["_run_period"] == period]


def test_a_timeless_dataset_that_was_registered_once_is_read_in_every_period(folder: Folder) -> None:
    register_prices(folder, "2026-02", "2.00")
    assert registered(folder, "listed").dataset.main_table.temporal_mode is None
    assert [prices_read(folder, period) for period in ("2026-01", "2026-02", "2026-03")] == [[Decimal(2)]] * 3


def test_of_several_slices_the_own_the_last_before_or_the_first_is_read(folder: Folder) -> None:
    register_prices(folder, "2026-04", "4.00")
    register_prices(folder, "2026-02", "2.00")
    periods = ("2026-01", "2026-02", "2026-03", "2026-04", "2026-05")
    found = [prices_read(folder, period) for period in periods]
    assert found == [[Decimal(2)], [Decimal(2)], [Decimal(2)], [Decimal(4)], [Decimal(4)]]


def test_a_version_that_is_named_is_the_slice_of_its_run_and_a_view_reads_the_slice_of_its_period(
    folder: Folder,
) -> None:
    first = register_prices(folder, "2026-04", "4.00").outputs[0].dataset_version
    register_prices(folder, "2026-02", "2.00")
    assert prices_read(folder, "2026-02", {"dataset_id": "listed", "dataset_version": first}) == [Decimal(4)]
    for window, expected in (("previous", [2]), ({"last": 4}, [2, 4])):
        folder.define("dataset", {"id": "before", "view": {"of": "listed", "window": window, "missing": "empty"}})
        period = "2026-03" if window == "previous" else "2026-05"
        assert sorted(prices_read(folder, period, "before")) == [Decimal(each) for each in expected]
        assert {row["_period"] for row in folder.table("copy") if row["_run_period"] == period} <= {
            "2026-02",
            "2026-04",
        }


def test_a_bitemporal_input_without_its_validity_becomes_timeless(folder: Folder) -> None:
    register_prices(folder, "2026-02", "2.00", temporal_mode="bitemporal")
    assert registered(folder, "listed").dataset.main_table.temporal_mode is None
    assert prices_read(folder, "2026-03") == [Decimal(2)]


def test_a_join_of_a_table_that_has_other_periods_only_is_noticed(folder: Folder) -> None:
    only_totals = {**to_table("sums", register_as_dataset="sums"), "selector": "_operation_seq = 1"}
    folder.project(TOTAL_BY_REGION, only_totals, id_="sums")
    folder.run("2026-01", "sums")
    folder.project(
        with_total_of_region("sums"),
        {"type": "append", "arguments": {"source": {"dataset_id": "sums"}}},
        to_table("joined"),
        id_="joins",
    )
    absent = [notice for notice in folder.run("2026-02", "joins").notices if notice.code == "RUN_054"]
    assert [notice.operation_seq for notice in absent] == [1, 2]
    folder.run("2026-02", "sums")
    assert "RUN_054" not in codes(folder.run("2026-02", "joins"))
