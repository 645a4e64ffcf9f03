"""Conditions of rules, evaluated as the language says."""

import pytest

from daybook.errors import DaybookError, Span, flatten
from daybook.resolve.calendars import GREGORIAN
from daybook.resolve.condition import compile_condition, holds
from daybook.resolve.periods import period_of


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ('period.identifier = "2026-02"', True),
        ('period.level = "month" AND table.name = "orders"', True),
        ('period.level <> "month"', False),
        ('period.start_date >= DATE("2026-01-01")', True),
        ('period.end_date < DATE("2026-02-28")', False),
        ('period.end_date = DATE("2026-02-28")', True),
        ('table.name IN ("orders", "customers")', True),
        ('table.name NOT IN ("orders", "customers")', False),
        ('table.name IN ("a", NULL)', None),
        ('table.name IN ("orders", NULL)', True),
        ('table.name NOT IN ("a", NULL)', None),
        ("table.name = NULL", None),
        ('table.name = NULL OR table.name = "orders"', True),
        ('table.name = NULL OR table.name = "x"', None),
        ('table.name = NULL AND table.name = "x"', False),
        ('table.name = NULL AND table.name = "orders"', None),
        ("NOT (table.name = NULL)", None),
        ("table.name IS NULL", False),
        ("NULL IS NULL", True),
        ("table.name IS NOT NULL", True),
        ("NULL", None),
        ('period.start_date BETWEEN DATE("2026-02-01") AND DATE("2026-02-01")', True),
        ('period.start_date NOT BETWEEN DATE("2026-02-01") AND NULL', None),
        ('period.start_date NOT BETWEEN DATE("2026-03-01") AND NULL', True),
        ('table.name LIKE "ord%"', True),
        ('table.name LIKE "o_d%s"', True),
        ('table.name LIKE "ORD%"', False),
        ('table.name LIKE "order"', False),
        ('table.name LIKE "%%"', True),
        ('table.name LIKE "%r%r%"', True),
        ('table.name LIKE "%r%r%r%"', False),
        ('table.name LIKE "."', False),
        ('table.name NOT LIKE "%s"', False),
        ("table.name LIKE NULL", None),
        ("MONTH(period.start_date) % 3 = 2", True),
        ("(0 - 7) % 3 = 0 - 1", True),
        ("7 % 0 = 1", None),
        ("YEAR(period.end_date) * 100 + MONTH(period.end_date) = 202602", True),
        ("YEAR(period.start_date) > 2025.5", True),
        ("1.0 = 1", True),
        ("-YEAR(period.start_date) < 0", True),
        ("QUARTER(period.start_date) = 1 AND DAY(period.end_date) = 28", True),
        ("EOMONTH(period.start_date) = period.end_date", True),
        ('EOMONTH(period.start_date, 1) = DATE("2026-03-31")', True),
        ('EOMONTH(period.start_date, -2) = DATE("2025-12-31")', True),
        ("DATEDIFF(period.end_date, period.start_date) = 27", True),
        ('DATEADD(period.end_date, 1) = DATE("2026-03-01")', True),
        ('IF(table.name = NULL, "a", "b") = "b"', True),
        ('CASE WHEN period.level = "year" THEN 1 WHEN period.level = "month" THEN 2 END = 2', True),
        ('CASE WHEN period.level = "year" THEN 1 END = 1', None),
        ('COALESCE(NULL, table.name) = "orders"', True),
        ('NULLIF(table.name, "orders") IS NULL', True),
        ('NULLIF(table.name, NULL) = "orders"', True),
        ("ISNULL(NULL)", True),
        ('AND(table.name = "orders", NULL)', None),
        ('OR(table.name = "orders", NULL)', True),
        ("NOT(NULL)", None),
        ('CONCAT(LEFT(period.identifier, 4), RIGHT(period.identifier, 2)) = "202602"', True),
        ('SUBSTRING(period.identifier, 6, 2) = "02"', True),
        ('SUBSTRING(period.identifier, 0, 2) = "20"', True),
        ('SUBSTRING(period.identifier, -2) = "02"', True),
        ('SUBSTRING(period.identifier, -9, 4) = "20"', True),
        ('UPPER(table.name) = "ORDERS" AND LOWER("X") = "x" AND TRIM("  x ") = "x"', True),
        ("LEN(table.name) = 6", True),
        ('CONTAINS(table.name, "der") AND STARTS_WITH(table.name, "or") AND ENDS_WITH(table.name, "rs")', True),
        ('REPLACE(period.identifier, "-", "") = "202602"', True),
        ('RIGHT(table.name, 0) = ""', True),
        ("TRUE", True),
    ],
)
def test_conditions(when: str, expected: bool | None) -> None:
    assert holds(when, period_of("2026-02", GREGORIAN), "orders") is expected


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
        holds("9223372036854775807 + 1 > 0", period_of("2026-02", GREGORIAN), "orders")
    assert caught.value.code == "RESOLVE_049"


def test_a_pattern_of_many_wildcards_ends() -> None:
    pattern = "%a" * 60 + "b"
    assert holds(f'table.name LIKE "{pattern}"', period_of("2026", GREGORIAN), "a" * 400) is False
