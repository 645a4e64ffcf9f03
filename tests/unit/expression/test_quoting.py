import datetime
from decimal import Decimal

import pytest

from daybook.expression import quote_identifier, quote_literal
from daybook.model.types import BOOLEAN, DATE, FLOAT, INTEGER, NULL, STRING, TIMESTAMP, ColumnType, DecimalType, Value


@pytest.mark.parametrize(("name", "quoted"), [("a", "`a`"), ("a b", "`a b`"), ("a`b", "`a``b`"), ("a.b", "`a.b`")])
def test_identifiers(name: str, quoted: str) -> None:
    assert quote_identifier(name) == quoted


@pytest.mark.parametrize(
    ("value", "column_type", "quoted"),
    [
        ("it's", STRING, r"'it\'s'"),
        ("back\\slash", STRING, r"'back\\slash'"),
        ("${x}", STRING, r"'\u0024{x}'"),
        (42, INTEGER, "42L"),
        (-1, INTEGER, "-1L"),
        (Decimal("1.50"), DecimalType(3, 2), "1.50BD"),
        (Decimal("1.5"), DecimalType(18, 2), "CAST(1.5BD AS DECIMAL(18,2))"),
        (Decimal("1E-7"), DecimalType(7, 7), "0.0000001BD"),
        (7, DecimalType(1, 0), "7BD"),
        (2.5, FLOAT, "2.5D"),
        (1e300, FLOAT, "1e+300D"),
        (float("nan"), FLOAT, "CAST('nan' AS DOUBLE)"),
        (True, BOOLEAN, "TRUE"),
        (datetime.date(1, 1, 1), DATE, "DATE'0001-01-01'"),
        (
            datetime.datetime(2026, 1, 31, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
            TIMESTAMP,
            "TIMESTAMP_LTZ'2026-01-30 23:00:00Z'",
        ),
        (None, NULL, "NULL"),
        (None, DecimalType(18, 2), "CAST(NULL AS DECIMAL(18,2))"),
    ],
)
def test_literals(value: Value, column_type: ColumnType, quoted: str) -> None:
    assert quote_literal(value, column_type) == quoted


@pytest.mark.parametrize(
    ("value", "column_type"),
    [
        ("1", INTEGER),
        (1, STRING),
        (True, INTEGER),
        (1, BOOLEAN),
        (datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), DATE),
    ],
)
def test_a_value_of_another_type_is_a_mistake_of_ours(value: Value, column_type: ColumnType) -> None:
    with pytest.raises(TypeError):
        quote_literal(value, column_type)
