"""Outputs: rows, columns, order, groups."""

from decimal import Decimal

from tests.spark.engine.executed import World, order, source
from tests.unit.plan.planned import plan_of


def output(name: str, more: str = "", selector: str = "") -> str:
    picked = f"selector: '{selector}', " if selector else ""
    return f"- {{type: output, {picked}arguments: {{destination: {{location: {name}.csv}}{more}}}}}\n"


ROWS = [
    order("O-2", region="b", amount="2.00", quantity=9),
    order("O-1", region="a", amount="1.00", quantity=8),
    order("O-3", region=None, amount="3.00", quantity=7),
]


def test_columns_are_exactly_those_given_in_their_order(world: World) -> None:
    executed = world.run(output("o", ", columns: [amount, _period, orders.order_id]"), ROWS)
    assert executed.columns[1] == ["amount", "_period", "order_id"]


def test_system_columns_can_be_left_out(world: World) -> None:
    executed = world.run(output("o", ", system_columns: false"), ROWS)
    assert executed.columns[1] == ["order_id", "customer_id", "region", "status", "amount", "quantity", "day"]


def test_the_order_may_use_columns_that_are_not_written(world: World) -> None:
    executed = world.run(output("o", ", columns: [order_id], order_by: [quantity]"), ROWS)
    assert executed.outputs[1] == [{"order_id": "O-3"}, {"order_id": "O-1"}, {"order_id": "O-2"}]
    # Sorting looks at the data twice; counters do not.
    assert executed.counts[0].input_rows == 3


def test_null_comes_last_in_an_order_as_in_windows(world: World) -> None:
    executed = world.run(output("o", ", columns: [order_id, region], order_by: [region]"), ROWS)
    assert [row["region"] for row in executed.outputs[1]] == ["a", "b", None]


def test_deleted_rows_are_written_only_when_asked_for_and_the_selector_holds_for_them_too(world: World) -> None:
    delete = "- {type: delete, selector: 'amount < 3'}\n"
    executed = world.run(
        delete + output("live") + output("all", ", include_deleted: true", selector="quantity > 7"), ROWS
    )
    assert [row["order_id"] for row in executed.outputs[2]] == ["O-3"]
    assert sorted(row["order_id"] for row in executed.outputs[3]) == ["O-1", "O-2"]


def test_an_output_changes_nothing_for_what_follows(world: World) -> None:
    operations = (
        output("first", ", columns: [order_id]", selector='region = "a"')
        + "- {type: update, arguments: {assignments: [{column: amount, expression: amount * 2}]}}\n"
        + output("second")
        + "- {type: delete, selector: 'amount > 4'}\n"
        + output("third")
    )
    executed = world.run(operations, ROWS)
    assert executed.outputs[1] == [{"order_id": "O-1"}]
    assert sorted(row["amount"] for row in executed.outputs[3]) == [Decimal(2), Decimal(4), Decimal(6)]
    assert sorted(row["order_id"] for row in executed.outputs[5]) == ["O-1", "O-2"]
    # Every operation is counted once, in the group that first shows its work.
    assert [counts.input_rows for counts in executed.counts] == [3, None, None]
    assert [[each.seq for each in counts.operations] for counts in executed.counts] == [[], [2], [4]]
    assert executed.picked() == {2: (3, 0), 4: (1, 0)}


def test_outputs_with_nothing_between_them_are_one_group(world: World) -> None:
    plan = plan_of(output("a", ", order_by: [amount]") + output("b") + "- {type: delete}\n" + output("c"))
    sources = {"input": source(world.spark, plan.input, ROWS)}
    with world.pipeline(plan, sources) as pipeline:
        groups = [([each.step.seq for each in group.outputs], group.is_last) for group in pipeline.groups()]
    # The one that needs no sorting comes first, because it carries the counters.
    assert groups == [([2, 1], False), ([4], True)]


def test_a_selector_over_the_time_of_the_last_update(world: World) -> None:
    update = (
        "- {type: update, selector: 'quantity = 9', "
        "arguments: {assignments: [{column: status, expression: '\"x\"'}]}}\n"
    )
    executed = world.run(update + output("o", selector="_updated_at = NOW() AND quantity = 9"), ROWS)
    assert [row["order_id"] for row in executed.rows] == ["O-2"]
