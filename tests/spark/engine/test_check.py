"""Checks: what they let pass they leave as it is, what they refuse they name."""

import datetime

import pytest

from daybook.errors import DaybookError
from tests.spark.engine.executed import OUTPUT, World, order

THEN = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
BY_REGION = "- {type: aggregate, arguments: {group_by: [region], aggregations: [{column: n, expression: COUNT(*)}]}}\n"
LINES = "- {type: output, selector: _operation_seq = 0, arguments: {destination: {location: lines.csv}}}\n"


def check(condition: str, selector: str | None = None) -> str:
    picked = f"  selector: '{selector}'\n" if selector else ""
    return f"- type: check\n  name: Control\n{picked}  arguments: {{condition: '{condition}'}}\n"


def refusal(world: World, operations: str, *rows: dict[str, object]) -> DaybookError:
    with pytest.raises(DaybookError) as refused:
        world.run(operations, rows)
    return refused.value


ROWS = [order("O-1", region="EMEA", amount="1.00", _updated_at=THEN), order("O-2", amount="2.00", _updated_at=THEN)]


def test_rows_are_counted_and_left_as_they_are(world: World) -> None:
    executed = world.run(check("amount > 0") + check("amount = 2", "region IS NULL") + OUTPUT, ROWS)
    assert executed.picked() == {1: (2, 0), 2: (1, 0)}
    assert {row["_updated_at"] for row in executed.rows} == {THEN}


def test_an_update_beside_a_check_still_tells_its_time(world: World) -> None:
    operations = check("amount > 0") + (
        "- {type: update, selector: 'amount = 1', arguments: {assignments: [{column: status, expression: '\"x\"'}]}}\n"
    )
    found = world.run(operations + OUTPUT, ROWS).by_id()
    assert (found["O-1"]["_updated_at"] == THEN, found["O-2"]["_updated_at"] == THEN) == (False, True)


def test_the_row_that_fails_is_named(world: World) -> None:
    refused = refusal(world, check("amount > 1") + OUTPUT, *ROWS)
    assert (refused.code, refused.parameters["seq"], refused.parameters["name"]) == ("CHECK_020", 1, "Control")
    assert refused.parameters["row"] == "amount = 1.00"


def test_it_sees_what_operations_before_it_did(world: World) -> None:
    double = "- {type: update, arguments: {assignments: [{column: amount, expression: amount * 2}]}}\n"
    assert refusal(world, double + check("amount < 4") + OUTPUT, *ROWS).parameters["row"] == "amount = 4.00"
    world.run(double + check("amount <= 4") + double + OUTPUT, ROWS)


@pytest.mark.parametrize("after", [OUTPUT, LINES])
def test_summaries_are_checked_whether_they_are_written_or_not(world: World, after: str) -> None:
    refused = refusal(world, BY_REGION + check("n > 1", "_operation_seq = 1") + after, *ROWS)
    assert refused.parameters["row"] in ("region = EMEA, n = 1", "region = NULL, n = 1")
    world.run(BY_REGION + check("n = 1", "_operation_seq = 1") + after, ROWS)


def test_rows_that_only_an_aggregate_reads_are_checked(world: World) -> None:
    """The aggregate counts for the operations before it, and its groups alone are written."""
    totals = "- {type: output, selector: _operation_seq = 2, arguments: {destination: {location: totals.csv}}}\n"
    assert refusal(world, check("amount > 1") + BY_REGION + totals, *ROWS).code == "CHECK_020"
    assert world.run(check("amount > 0") + BY_REGION + totals, ROWS).picked()[1] == (2, 0)


def test_rows_that_no_output_shows_are_checked(world: World) -> None:
    one = "- {type: output, selector: amount = 2, arguments: {destination: {location: one.csv}}}\n"
    assert refusal(world, check("amount > 1") + one, *ROWS).code == "CHECK_020"


def test_a_condition_is_not_computed_for_rows_that_are_not_picked(world: World) -> None:
    world.run(check("1 / (amount - 2) < 0", "amount < 2") + OUTPUT, ROWS)


def test_a_condition_that_fails_itself_is_named(world: World) -> None:
    operations = check("TO_NUMBER(region) > 0", "region IS NOT NULL") + OUTPUT
    refused = refusal(world, operations, *ROWS)
    assert (refused.code, refused.parameters["column"]) == ("PROJECT_033", "its condition")
