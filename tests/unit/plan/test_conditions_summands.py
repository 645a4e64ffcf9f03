"""What each row adds to a total, as SQL; totals that are no sums over rows have no summand."""

import pytest

from daybook.plan.conditions import summands
from daybook.plan.steps import AggregateStep
from tests.unit.plan.planned import CONSTANTS, plan_of


def summand(expression: str) -> str | None:
    plan = plan_of(
        f"""
        - type: update
          arguments: {{assignments: [{{column: ratio, expression: TO_NUMBER("1") / 3}}]}}
        - type: aggregate
          arguments: {{group_by: [region], aggregations: [{{column: total, expression: "{expression}"}}]}}
        - {{type: output, arguments: {{destination: {{location: out.csv}}}}}}
        """
    )
    step = plan.step(2)
    assert isinstance(step, AggregateStep)
    found = summands(step).get("total")
    return found.sql(CONSTANTS) if found else None


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("SUM(amount)", "COALESCE(`amount`, 0L)"),
        ("SUM(amount * 2)", "COALESCE(`amount` * 2BD, 0L)"),
        ("COUNT(*)", "1L"),
        ("COUNT_ALL(amount)", "1L"),
        ("COUNT(amount)", "CASE WHEN `amount` IS NOT NULL THEN 1L ELSE 0L END"),
        ("0 - SUM(amount)", "0BD - COALESCE(`amount`, 0L)"),
        ("COALESCE(SUM(amount), 0)", "COALESCE(`amount`, 0L)"),
        ("SUM(amount) - SUM(quantity)", "COALESCE(`amount`, 0L) - COALESCE(`quantity`, 0L)"),
    ],
)
def test_sums_and_counts(expression: str, expected: str) -> None:
    assert summand(expression) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "AVG(amount)",
        "COALESCE(SUM(amount), 1)",
        "MAX_AGG(amount)",
        "SUM(amount) / COUNT(*)",
        "SUM(amount) + 1",
        "MIN_AGG(region)",
    ],
)
def test_what_is_no_sum(expression: str) -> None:
    assert summand(expression) is None
