"""Rows carry the system columns that something reads, and no others."""

import pytest

from daybook.engine.context import RunContext
from daybook.model.types import SYSTEM_COLUMNS
from tests.unit.plan.planned import plan_of

ALWAYS = {"_deleted", "_operation_seq"}
SOME = "- {type: output, arguments: {columns: [order_id, amount], destination: {location: some.csv}}}\n"
ALL = "- {type: output, arguments: {destination: {location: all.csv}}}\n"
JOIN = (
    "- {type: update, arguments: {joins: [{alias: c, dataset_id: customers, on: customer_id = c.id}], "
    "assignments: [{column: status, expression: c.tier}]}}\n"
)
BY_PERIOD = (
    "- {type: aggregate, arguments: {group_by: [_period], aggregations: [{column: total, expression: SUM(amount)}]}}\n"
)


def system(operations: str, *also: str) -> set[str]:
    return {*RunContext.of(plan_of(operations), None, also).system}


@pytest.mark.parametrize(
    ("operations", "read"),
    [
        ("", set()),
        ("- {type: delete, selector: _labels = 'x'}\n", {"_labels"}),
        ("- {type: check, arguments: {condition: _created_at <= _updated_at}}\n", {"_created_at", "_updated_at"}),
        (BY_PERIOD, {"_period"}),
        (JOIN.replace("customer_id = c.id", "customer_id > c.id"), {"_row_id"}),
    ],
)
def test_what_an_operation_reads_is_there(operations: str, read: set[str]) -> None:
    found = system(operations + SOME)
    assert read <= found
    assert not {"_source_table", "_valid_from"} & found
    assert found >= ALWAYS


def test_an_output_of_business_columns_needs_no_identity() -> None:
    assert system(SOME) == ALWAYS


def test_a_join_by_key_needs_no_identity() -> None:
    assert system(JOIN + SOME) == ALWAYS


def test_an_output_of_all_columns_needs_all() -> None:
    assert system(ALL) == {*SYSTEM_COLUMNS}


def test_an_order_is_read() -> None:
    ordered = SOME.replace("destination", "order_by: [_created_at], destination")
    assert system(ordered) == {*ALWAYS, "_created_at"}


def test_columns_that_are_read_later_stay() -> None:
    assert system(SOME, "_row_id", "amount") == {*ALWAYS, "_row_id"}


def test_columns_are_left_out_of_the_values_of_a_row() -> None:
    context = RunContext.of(plan_of(SOME), None)
    assert context.kept({"amount": "1", "_row_id": "'x'", "_deleted": "FALSE"}) == {"amount": "1", "_deleted": "FALSE"}
