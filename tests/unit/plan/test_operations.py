"""The parts of a check: what it reads, and what identifies its rows."""

import pytest

from daybook.plan.steps import CheckStep
from tests.unit.plan.planned import CUSTOMERS, ORDERS, codes, datasets, plan_of

KEYED = datasets(ORDERS.replace("  name: Orders\n", "  name: Orders\n  natural_key_columns: [order_id]\n"), CUSTOMERS)
BY_REGION = (
    "- {type: aggregate, arguments: {group_by: [orders.region], aggregations: [{column: n, expression: COUNT(*)}]}}\n"
)
OUTPUT = "- {type: output, arguments: {destination: {location: out.csv}}}\n"


def check(condition: str, selector: str = "TRUE") -> str:
    return f"- {{type: check, selector: '{selector}', arguments: {{condition: '{condition}'}}}}\n"


@pytest.mark.parametrize(
    ("selector", "columns"),
    [
        ("_operation_seq = 0", ("order_id", "amount")),
        ("_operation_seq = 1", ("region", "amount")),
        ("status IS NULL", ("order_id", "region", "amount", "status")),
    ],
)
def test_rows_are_told_by_what_people_know_them_by(selector: str, columns: tuple[str, ...]) -> None:
    step = plan_of(BY_REGION + check("amount > 0", selector) + OUTPUT, definitions=KEYED).steps[1]
    assert isinstance(step, CheckStep)
    assert step.columns == columns


def test_what_it_reads_is_used() -> None:
    used = "- {type: update, arguments: {assignments: [{column: x, expression: amount}]}}\n" + check("x > 0")
    output = "- {type: output, arguments: {destination: {location: out.csv}, columns: [amount]}}\n"
    assert [notice.code for notice in plan_of(used + output).notices] == []


def test_below_the_last_output_it_protects_nothing() -> None:
    (notice,) = plan_of(OUTPUT + check("amount > 0")).notices
    assert (notice.code, notice.operation_seq) == ("PROJECT_025", 2)


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        (check("amount > 0", "amount"), "PROJECT_052"),
        (check("amount > 0", "nope = 1"), "PROJECT_052"),
        (check("amount"), "CHECK_002"),
        (check("nope > 0"), "CHECK_002"),
        (check("SUM(amount) > 0"), "CHECK_002"),
    ],
)
def test_what_is_wrong(operation: str, code: str) -> None:
    assert codes(operation + OUTPUT) == [code]
