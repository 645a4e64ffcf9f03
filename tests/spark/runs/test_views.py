"""Views in runs: other periods as input, in a join and in an append, on files and on tables that runs wrote."""

import datetime
from decimal import Decimal
from typing import Any

import pytest

from daybook.cli import run_results
from daybook.errors import DaybookError
from daybook.workspace.open_workspace import open_workspace
from daybook.workspace.runs import show_run
from tests.workspaces import Folder, to_table

BALANCE_COLUMNS = [{"name": "account", "type": "string"}, {"name": "amount", "type": "decimal(38,2)"}]
MOVEMENTS = {
    "2026-01": {"cash": "100.00", "bank": "40.00"},
    "2026-02": {"cash": "-30.00"},
    "2026-03": {"bank": "5.50", "cash": "1.00"},
}


def movement_rows(changes: dict[str, dict[str, str]] | None = None) -> list[dict[str, str]]:
    months = {**MOVEMENTS, **(changes or {})}
    return [
        {"account": account, "amount": amount, "_period": month}
        for month, amounts in months.items()
        for account, amount in amounts.items()
    ]


def view(folder: Folder, id_: str, of: str, window: Any, **more: Any) -> None:
    folder.define("dataset", {"id": id_, "view": {"of": of, "window": window, **more}})


@pytest.fixture
def rolling(folder: Folder) -> Folder:
    """Closing balances: the opening ones, which are those of the month before, and the movements."""
    folder.write_csv("data/movements.csv", movement_rows())
    folder.dataset("movements", BALANCE_COLUMNS, {"path": "data/movements.csv"}, temporal_mode="period")
    location = {"datasource_id": "lake", "table": "closing"}
    folder.dataset("closing-balances", BALANCE_COLUMNS, location, temporal_mode="period")
    view(folder, "opening-balances", "closing-balances", "previous", missing="empty", period="run")
    folder.project(
        {"type": "append", "arguments": {"source": {"dataset_id": "opening-balances"}}},
        {
            "type": "aggregate",
            "arguments": {
                "group_by": ["account"],
                "aggregations": [{"column": "amount", "expression": "SUM(amount)"}],
            },
        },
        {**to_table("closing", columns=["account", "amount"]), "selector": "_operation_seq = 2"},
        id_="roll",
        input_="movements",
    )
    return folder


def balances(folder: Folder) -> dict[tuple[str, str], Decimal]:
    return {(row["_run_period"], row["account"]): row["amount"] for row in folder.table("closing")}


def test_balances_roll_forward(rolling: Folder) -> None:
    rolling.runs("2026-01..2026-03", "roll")
    assert balances(rolling) == {
        ("2026-01", "cash"): Decimal("100.00"),
        ("2026-01", "bank"): Decimal("40.00"),
        ("2026-02", "cash"): Decimal("70.00"),
        ("2026-02", "bank"): Decimal("40.00"),
        ("2026-03", "cash"): Decimal("71.00"),
        ("2026-03", "bank"): Decimal("45.50"),
    }
    # A month in the middle is run again.
    rolling.write_csv("data/movements.csv", movement_rows({"2026-02": {"cash": "-31.00"}}))
    rolling.runs("2026-02..2026-03", "roll")
    assert balances(rolling)["2026-02", "cash"] == Decimal("69.00")
    assert balances(rolling)["2026-03", "cash"] == Decimal("70.00")
    assert balances(rolling)["2026-01", "cash"] == Decimal("100.00")


def test_a_period_that_is_not_there_is_an_error_unless_the_view_says_empty(rolling: Folder) -> None:
    view(rolling, "opening-balances", "closing-balances", "previous")
    with pytest.raises(DaybookError) as raised:
        rolling.run("2026-02", "roll")
    assert "RESOLVE_093" in str([raised.value.code, *(cause.code for cause in raised.value.causes)])


def test_replay_reads_the_window_as_it_was(rolling: Folder) -> None:
    _, february = rolling.runs("2026-01..2026-02", "roll")
    rolling.write_csv("data/movements.csv", movement_rows({"2026-01": {"cash": "500.00"}}))
    rolling.run("2026-01", "roll")
    assert rolling.replay(february.run_id).is_same


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ({"to_date": "year"}, Decimal("116.50")),
        pytest.param({"last": 2}, Decimal("-23.50"), marks=pytest.mark.slow),
        pytest.param("previous", Decimal("-30.00"), marks=pytest.mark.slow),
        pytest.param({"offset": -2}, Decimal("140.00"), marks=pytest.mark.slow),
        pytest.param("all", Decimal("116.50"), marks=pytest.mark.slow),
    ],
)
def test_windows_on_a_file_of_many_periods(folder: Folder, window: Any, expected: Decimal) -> None:
    folder.write_csv("data/movements.csv", movement_rows())
    folder.dataset("movements", BALANCE_COLUMNS, {"path": "data/movements.csv"}, temporal_mode="period")
    view(folder, "looked-at", "movements", window)
    folder.project(to_table("rows", columns=["amount"]), id_="copy", input_="looked-at")
    folder.run("2026-03", "copy")
    assert sum(row["amount"] for row in folder.table("rows")) == expected


