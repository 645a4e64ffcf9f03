"""Conditions of rules, evaluated as the language says."""

import pytest

from daybook.errors import DaybookError, Span, flatten
from daybook.resolve.calendars.calendar import GREGORIAN
from daybook.resolve.calendars.periods import period_of
from daybook.resolve.rule_conditions import compile_condition, evaluate_condition
from tests.unit.resolve.conditions import CONDITIONS


@pytest.mark.parametrize(("when", "expected"), CONDITIONS)
def test_conditions(when: str, expected: bool | None) -> None:
    assert evaluate_condition(when, period_of("2026-02", GREGORIAN), "orders") is expected


@pytest.mark.parametrize(
    ("when", "what"),
    [
        ("TODAY() > period.end_date", "TODAY()"),
        ('NOW() > TIMESTAMP("2026-01-01T00:00:00Z")', "NOW()"),
        ("ADD_MONTHS(period.start_date, 1) = period.end_date", "ADD_MONTHS()"),
        ('table.name = "x" AND ROUND(1.5, 0) = 2', "ROUND()"),
        ("YEAR(period.start_date) / 2 = 1013", "/ with numbers that are not whole"),
        ("YEAR(period.start_date) * 1.5 > 1", "* with numbers that are not whole"),
        ('CASE WHEN FALSE THEN TO_NUMBER("1") = 1 ELSE TRUE END', "TO_NUMBER()"),
    ],
)
def test_what_a_condition_cannot_use(when: str, what: str) -> None:
    with pytest.raises(DaybookError) as caught:
        compile_condition(when)
    assert (caught.value.code, caught.value.parameters) == ("RESOLVE_048", {"what": what})


@pytest.mark.parametrize(
    ("when", "code"),
    [
        ("amount > 1", "EXPR_012"),
        ("{{big}}", "EXPR_052"),
        ("table.id = 1", "EXPR_012"),
        ("period.status = 1", "EXPR_012"),
        ("orders.amount > 1", "EXPR_013"),
        ("period.identifier", "EXPR_024"),
        ("period.identifier = 1", "EXPR_022"),
    ],
)
def test_a_condition_knows_the_period_and_the_table_only(when: str, code: str) -> None:
    with pytest.raises(DaybookError) as caught:
        compile_condition(when, span=Span(when, 0, len(when), "resolvers/r.yaml", 5, 11))
    (error,) = flatten(caught.value)
    assert error.code == code
    assert error.span is not None
    assert (error.span.file, error.span.line) == ("resolvers/r.yaml", 5)


def test_whole_numbers_have_64_bits() -> None:
    with pytest.raises(DaybookError) as caught:
        evaluate_condition("9223372036854775807 + 1 > 0", period_of("2026-02", GREGORIAN), "orders")
    assert caught.value.code == "RESOLVE_049"


def test_a_pattern_of_many_wildcards_ends() -> None:
    pattern = "%a" * 60 + "b"
    assert evaluate_condition(f'table.name LIKE "{pattern}"', period_of("2026", GREGORIAN), "a" * 400) is False
