"""Aggregates."""

from decimal import Decimal
from typing import Any

import pytest

from tests.spark.engine.executed import OUTPUT, World, order
from tests.unit.plan.planned import TIMESTAMP


def aggregate(group_by: str, *results: tuple[str, str], selector: str | None = None) -> str:
    picked = f"  selector: '{selector}'\n" if selector else ""
    lines = "".join(f"    - {{column: {column}, expression: '{expression}'}}\n" for column, expression in results)
    return f"- type: aggregate\n{picked}  arguments:\n    group_by: [{group_by}]\n    aggregations:\n{lines}"


def by_region(rows: list[dict[str, Any]], column: str) -> dict[Any, Any]:
    return {row["region"]: row[column] for row in rows}


ROWS = [
    order("O-1", region="EMEA", amount="10.00", quantity=1),
    order("O-2", region="EMEA", amount="5.50", quantity=None),
    order("O-3", region="US", amount=None, quantity=None),
    order("O-4", region=None, amount="1.00", quantity=4),
]


def test_summary_rows_have_exactly_the_seeds_columns(world: World) -> None:
    operations = aggregate("orders._period, orders.region", ("total", "SUM(amount)"), ("orders", "COUNT(order_id)"))
    executed = world.run(operations + OUTPUT, ROWS)
    found = {row["region"]: row for row in executed.summaries()}
    assert sorted(found, key=str) == ["EMEA", None, "US"]
    emea = found["EMEA"]
    assert (emea["total"], emea["orders"], emea["_period"]) == (Decimal("15.50"), 2, "2026-01")
    assert {
        name: emea[name] for name in ("order_id", "customer_id", "status", "amount", "quantity", "day")
    } == dict.fromkeys(("order_id", "customer_id", "status", "amount", "quantity", "day"))
    system = {
        "_deleted": False,
        "_valid_from": None,
        "_valid_to": None,
        "_source_dataset_id": "orders",
        "_source_table": "orders",
        "_operation_seq": 1,
        "_origin_seq": None,
        "_created_at": TIMESTAMP,
        "_updated_at": TIMESTAMP,
        "_labels": "",
    }
    assert {name: emea[name] for name in system} == system
    assert executed.picked() == {1: (4, 3)}
    assert len(executed.rows) == 4 + 3
    details = [row for row in executed.rows if row["order_id"]]
    assert {(row["total"], row["orders"]) for row in details} == {(None, None)}


def test_no_rows_no_summary_rows(world: World) -> None:
    executed = world.run(aggregate("region", ("n", "COUNT(*)"), selector="amount > 1000") + OUTPUT, ROWS)
    assert executed.summaries() == []
    assert executed.picked() == {1: (0, 0)}
    assert world.run(aggregate("region", ("n", "COUNT(*)")) + OUTPUT, []).rows == []


def test_only_live_and_picked_rows_are_summed_up(world: World) -> None:
    operations = "- {type: delete, selector: 'quantity = 1'}\n" + aggregate(
        "region", ("total", "SUM(amount)"), selector='region = "EMEA"'
    )
    executed = world.run(operations + OUTPUT, ROWS)
    assert by_region(executed.summaries(), "total") == {"EMEA": Decimal("5.50")}
    assert executed.picked() == {1: (1, 0), 2: (1, 1)}


def test_a_result_in_an_existing_column_is_fitted_to_its_type(world: World) -> None:
    rows = [order("O-1", amount="0.01"), order("O-2", amount="0.02")]
    (summary,) = world.run(aggregate("region", ("amount", "AVG(amount)")) + OUTPUT, rows).summaries()
    assert summary["amount"] == Decimal("0.02")


