"""What each mode leaves in a table, and who may write a slice."""

from decimal import Decimal
from typing import Any

import pytest

from daybook.errors import DaybookError
from daybook.runs.run_result import RunFailedError
from tests.workspaces import ORDERS, Folder, assign, to_path, to_table

JANUARY = [("2026-01", "O-1"), ("2026-01", "O-2"), ("2026-01", "O-3")]
FEBRUARY = [("2026-02", "O-4")]


def causes(failed: pytest.ExceptionInfo[DaybookError] | pytest.ExceptionInfo[RunFailedError]) -> list[str]:
    """V-006: OUTPUT_006 says that writing failed, its causes why."""
    error = failed.value.error if isinstance(failed.value, RunFailedError) else failed.value
    assert error.code == "OUTPUT_006"
    return [cause.code for cause in error.causes]


def test_a_table_collects_periods_and_a_run_replaces_its_slice_only(folder: Folder) -> None:
    folder.project(to_table())
    folder.run("2026-01")
    result = folder.run("2026-02")
    assert folder.ids() == JANUARY + FEBRUARY
    assert (result.outputs[0].rows_written, result.operations[0].rows_added) == (1, 1)
    folder.write_csv("data/orders.csv", ORDERS[1:])
    folder.run("2026-01")
    assert folder.ids() == [("2026-01", "O-2"), ("2026-01", "O-3"), *FEBRUARY]


def test_replace_takes_everything_and_the_new_schema(folder: Folder) -> None:
    folder.project(to_table())
    folder.run("2026-01")
    folder.project(to_table(mode="replace", columns=["order_id"]))
    folder.run("2026-02")
    assert [(row["order_id"], row["_run_period"]) for row in folder.table()] == [("O-4", "2026-02")]
    assert set(folder.table()[0]) == {"order_id", "_run_period"}


def test_an_average_goes_on_into_a_table_that_was_made_before_it_had_more_digits(folder: Folder) -> None:
    def average(**type_: str) -> dict[str, Any]:
        aggregation = {"column": "mean", "expression": "AVG(amount)", **type_}
        return {"type": "aggregate", "arguments": {"group_by": ["_period"], "aggregations": [aggregation]}}

    summaries = {"selector": "_operation_seq > 0"}
    # What every table with an average of decimal(18,2) has.
    folder.project(average(type="decimal(22,6)"), {**to_table(columns=["mean"]), **summaries})
    folder.run("2026-01")
    folder.project(average(), {**to_table(columns=["mean"]), **summaries})
    folder.run("2026-02")
    found = sorted((row["_run_period"], row["mean"]) for row in folder.table())
    assert found == [("2026-01", Decimal("50.000000")), ("2026-02", Decimal("70.000000"))]


def test_append_adds_at_every_run(folder: Folder) -> None:
    folder.project(to_table(mode="append"))
    folder.run("2026-02")
    folder.run("2026-02")
    assert folder.ids() == FEBRUARY * 2


def test_error_refuses_an_existing_table(folder: Folder) -> None:
    folder.project(to_table(mode="error"))
    folder.run("2026-01")
    with pytest.raises(DaybookError) as failed:
        folder.run("2026-02")
    assert causes(failed) == ["IO_020"]
    assert folder.ids() == JANUARY
    assert folder.staged() == []


def test_an_inline_location_is_replaced_as_a_whole(folder: Folder) -> None:
    folder.project(to_path("out/orders.csv", columns=["order_id"], order_by=["order_id"]))
    folder.run("2026-01")
    folder.run("2026-02")
    assert folder.csv_rows("out/orders.csv") == [{"order_id": "O-4"}]


def test_a_slice_has_one_owner(folder: Folder) -> None:
    folder.project(to_table())
    folder.run("2026-01")
    folder.project(to_table(), id_="other")
    with pytest.raises(RunFailedError) as failed:
        folder.run("2026-01", "other")
    assert causes(failed) == ["STORE_016"]
    folder.run("2026-02", "other")
    assert folder.ids() == JANUARY + FEBRUARY


@pytest.mark.slow
def test_appending_projects_share_a_slice_that_nobody_may_replace(folder: Folder) -> None:
    folder.project(to_table(mode="append"))
    folder.project(to_table(mode="append"), id_="other")
    folder.run("2026-02")
    folder.run("2026-02", "other")
    assert folder.ids() == FEBRUARY * 2
    folder.project(to_table(), id_="third")
    with pytest.raises(RunFailedError) as failed:
        folder.run("2026-02", "third")
    assert causes(failed) == ["STORE_016"]


