"""Checks and updates that look at one kind of rows leave the others where they are."""

import contextlib
import io
from decimal import Decimal

import pytest

from daybook.errors import DaybookError
from tests.spark.engine.executed import World, customer, order, source
from tests.unit.plan.planned import plan_of

TOTAL = (
    "- {type: aggregate, selector: _operation_seq = 0, arguments: {group_by: [region], "
    "aggregations: [{column: total, expression: SUM(amount)}]}}\n"
)
JOIN = (
    "- {type: update, selector: _operation_seq = 0, arguments: {joins: [{alias: c, dataset_id: customers, "
    "on: customer_id = c.id}], assignments: [{column: tier, expression: c.tier}]}}\n"
)
UPDATE = (
    "- {type: update, selector: _operation_seq = 0, "
    "arguments: {assignments: [{column: amount, expression: amount * 2}]}}\n"
)
CHECK_TOTALS = "- {type: check, selector: _operation_seq = 1, arguments: {condition: total > %s}}\n"
CHECK_LINES = "- {type: check, selector: _operation_seq = 0, arguments: {condition: amount > %s}}\n"
LINES = "- {type: output, selector: _operation_seq = 0, arguments: {destination: {location: lines.csv}}}\n"
TOTALS = "- {type: output, selector: _operation_seq = 1, arguments: {destination: {location: totals.csv}}}\n"
ALL = "- {type: output, arguments: {destination: {location: all.csv}}}\n"

ORDERS = [
    order("O-1", region="EU", customer_id="C-1", amount="1.00"),
    order("O-2", region="EU", customer_id="C-2", amount="2.00"),
    order("O-3", region="US", customer_id="C-1", amount="4.00"),
]
CUSTOMERS = [customer("C-1", tier="gold"), customer("C-2", tier="base")]


def plan_text(world: World, operations: str) -> str:
    """How Spark executes the first output."""
    plan = plan_of(operations)
    data = {"orders": ORDERS, "customers": CUSTOMERS}
    sources = {load.key: source(world.spark, load, data[load.dataset_id]) for load in plan.loads}
    with world.pipeline(plan, sources) as executing, contextlib.redirect_stdout(io.StringIO()) as shown:
        next(iter(executing.groups())).outputs[0].df.explain()
    return shown.getvalue()


@pytest.mark.parametrize("between", [JOIN, UPDATE, CHECK_LINES % 0, CHECK_TOTALS % 0, UPDATE + JOIN + CHECK_TOTALS % 0])
def test_lines_are_written_without_their_totals(world: World, between: str) -> None:
    assert "Union" not in plan_text(world, TOTAL + between + LINES)
    assert "Union" in plan_text(world, TOTAL + between + ALL)


def test_what_both_kinds_are_checked_for_brings_them_together(world: World) -> None:
    assert "Union" in plan_text(
        world,
        TOTAL + "- {type: check, arguments: {condition: amount IS NULL OR amount > 0}}\n" + LINES.replace("= 0", "< 9"),
    )


def test_an_update_of_lines_beside_totals_gives_the_rows_it_gives_alone(world: World) -> None:
    executed = world.run(TOTAL + UPDATE + JOIN + CHECK_LINES % 0 + CHECK_TOTALS % 0 + ALL, ORDERS, customers=CUSTOMERS)
    found = {
        (row["_operation_seq"], row["order_id"], row["region"], row["amount"], row["tier"], row["total"])
        for row in executed.rows
    }
    assert found == {
        (0, "O-1", "EU", Decimal("2.00"), "gold", None),
        (0, "O-2", "EU", Decimal("4.00"), "base", None),
        (0, "O-3", "US", Decimal("8.00"), "gold", None),
        (1, None, "EU", None, None, Decimal("3.00")),
        (1, None, "US", None, None, Decimal("4.00")),
    }
    assert executed.counts[0].input_rows == 3
    assert executed.picked() == {1: (3, 2), 2: (3, 0), 3: (3, 0), 4: (3, 0), 5: (2, 0)}


@pytest.mark.parametrize("output", [LINES, TOTALS, ALL])
def test_totals_that_fail_a_check_fail_the_run_whatever_is_written(world: World, output: str) -> None:
    with pytest.raises(DaybookError) as failed:
        world.run(TOTAL + CHECK_TOTALS % 3 + output, ORDERS)
    assert failed.value.code == "CHECK_020"
    assert "region = EU" in failed.value.message


@pytest.mark.parametrize("output", [LINES, pytest.param(TOTALS, marks=pytest.mark.slow), ALL])
def test_two_checks_of_the_same_totals_both_hold(world: World, output: str) -> None:
    executed = world.run(TOTAL + CHECK_TOTALS % 0 + CHECK_TOTALS % 1 + output, ORDERS)
    assert {seq: picked for seq, (picked, _) in executed.picked().items()} == {1: 3, 2: 2, 3: 2}
    with pytest.raises(DaybookError):
        world.run(TOTAL + CHECK_TOTALS % 0 + CHECK_TOTALS % 3 + output, ORDERS)


def test_totals_that_were_checked_can_be_changed_and_summed_up(world: World) -> None:
    change = (
        "- {type: update, selector: _operation_seq = 1, "
        "arguments: {assignments: [{column: total, expression: total * 10}]}}\n"
    )
    sum_up = (
        "- {type: aggregate, selector: _operation_seq = 1, arguments: {group_by: [_period], "
        "aggregations: [{column: grand, expression: SUM(total)}]}}\n"
    )
    executed = world.run(TOTAL + CHECK_TOTALS % 0 + change + sum_up + ALL, ORDERS)
    assert [row["grand"] for row in executed.rows if row["_operation_seq"] == 4] == [Decimal("70.00")]
    assert executed.picked()[2] == (2, 0)
