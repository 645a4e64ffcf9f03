"""Aggregates that share a pass give what each would give alone."""

import contextlib
import io
from decimal import Decimal

import pytest

from tests.spark.engine.executed import World, budget, order, source
from tests.unit.plan.planned import plan_of

LINES = "_operation_seq = 0"
UPDATE = "- {type: update, selector: quantity > 1, arguments: {assignments: [{column: note, expression: '\"x\"'}]}}\n"
DELETE = '- {type: delete, selector: status = "bad"}\n'
APPEND = "- {type: append, arguments: {source: {dataset_id: budget}}}\n"
OUTPUT = "- {type: output, selector: _operation_seq > 0, arguments: {destination: {location: out.csv}}}\n"

ORDERS = [
    order("O-1", region="EU", status="new", amount="1.00", quantity=1),
    order("O-2", region="EU", status=None, amount="2.00", quantity=2),
    order("O-3", region=None, status="new", amount="4.00", quantity=3),
    order("O-4", region=None, status=None, amount="8.00", quantity=4),
    order("O-5", region="EU", status="bad", amount="16.00", quantity=5),
]


def aggregate(by: str, **values: str) -> str:
    listed = ", ".join(f"{{column: {column}, expression: '{value}'}}" for column, value in values.items())
    return f"- {{type: aggregate, selector: {LINES}, arguments: {{group_by: [{by}], aggregations: [{listed}]}}}}\n"


def test_a_group_that_is_null_is_not_a_column_that_is_not_grouped_by(world: World) -> None:
    operations = aggregate("region, status", total="SUM(amount)") + aggregate("region", orders="COUNT(*)")
    executed = world.run(UPDATE + DELETE + operations + OUTPUT, ORDERS)
    found = {
        (row["_operation_seq"], row["region"], row["status"], row["total"], row["orders"]) for row in executed.rows
    }
    assert found == {
        (3, "EU", "new", 1, None),
        (3, "EU", None, 2, None),
        (3, None, "new", 4, None),
        (3, None, None, 8, None),
        (4, "EU", None, None, 2),
        (4, None, None, None, 2),
    }
    assert executed.counts[0].input_rows == 5
    assert executed.picked() == {1: (4, 0), 2: (1, 0), 3: (4, 4), 4: (4, 2)}
    assert len({row["_row_id"] for row in executed.rows}) == 6


def test_rows_are_the_same_whether_aggregates_share_a_pass_or_not(world: World) -> None:
    def numbered(seq: int, operation: str) -> str:
        return operation.replace("- {", f"- {{seq: {seq}, ", 1)

    first = numbered(1, DELETE) + numbered(2, aggregate("region", total="SUM(amount)"))
    barrier = numbered(3, UPDATE.replace("quantity > 1", "quantity > 99").replace("note", "status"))
    second = numbered(4, aggregate("status", orders="COUNT(*)")) + numbered(5, OUTPUT)
    apart, together = (world.run(first + between + second, ORDERS).rows for between in (barrier, ""))
    assert sorted(map(str, together)) == sorted(map(str, apart))


def test_one_pass_reads_the_rows_once(world: World) -> None:
    def expands_and_scans(operations: str) -> tuple[int, int]:
        plan = plan_of(operations)
        sources = {load.key: source(world.spark, load, ORDERS) for load in plan.loads}
        with world.pipeline(plan, sources) as executing, contextlib.redirect_stdout(io.StringIO()) as shown:
            next(iter(executing.groups())).outputs[0].df.explain()
        return shown.getvalue().count("Expand"), shown.getvalue().count("Scan")

    one = aggregate("region", total="SUM(amount)")
    two = one + aggregate("status", total="SUM(amount)")
    assert expands_and_scans(UPDATE + one + OUTPUT) == (0, 1)
    assert expands_and_scans(UPDATE + two + OUTPUT) == (1, 1)


def test_an_append_between_them_is_no_hindrance(world: World) -> None:
    operations = aggregate("region", total="SUM(amount)") + APPEND + aggregate("status", total="SUM(amount)")
    executed = world.run(operations + OUTPUT, ORDERS, budgets=[budget("EU", "7.0000")])
    found = sorted((row["_operation_seq"], row["total"], row["amount"]) for row in executed.rows)
    assert found == [
        (1, 12, None),
        (1, 19, None),
        (2, None, Decimal("7.00")),
        (3, 5, None),
        (3, 10, None),
        (3, 16, None),
    ]
    assert executed.picked() == {1: (5, 2), 2: (1, 1), 3: (5, 3)}


@pytest.mark.parametrize("together", [True, False])
def test_no_value_is_computed_for_rows_that_are_not_picked(world: World, together: bool) -> None:
    # TO_NUMBER fails on the text of the deleted order, and on nothing else.
    orders = [{**each, "customer_id": "x" if each["status"] == "bad" else "5"} for each in ORDERS]
    operations = aggregate("region", total="SUM(TO_NUMBER(customer_id))")
    operations += aggregate("status", least="MIN_AGG(TO_NUMBER(customer_id))") if together else ""
    executed = world.run(UPDATE + DELETE + operations + OUTPUT, orders)
    assert sorted(row["total"] for row in executed.rows if row["_operation_seq"] == 3) == [10, 10]


def test_no_value_is_computed_for_the_groups_of_the_other(world: World) -> None:
    # 16 digits before the point fit; the sum over the region has 17.
    orders = [order(f"O-{status}", region="EU", status=status, amount="9000000000000000.00") for status in "ab"]
    operations = aggregate("region, status", amount="SUM(amount)") + aggregate("region", orders="COUNT(*)")
    executed = world.run(operations + OUTPUT, orders)
    assert [row["amount"] for row in executed.rows if row["_operation_seq"] == 1] == [
        Decimal("9000000000000000.00")
    ] * 2
    assert [row["orders"] for row in executed.rows if row["_operation_seq"] == 2] == [2]
