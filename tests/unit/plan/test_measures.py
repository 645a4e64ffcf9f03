"""Which numeric columns are added up over rows; what is a key or a ratio was decided by reading each project."""

import pytest

from daybook.plan.measures import columns_not_summed, summed_totals
from daybook.plan.steps import AggregateStep, Plan
from tests.unit.plan.planned import CUSTOMERS, ORDERS, aggregate, codes, datasets, findings, output, plan_of

RATES = """
dataset:
  id: rates
  name: Rates
  main_table:
    name: rates
    columns:
      - {name: region, type: string}
      - {name: branch, type: integer}
      - {name: rate, type: "decimal(9,4)"}
      - {name: target, type: "decimal(18,2)"}
"""
CATALOG = datasets(ORDERS, CUSTOMERS, RATES)


def assignment(column: str, expression: str, joins: str = "") -> str:
    return (
        f"- {{type: update, arguments: {{{joins}assignments: [{{column: {column}, expression: '{expression}'}}]}}}}\n"
    )


JOINS = "joins: [{alias: r, dataset_id: rates, on: 'region = r.region'}], "


def plan(operations: str) -> Plan:
    return plan_of(operations + output(), definitions=CATALOG)


def left_out(operations: str, maker: int = 0) -> set[str]:
    return set(columns_not_summed(plan(operations), 99, maker))


@pytest.mark.parametrize(
    ("expression", "is_ratio"),
    [
        ("amount / quantity", True),
        ("ROUND(amount / quantity, 2)", True),
        ("IF(quantity = 0, 0, amount / quantity)", True),
        ("100 * amount / quantity", True),
        ("amount / 100", False),
        ("amount / r.rate", False),
        ("amount * r.rate", False),
        ("amount - quantity", False),
        ("amount * (amount / quantity)", False),
    ],
)
def test_quotients_of_two_columns_are_ratios(expression: str, is_ratio: bool) -> None:
    assert ("x" in left_out(assignment("x", expression, JOINS))) == is_ratio


def test_what_is_computed_of_a_ratio_is_one_unless_an_amount_is_multiplied() -> None:
    operations = assignment("share", "amount / quantity") + assignment("percent", "share * 100")
    operations += assignment("part", "amount * share")
    assert left_out(operations) == {"share", "percent"}


def test_a_rate_that_was_looked_up_is_not_summed_and_what_it_converts_is() -> None:
    operations = assignment("rate", "r.rate", JOINS) + assignment("target", "r.target", JOINS)
    operations += assignment("euro", "amount / rate") + assignment("open", "target - amount")
    operations += assignment("reached", "amount / target")
    assert left_out(operations) == {"rate", "reached", "region"}


def test_keys_are_what_rows_are_grouped_joined_and_divided_by() -> None:
    operations = (
        "- {type: update, arguments: {joins: [{alias: r, dataset_id: rates, on: 'quantity = r.branch'}], "
        "assignments: [{column: x, expression: r.target}]}}\n"
    )
    assert left_out(operations) == {"quantity"}
    assert left_out(aggregate("[status]")) == {"status"}
    assert left_out(assignment("n", "SUM(amount) OVER (customer_id)")) == {"customer_id"}


@pytest.mark.parametrize(
    ("expression", "is_summed"),
    [("SUM(amount)", True), ("COUNT(*)", True), ("AVG(amount)", False), ("SUM(amount) / COUNT(*)", False)],
)
def test_averages_are_no_totals_that_are_added_up(expression: str, is_summed: bool) -> None:
    planned = plan(aggregate(expression=expression))
    step = planned.step(1)
    assert isinstance(step, AggregateStep)
    assert (summed_totals(planned, step) == ("x",)) == is_summed


def test_an_average_in_a_column_of_the_input_says_nothing_about_the_details() -> None:
    operations = aggregate(column="amount", expression="AVG(amount)")
    assert "amount" not in left_out(operations)
    assert "amount" in left_out(operations, maker=1)


def followed(project: str, *more: str) -> tuple[str, ...]:
    return plan_of(project + output(), definitions=datasets(ORDERS, CUSTOMERS, RATES, *more)).measures


MEASURED = """
dataset:
  id: measured
  measures: [amount, quantity]
  main_table:
    name: measured
    columns:
      - {name: order_id, type: string}
      - {name: amount, type: "decimal(18,2)"}
      - {name: quantity, type: integer}
"""


def test_the_measures_of_an_appended_dataset_are_followed() -> None:
    appended = "- {type: append, arguments: {source: {dataset_id: measured}}}\n"
    assert followed(appended, MEASURED) == ("amount", "quantity")


def test_the_measures_of_a_joined_dataset_are_not() -> None:
    joined = (
        "- {type: update, arguments: {joins: [{alias: m, dataset_id: measured, on: 'order_id = m.order_id'}], "
        "assignments: [{column: amount, expression: m.amount}]}}\n"
    )
    assert followed(joined, MEASURED) == ()


def test_a_measure_is_a_numeric_column_of_the_project() -> None:
    assert plan_of(output(), definitions=CATALOG, head="measures: [amount]\n").measures == ("amount",)
    (unknown,) = findings(output(), definitions=CATALOG, head="measures: [amuont]\n")
    assert (unknown.code, unknown.hint) == ("TOTALS_001", "did you mean amount?")
    assert codes(output(), definitions=CATALOG, head="measures: [region]\n") == ["TOTALS_002"]


def test_a_column_that_only_a_measure_needs_is_used() -> None:
    made = assignment("eur", "amount * 0.5")
    written = output(", columns: [order_id]")
    assert [notice.code for notice in plan_of(made + written, definitions=CATALOG).notices] == ["PROJECT_036"]
    assert plan_of(made + written, definitions=CATALOG, head="measures: [eur]\n").notices == ()
