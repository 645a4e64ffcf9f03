"""Aggregations as formulas: what Daybook rounds, the formula rounds; what has no formula says why."""

import pytest

from daybook.expression import Grouping, Scope, compile_expression
from daybook.io.formats.xlsx.formulas import Formula, NoFormulaError, aggregation_formula
from daybook.model.types import parse_type
from daybook.plan.steps import ComputedColumn

COLUMNS = {
    name: parse_type(type_)
    for name, type_ in {
        "amount": "decimal(12,2)",
        "quantity": "integer",
        "ratio": "float",
        "day": "date",
        "name": "string",
        "is_open": "boolean",
        "region": "string",
        "year": "integer",
    }.items()
}


def formula(text: str, type_: str | None = None) -> Formula:
    compiled = compile_expression(text, Scope(COLUMNS, {}), grouping=Grouping(("region", "year")))
    return aggregation_formula(ComputedColumn("x", compiled, parse_type(type_) if type_ else compiled.type))


@pytest.mark.parametrize(
    ("text", "declared", "expected"),
    [
        ("SUM(amount)", None, "ROUND(SUM({0}),2)"),
        ("SUM(quantity)", None, "ROUND(SUM({0}),0)"),
        ("SUM(ratio)", None, "SUM({0})"),
        ("COUNT(*)", None, "ROWS({0})"),
        ("COUNT_ALL()", None, "ROWS({0})"),
        ("COUNT(amount)", None, "COUNT({0})"),
        ("COUNT(name)", None, "COUNT({0})"),
        ("MIN_AGG(amount)", None, "ROUND(MIN({0}),2)"),
        ("MAX_AGG(quantity)", None, "MAX({0})"),
        ("MAX_AGG(day)", None, "MAX({0})"),
        ("SUM(amount) - SUM(amount * quantity)", None, "ROUND((SUM({0})-SUM({1})),2)"),
        ("-SUM(amount) + SUM(amount)", None, "ROUND(((-SUM({0}))+SUM({0})),2)"),
        ("SUM(amount) * 1.10", None, "ROUND((SUM({0})*1.1),4)"),
        ("ROUND(SUM(amount), 1)", "decimal(18,1)", "ROUND(SUM({0}),1)"),
        ("SUM(amount)", "decimal(18,0)", "ROUND(SUM({0}),0)"),
        ("SUM(amount)", "integer", "ROUND(SUM({0}),0)"),
        ("ABS(SUM(amount))", None, "ROUND(ABS(SUM({0})),2)"),
    ],
)
def test_the_formula_of_an_aggregation(text: str, declared: str | None, expected: str) -> None:
    assert formula(text, declared).template == expected


def test_an_average_is_rounded_to_the_places_that_daybook_gives_it() -> None:
    """AVG of decimal(12,2) has four places more."""
    assert formula("AVG(amount)", "decimal(16,6)").template.startswith("ROUND(")
    assert formula("AVG(amount)", "decimal(16,6)").template.endswith(",6)")


def test_a_quotient_is_rounded_before_it_is_used() -> None:
    """decimal(38,2) by decimal(1,0) would have 6 places, of which 38 digits leave 3."""
    found = formula("SUM(amount) / 7 * 100", "decimal(18,2)")
    assert found.template == "ROUND((ROUND((SUM({0})/7),3)*100),2)"


def test_an_argument_that_is_used_twice_is_one() -> None:
    assert len(formula("SUM(amount) / COUNT(amount)").arguments) == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("IF(SUM(amount) > 1, 1, 0)", "IF has no formula"),
        ("MAX_AGG(name)", "MAX_AGG of a text has no formula"),
        ("SUM(amount) * year", "it uses year outside of an aggregate function"),
        ("CASE WHEN COUNT(*) > 1 THEN 1 ELSE 2 END", "it has a condition, a text or a date"),
        ("COALESCE(SUM(amount), 0)", "COALESCE has no formula"),
        ("SUM(amount) % 7", "% has no formula"),
        ("SUM(amount) + 0.1234567890123456", "0.1234567890123456 has more than 15 digits"),
    ],
)
def test_what_has_no_formula_says_why(text: str, reason: str) -> None:
    with pytest.raises(NoFormulaError) as caught:
        formula(text)
    assert str(caught.value) == reason