def test_windows_on_a_file_per_period(folder: Folder) -> None:
    for month, amounts in MOVEMENTS.items():
        rows = [{"account": account, "amount": amount} for account, amount in amounts.items()]
        folder.write_csv(f"data/gl/{month}.csv", rows)
    folder.dataset("movements", BALANCE_COLUMNS, {"path": "data/gl/{{identifier}}.csv"}, temporal_mode="period")
    view(folder, "year-to-date", "movements", {"to_date": "year"})
    folder.project(to_table("rows", columns=["account", "amount", "_period"]), id_="copy", input_="year-to-date")
    folder.run("2026-03", "copy")
    assert sorted((row["_period"], row["account"], row["amount"]) for row in folder.table("rows")) == [
        ("2026-01", "bank", Decimal("40.00")),
        ("2026-01", "cash", Decimal("100.00")),
        ("2026-02", "cash", Decimal("-30.00")),
        ("2026-03", "bank", Decimal("5.50")),
        ("2026-03", "cash", Decimal("1.00")),
    ]


def test_rows_of_a_view_get_the_period_of_the_run_where_it_says_so(folder: Folder) -> None:
    folder.write_csv("data/movements.csv", movement_rows())
    folder.dataset("movements", BALANCE_COLUMNS, {"path": "data/movements.csv"}, temporal_mode="period")
    view(folder, "before", "movements", "previous", period="run")
    folder.project(to_table("rows", columns=["account", "_period"]), id_="copy", input_="before")
    folder.run("2026-02", "copy")
    assert sorted((row["_period"], row["account"]) for row in folder.table("rows")) == [
        ("2026-02", "bank"),
        ("2026-02", "cash"),
    ]


def test_closing_rates_are_those_of_the_last_day(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    rates = [
        {"currency": "USD", "rate": "1.10", "valid_from": "2026-01-01", "valid_to": "2026-01-31"},
        {"currency": "USD", "rate": "1.20", "valid_from": "2026-01-31", "valid_to": ""},
    ]
    folder.write_csv("data/rates.csv", rates)
    columns = [{"name": "currency", "type": "string"}, {"name": "rate", "type": "decimal(9,2)"}]
    folder.dataset("rates", columns, {"path": "data/rates.csv"}, temporal_mode="bitemporal")
    folder.dataset("closing-rates", columns, {"path": "data/rates.csv"}, temporal_mode="bitemporal", as_of="end")
    view(folder, "last-closing-rates", "closing-rates", "previous")
    for number, dataset in enumerate(("rates", "closing-rates", "last-closing-rates")):
        folder.project(to_table(f"t{number}", columns=["rate"]), id_=f"p{number}", input_=dataset)
    folder.run("2026-01", "p0")
    closing = folder.run("2026-01", "p1")
    last = folder.run("2026-02", "p2")
    found = [folder.table(f"t{number}")[0]["rate"] for number in range(3)]
    assert found == [Decimal("1.10"), Decimal("1.20"), Decimal("1.20")]
    end = datetime.date(2026, 1, 31)
    assert (closing.own_as_of, last.own_as_of) == ({"closing-rates": end}, {"last-closing-rates": end})
    assert show_run(open_workspace(folder.root), last.run_id).own_as_of == {"last-closing-rates": end}
    run_results.show_run_result(closing, is_quiet=False)
    assert (
        f"run {closing.run_id}, as of 2026-01-01 (closing-rates as of 2026-01-31), project" in capsys.readouterr().out
    )


def test_a_roll_forward_through_a_declared_dataset_without_a_location(folder: Folder) -> None:
    """January: EMEA 150, APAC 0; February adds 70 to APAC."""
    columns = [{"name": "region", "type": "string"}, {"name": "amount", "type": "decimal(38,2)"}]
    folder.dataset("closing", columns, None, temporal_mode="period")
    view = {"of": "closing", "window": "previous", "missing": "empty", "period": "run"}
    folder.define("dataset", {"id": "opening", "view": view})
    balances = {"group_by": ["region"], "aggregations": [{"column": "amount", "expression": "SUM(amount)"}]}
    closing = to_table("closing", register_as_dataset="closing", columns=["region", "amount"])
    folder.project(
        {"type": "append", "arguments": {"source": {"dataset_id": "opening"}}},
        {"type": "aggregate", "arguments": balances},
        {**closing, "selector": "_operation_seq = 2"},
        id_="roll",
    )
    folder.apply()
    folder.activate("roll")
    folder.runs("2026-01..2026-02", project="roll")
    found = {(row["_run_period"], row["region"]): str(row["amount"]) for row in folder.table("closing")}
    assert found == {
        ("2026-01", "EMEA"): "150.00",
        ("2026-01", "APAC"): "0.00",
        ("2026-02", "EMEA"): "150.00",
        ("2026-02", "APAC"): "70.00",
    }