def test_two_appending_outputs_of_one_project(folder: Folder) -> None:
    folder.project(to_table(mode="append", selector='region = "EMEA"'), to_table(mode="append", selector="amount = 0"))
    folder.run("2026-01")
    assert folder.ids() == JANUARY


def test_rows_are_not_replaced_by_nothing_unless_allowed(folder: Folder) -> None:
    folder.project(to_table())
    folder.runs("2026-01..2026-02")
    folder.write_csv("data/orders.csv", [row for row in ORDERS if row["_period"] == "2026-02"])
    with pytest.raises(RunFailedError) as failed:
        folder.run("2026-01")
    assert causes(failed) == ["IO_023"]
    assert folder.ids() == JANUARY + FEBRUARY
    result = folder.run("2026-01", allow_empty=True)
    assert folder.ids() == FEBRUARY
    assert "RUN_005" in [notice.code for notice in result.notices]


def test_an_output_may_allow_that_nothing_is_left_of_its_rows(folder: Folder) -> None:
    exceptions = to_table("exceptions", on_empty="replace", selector="amount = 0")
    folder.project(exceptions, to_table())
    folder.run("2026-01")
    assert folder.ids("exceptions") == [("2026-01", "O-3")]
    folder.write_csv("data/orders.csv", [row for row in ORDERS if row["amount"] != "0.00"])
    folder.run("2026-01")
    assert folder.ids("exceptions") == []


def test_other_columns_are_refused_with_the_difference(folder: Folder) -> None:
    folder.project(to_table(system_columns=False))
    folder.run("2026-01")
    folder.project(assign("tax", "amount * 0.5"), to_table(system_columns=False))
    with pytest.raises(DaybookError) as failed:
        folder.run("2026-02")
    assert causes(failed) == ["IO_021"]
    assert "tax" in str(failed.value.causes[0].parameters["difference"])
    folder.project(assign("tax", "amount * 0.5"), to_table(system_columns=False, on_schema_change="add"))
    folder.run("2026-02")
    assert [(row["order_id"], row["tax"]) for row in folder.table() if row["_run_period"] == "2026-01"] == [
        ("O-1", None),
        ("O-2", None),
        ("O-3", None),
    ]


def test_system_columns_and_columns(folder: Folder) -> None:
    folder.project(
        to_table("all"),
        to_table("plain", system_columns=False),
        to_table("named", columns=["amount", "_row_id", "order_id"]),
    )
    folder.run("2026-01")
    assert set(folder.table("plain")[0]) == {"order_id", "region", "amount", "_run_period"}
    assert list(folder.table("named")[0]) == ["amount", "_row_id", "order_id", "_run_period"]
    system = set(folder.table("all")[0]) - set(folder.table("plain")[0])
    assert system == {
        *("_row_id", "_deleted", "_period", "_valid_from", "_valid_to", "_source_dataset_id", "_source_table"),
        *("_operation_seq", "_origin_seq", "_created_at", "_updated_at", "_labels"),
    }


def test_deleted_rows_are_written_only_when_asked_for(folder: Folder) -> None:
    folder.project(
        {"type": "delete", "selector": "amount = 0"},
        to_table("live"),
        to_table("all", include_deleted=True, columns=["order_id", "_deleted"]),
    )
    result = folder.run("2026-01")
    assert folder.ids("live") == JANUARY[:2]
    assert sorted((row["order_id"], row["_deleted"]) for row in folder.table("all")) == [
        ("O-1", False),
        ("O-2", False),
        ("O-3", True),
    ]
    assert result.operations[1].rows_deleted == 1


def folder_at(path: str) -> dict[str, Any]:
    return {"type": "output", "arguments": {"destination": {"location": {"path": path, "format": "csv"}}}}


@pytest.mark.parametrize("second", [to_path("out/all/part.csv"), folder_at("out"), folder_at("out/ALL")])
def test_outputs_do_not_overlap_each_other(folder: Folder, second: dict[str, Any]) -> None:
    folder.project(to_table(), folder_at("out/all"), second)
    with pytest.raises(DaybookError) as refused:
        folder.run("2026-01")
    assert refused.value.code in ("RUN_006", "OUTPUT_012")
    assert not (folder.root / "lake").exists()
