"""How a scenario that fails is explained: every row once."""

from decimal import Decimal
from pathlib import Path
from typing import Any

from daybook.scenarios.row_matching import compare_rows
from daybook.scenarios.run_scenarios import ScenarioResult
from daybook.scenarios.scenario import Expectation
from daybook.scenarios.scenario_report import failure_lines


def row(region: str, sales: str, orders: int) -> dict[str, Any]:
    return {"region": region, "sales": Decimal(sales), "orders": orders}


def explained(expected: list[dict[str, Any]], actual: list[dict[str, Any]], **how: Any) -> list[str]:
    difference = compare_rows("out.csv", tuple(expected), actual, Expectation(rows=tuple(expected), **how))
    assert difference is not None
    return list(failure_lines(ScenarioResult(Path("a.yaml"), "a", 0.1, differences=(difference,))))


def test_a_row_that_differs_is_told_once() -> None:
    assert explained([row("EMEA", "4.51", 2), row("APAC", "1", 1)], [row("APAC", "1", 1), row("EMEA", "4.52", 2)]) == [
        "out.csv: 1 row differs",
        '  expected   {region: "EMEA", sales: 4.51, orders: 2}',
        "  but        sales is 4.52",
    ]


def test_every_row_goes_with_the_one_most_like_it() -> None:
    """The first would take the second's, were they taken in order."""
    expected = [row("EMEA", "1", 1), row("APAC", "2", 2)]
    assert explained(expected, [row("APAC", "2", 9), row("EMEA", "9", 1)]) == [
        "out.csv: 2 rows differ",
        '  expected   {region: "EMEA", sales: 1, orders: 1}',
        "  but        sales is 9",
        '  expected   {region: "APAC", sales: 2, orders: 2}',
        "  but        orders is 9",
    ]


def test_rows_that_are_missing_or_too_many() -> None:
    assert explained([row("EMEA", "1", 1), row("APAC", "2", 2)], [])[0] == "out.csv: 2 rows are missing"
    assert explained([row("EMEA", "1", 1)], []) == [
        "out.csv: 1 row is missing",
        '  missing    {region: "EMEA", sales: 1, orders: 1}',
    ]
    assert explained([], [{**row("EMEA", "1", 1), "_labels": ""}]) == [
        "out.csv: 1 row is unexpected",
        '  unexpected {region: "EMEA", sales: 1, orders: 1}',
    ]
    several = explained([row("EMEA", "1", 1)], [row("EMEA", "2", 1), row("APAC", "3", 3)])
    assert several[0] == "out.csv: 1 row differs, 1 row is unexpected"


def test_a_subset_leaves_other_rows_alone() -> None:
    found = explained([row("EMEA", "1", 1)], [row("EMEA", "2", 1), row("APAC", "3", 3)], match="subset")
    assert found[0] == "out.csv: 1 row differs"


def test_a_column_that_is_not_there() -> None:
    assert explained([{"region": "EMEA", "fee": 1}], [row("EMEA", "1", 1)])[-1] == (
        "  but        there is no column fee"
    )


def test_rows_in_another_order() -> None:
    rows = [row("EMEA", "1", 1), row("APAC", "2", 2)]
    assert explained(rows, rows[::-1], order=True)[0] == "out.csv: the rows are right but in another order"