def test_an_average_is_the_sum_divided_by_the_count_however_it_is_rounded(world: World) -> None:
    # 50.00 / 10,001 is 0.0049995…; with six places, which the column alone has, it is 0.005000.
    rows = [order(f"O-{number}", amount="0.01" if number < 5_000 else "0.00") for number in range(10_001)]
    results = [
        ("rounded", "ROUND(AVG(amount), 2)"),
        ("divided", "ROUND(SUM(amount) / COUNT(amount), 2)"),
        ("amount", "AVG(amount)"),
        ("alone", "AVG(amount)"),
    ]
    (summary,) = world.run(aggregate("region", *results) + OUTPUT, rows).summaries()
    found = {name: summary[name] for name, _ in results}
    assert found == {
        "rounded": Decimal("0.00"),
        "divided": Decimal("0.00"),
        "amount": Decimal("0.00"),
        "alone": Decimal("0.005000"),
    }


def test_an_expression_of_aggregates_and_group_columns(world: World) -> None:
    results = ("mean", "SUM(amount) / COUNT(*)"), ("label", "CONCAT(region, TO_STRING(COUNT(*)))")
    found = world.run(aggregate("region", *results) + OUTPUT, ROWS).summaries()
    assert by_region(found, "mean")["EMEA"] == Decimal("7.75")
    assert by_region(found, "label") == {"EMEA": "EMEA2", "US": "US1", None: None}


def test_summary_rows_are_rows_for_what_follows(world: World) -> None:
    operations = (
        aggregate("region", ("total", "SUM(amount)"))
        + "- {type: update, selector: '_operation_seq = 1', arguments: {assignments: "
        + "[{column: status, expression: '\"sum\"'}]}}\n"
        + aggregate("status", ("n", "COUNT(*)"))
        + "- {type: delete, selector: '_operation_seq = 1'}\n"
    )
    executed = world.run(operations + OUTPUT, ROWS)
    assert {row["status"]: row["n"] for row in executed.summaries()} == {"sum": 3, None: 4}
    assert executed.picked() == {1: (4, 3), 2: (3, 0), 3: (7, 2), 4: (3, 0)}


def test_groups_by_labels(world: World) -> None:
    rows = [order("O-1", _labels="a", amount="1"), order("O-2", _labels=None, amount="2")]
    executed = world.run(aggregate("_labels", ("total", "SUM(amount)")) + OUTPUT, rows)
    assert {row["_labels"]: row["total"] for row in executed.summaries()} == {"a": Decimal(1), "": Decimal(2)}


def test_ids_of_summary_rows_follow_from_their_group(world: World) -> None:
    operations = aggregate("region", ("n", "COUNT(*)")) + aggregate("region, status", ("m", "COUNT(*)"))
    first = {row["_row_id"] for row in world.run(operations + OUTPUT, ROWS).summaries()}
    # More rows, the same groups.
    second = {row["_row_id"] for row in world.run(operations + OUTPUT, [*ROWS, order("O-9", region="US")]).summaries()}
    assert first == second
    assert len(first) == 6


@pytest.mark.usefixtures("product_settings")
def test_nulls_in_groups_and_in_what_is_aggregated(world: World) -> None:
    results = [
        ("s", "SUM(amount)"),
        ("c", "COUNT(amount)"),
        ("n", "COUNT(*)"),
        ("a", "AVG(amount)"),
        ("lo", "MIN_AGG(quantity)"),
        ("hi", "MAX_AGG(quantity)"),
    ]
    found = world.run(aggregate("region", *results) + OUTPUT, ROWS).summaries()
    assert by_region(found, "s") == {"EMEA": Decimal("15.50"), "US": None, None: Decimal("1.00")}
    assert by_region(found, "c") == {"EMEA": 2, "US": 0, None: 1}
    assert by_region(found, "n") == {"EMEA": 2, "US": 1, None: 1}
    assert by_region(found, "a") == {"EMEA": Decimal("7.750000"), "US": None, None: Decimal("1.000000")}
    assert by_region(found, "lo") == {"EMEA": 1, "US": None, None: 4}
    assert by_region(found, "hi") == {"EMEA": 1, "US": None, None: 4}
    assert by_region(found, "_period") == dict.fromkeys(("EMEA", "US", None))
