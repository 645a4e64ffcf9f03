"""Precision and scale, worked out by hand from Spark's published rules with allowPrecisionLoss=false."""

from decimal import Decimal

import pytest

from daybook.expression import type_rules
from daybook.model.types import DecimalType as T


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, T(1, 0)),
        (-12, T(2, 0)),
        (10**37, T(38, 0)),
        (Decimal("0.1"), T(1, 1)),
        (Decimal("0.05"), T(2, 2)),
        (Decimal("1.50"), T(3, 2)),
        (Decimal("-0.00"), T(2, 2)),
        (Decimal("0." + "9" * 38), T(38, 38)),
    ],
)
def test_a_literal_has_the_digits_written(value: int | Decimal, expected: T) -> None:
    assert type_rules.of_literal(value) == expected


@pytest.mark.parametrize(
    ("left", "right", "added", "multiplied", "divided", "remainder"),
    [
        (T(18, 2), T(18, 2), T(19, 2), T(37, 4), T(38, 20), T(18, 2)),
        (T(18, 2), T(1, 0), T(19, 2), T(20, 2), T(22, 6), T(3, 2)),
        (T(20, 0), T(20, 0), T(21, 0), T(38, 0), T(38, 19), T(20, 0)),
        (T(38, 10), T(38, 10), T(38, 10), T(38, 20), T(38, 18), T(38, 10)),
        (T(38, 38), T(1, 0), T(38, 38), T(38, 38), T(38, 38), T(38, 38)),
        (T(38, 20), T(38, 20), T(38, 20), None, T(38, 18), T(38, 20)),
        (T(5, 4), T(18, 2), T(21, 4), T(24, 6), T(26, 23), T(5, 4)),
    ],
)
def test_arithmetic(left: T, right: T, added: T, multiplied: T | None, divided: T, remainder: T) -> None:
    assert type_rules.added(left, right) == added
    assert type_rules.multiplied(left, right) == multiplied
    assert type_rules.divided(left, right) == divided
    assert type_rules.remainder(left, right) == remainder


@pytest.mark.parametrize(
    ("value", "places", "expected"),
    [
        (T(18, 2), 0, T(17, 0)),
        (T(18, 2), 1, T(18, 1)),
        (T(18, 2), 2, T(19, 2)),
        (T(18, 2), 9, T(19, 2)),
        (T(38, 10), 2, T(31, 2)),
        (T(3, 1), -5, T(6, 0)),
    ],
)
def test_rounding(value: T, places: int, expected: T) -> None:
    assert type_rules.rounded(value, places) == expected


def test_sums_and_averages() -> None:
    assert type_rules.summed(T(18, 2)) == T(38, 2)
    assert type_rules.averaged(T(18, 2)) == T(22, 6)
    assert type_rules.averaged(T(38, 10)) == T(38, 14)
    assert type_rules.averaged(T(38, 35)) is None
    assert type_rules.whole_part(T(18, 2)) == T(17, 0)
    assert type_rules.whole_part(T(18, 0)) == T(18, 0)
