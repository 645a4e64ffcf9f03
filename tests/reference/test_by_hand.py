"""The reference itself, against values worked out by hand."""

import datetime
from decimal import Decimal

import pytest

from daybook.model.types import BOOLEAN, DATE, FLOAT, INTEGER, STRING, ColumnType, DecimalType
from daybook.recompute.arithmetic import ValueFailureError
from tests.reference.evaluate import parse, value

TYPES: dict[str, ColumnType] = {
    "a": DecimalType(18, 2),
    "w": DecimalType(38, 10),
    "n": INTEGER,
    "f": FLOAT,
    "s": STRING,
    "b": BOOLEAN,
    "t": DATE,
}
ROW = {
    "a": Decimal("10.25"),
    "w": Decimal("1e27"),
    "n": 7,
    "f": 0.5,
    "s": "Zoë",
    "b": None,
    "t": datetime.date(2024, 1, 31),
}


@pytest.mark.parametrize(
    ("text", "type_", "expected"),
    [
        ("1 + 2 * 3", INTEGER, 7),
        ("-7 % 3", INTEGER, -1),
        ("7 % -3", INTEGER, 1),
        ("MOD(7, 0)", INTEGER, None),
        ("1 / 3", DecimalType(7, 6), Decimal("0.333333")),
        ("n / n", DecimalType(38, 19), Decimal(1)),
        ("2.0 / 3.0", DecimalType(8, 6), Decimal("0.666667")),
        ("-2.0 / 3.0", DecimalType(8, 6), Decimal("-0.666667")),
        ("a / 0", DecimalType(22, 6), None),
        ("a + 0.125", DecimalType(20, 3), Decimal("10.375")),
        ("a + n", DecimalType(23, 2), Decimal("17.25")),
        ("a * 1.5", DecimalType(21, 3), Decimal("15.375")),
        ("w + w", DecimalType(38, 10), Decimal("2e27")),
        ("ROUND(2.5)", None, Decimal(3)),
        ("ROUND(-2.5)", None, Decimal(-3)),
        ("ROUND(10.245, 2)", None, Decimal("10.25")),
        ("ROUND(155, -1)", None, 160),
        ("FLOOR(-1.5)", None, Decimal(-2)),
        ("CEIL(-1.5)", None, Decimal(-1)),
        ("b AND FALSE", BOOLEAN, False),
        ("b AND TRUE", BOOLEAN, None),
        ("b OR TRUE", BOOLEAN, True),
        ("NOT b", BOOLEAN, None),
        ("n IN (1, NULL)", BOOLEAN, None),
        ("n IN (7, NULL)", BOOLEAN, True),
        ("n NOT IN (1, NULL)", BOOLEAN, None),
        ("n BETWEEN 8 AND NULL", BOOLEAN, False),
        ("s LIKE 'Z_ë'", BOOLEAN, True),
        ("s LIKE 'Z.*'", BOOLEAN, False),
        ("'a\\b' LIKE 'a\\%'", BOOLEAN, True),
        ("IF(b, 1, 2)", INTEGER, 2),
        ("CASE WHEN b THEN 1 END", INTEGER, None),
        ("COALESCE(NULL, n)", INTEGER, 7),
        ("MIN(1, NULL)", INTEGER, None),
        ("ADD_MONTHS(t, 1)", DATE, datetime.date(2024, 2, 29)),
        ("EOMONTH(DATE('2026-02-03'))", DATE, datetime.date(2026, 2, 28)),
        ("DATEDIFF(DATE('2026-03-01'), t)", INTEGER, 760),
        ('"say ""hi"""', STRING, 'say "hi"'),
        ("LEN(s)", INTEGER, 3),
        ("n + f", FLOAT, 7.5),
    ],
)
def test_value(text: str, type_: ColumnType | None, expected: object) -> None:
    expression = parse(text, TYPES)
    assert value(expression, ROW) == expected
    if type_ is not None:
        assert expression.type == type_


@pytest.mark.parametrize("text", ["9223372036854775807 + 1", "w * 100 * 10", "ABS(-9223372036854775807 - 1)"])
def test_failure(text: str) -> None:
    expression = parse(text, TYPES)
    with pytest.raises(ValueFailureError):
        value(expression, ROW)
