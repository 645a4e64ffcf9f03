"""Appends."""

import datetime
from decimal import Decimal

import pytest

from daybook.errors import DaybookError
from tests.spark.engine.executed import OUTPUT, World, budget, order
from tests.unit.plan.planned import BUDGET, ORDERS, TIMESTAMP, datasets

APPEND = "- {type: append, arguments: {source: {dataset_id: budget}%s}}\n"
EVERYTHING = "- {type: output, arguments: {destination: {location: all.csv}, include_deleted: true}}\n"


def test_columns_are_aligned_and_missing_ones_are_null(world: World) -> None:
    executed = world.run(APPEND % "" + OUTPUT, [order("O-1")], budgets=[budget("EMEA", "10.005", 3)])
    (row,) = executed.summaries()
    # The working column has two digits after the point.
    assert (row["region"], row["amount"], row["quantity"]) == ("EMEA", Decimal("10.01"), 3)
    assert {row[name] for name in ("order_id", "customer_id", "status", "day")} == {None}
    system = {
        "_deleted": False,
        "_period": "2026-01",
        "_source_dataset_id": "budget",
        "_source_table": "budget",
        "_operation_seq": 1,
        "_created_at": TIMESTAMP,
        "_updated_at": TIMESTAMP,
        "_labels": "",
    }
    assert {name: row[name] for name in system} == system
    assert executed.columns[2][:7] == ["order_id", "customer_id", "region", "status", "amount", "quantity", "day"]
    assert executed.picked() == {1: (1, 1)}


def test_appended_rows_get_new_ids_and_start_live(world: World) -> None:
    carried = "019b76da-a800-7abc-8def-0123456789ab"
    budgets = [
        budget("live", "1", _row_id=carried, _deleted=False, _operation_seq=7),
        budget("deleted", "1", _row_id=carried.replace("0123", "9999"), _deleted=True, _operation_seq=0),
    ]
    executed = world.run(APPEND % "" + APPEND % "" + EVERYTHING, [], budgets=budgets)
    assert [row["region"] for row in executed.rows] == ["live", "live"]
    ids = {row["_row_id"] for row in executed.rows}
    assert len(ids | {carried}) == 3
    assert {row["_deleted"] for row in executed.rows} == {False}
    assert {row["_origin_seq"] for row in executed.rows} == {7}


def test_the_source_selector_and_null(world: World) -> None:
    budgets = [budget("a", "10"), budget("b", "20"), budget("c", None)]
    executed = world.run(APPEND % ", source_selector: 'budget.amount > 15'" + OUTPUT, [], budgets=budgets)
    assert [row["region"] for row in executed.rows] == ["b"]


def test_an_aggregation_before_appending(world: World) -> None:
    aggregation = (
        ", source_selector: 'amount <> 99', aggregation: {group_by: [budget.region, _period], aggregations: "
        "[{column: amount, expression: SUM(amount)}, {column: quantity, expression: COUNT(*)}]}"
    )
    budgets = [budget("EMEA", "1.50"), budget("EMEA", "2.25"), budget(None, "4"), budget("US", "99")]
    executed = world.run(APPEND % aggregation + OUTPUT, [order("O-1")], budgets=budgets)
    found = {row["region"]: (row["amount"], row["quantity"], row["_period"]) for row in executed.summaries()}
    assert found == {"EMEA": (Decimal("3.75"), 2, "2026-01"), None: (Decimal("4.00"), 1, "2026-01")}
    assert executed.picked() == {1: (3, 2)}


def test_no_rows_is_fine(world: World) -> None:
    executed = world.run(APPEND % "" + OUTPUT, [order("O-1")], budgets=[])
    assert len(executed.rows) == 1
    assert executed.picked() == {1: (0, 0)}


def test_the_source_has_its_own_time_filter(world: World) -> None:
    budgets = [budget("now", "1"), budget("before", "1", _period="2025-12")]
    assert [row["region"] for row in world.run(APPEND % "" + OUTPUT, [], budgets=budgets).rows] == ["now"]


def test_appended_rows_are_rows_for_what_follows(world: World) -> None:
    operations = (
        "- {type: update, arguments: {assignments: [{column: x, expression: quantity * 2}]}}\n"
        + APPEND % ""
        + "- {type: update, selector: 'x IS NULL', arguments: {assignments: [{column: x, expression: '-1'}]}}\n"
        + "- {type: delete, selector: 'region = \"gone\"'}\n"
    )
    budgets = [budget("kept", "1"), budget("gone", "1")]
    executed = world.run(operations + OUTPUT, [order("O-1", quantity=4)], budgets=budgets)
    assert sorted((row["region"] or "", row["x"]) for row in executed.rows) == [("", 8), ("kept", -1)]
    assert executed.picked() == {1: (1, 0), 2: (2, 2), 3: (2, 0), 4: (1, 0)}


def test_a_null_in_the_source_stops_the_run_whether_it_is_picked_or_not(world: World) -> None:
    definitions = datasets(
        ORDERS, BUDGET.replace("{name: region, type: string}", "{name: region, type: string, nullable: false}")
    )
    budgets = [budget("a", "10"), budget(None, "20")]
    for more in (
        ", source_selector: 'amount = 10'",
        (
            ", source_selector: 'amount = 10', aggregation: {group_by: [region], "
            "aggregations: [{column: amount, expression: SUM(amount)}]}"
        ),
    ):
        with pytest.raises(DaybookError) as caught:
            world.run(APPEND % more + OUTPUT, [], budgets=budgets, definitions=definitions)
        assert (caught.value.code, caught.value.operation_seq) == ("APPEND_008", 1)
        assert [cause.code for cause in caught.value.causes] == ["PROJECT_030"]


def test_a_source_without_its_period_cannot_be_loaded(world: World) -> None:
    source = {key: value for key, value in budget("a", "10").items() if key != "_period"}
    with pytest.raises(DaybookError) as caught:
        world.run(APPEND % "" + OUTPUT, [order("O-1")], budgets=[source])
    assert (caught.value.code, caught.value.operation_seq) == ("APPEND_008", 1)
    assert [cause.code for cause in caught.value.causes] == ["PROJECT_032"]


def test_a_value_that_does_not_fit_stops_the_run(world: World) -> None:
    with pytest.raises(DaybookError) as caught:
        world.run(APPEND % "" + OUTPUT, [], budgets=[budget("a", "9999999999999999.9999")])
    assert (caught.value.code, caught.value.operation_seq) == ("PROJECT_033", 1)
    assert caught.value.parameters["column"] == "amount"


def test_times_and_labels_of_the_source_are_kept(world: World) -> None:
    then = datetime.datetime(2025, 6, 1, tzinfo=datetime.UTC)
    budgets = [budget("a", "1", _created_at=then, _labels="{x}")]
    (row,) = world.run(APPEND % "" + OUTPUT, [], budgets=budgets).rows
    assert (row["_created_at"], row["_labels"]) == (then, "{x}")
