"""Differences and sums of totals are exact, however many digits they have."""

from decimal import Decimal

import pytest

from daybook.compare.exact_numbers import Number, add, subtract

WIDE = Decimal("12345678901234567890123456789012345678")


@pytest.mark.parametrize(
    ("after", "before", "difference"),
    [
        (Decimal(0), WIDE, Decimal("-12345678901234567890123456789012345678")),
        (WIDE, Decimal("0.0000000001"), Decimal("12345678901234567890123456789012345677.9999999999")),
        (Decimal("10.50"), 3, Decimal("7.50")),
        (3, 5, Decimal(-2)),
        (1.5, 1, 0.5),
    ],
)
def test_differences(after: Number, before: Number, difference: Number) -> None:
    assert subtract(after, before) == difference
    assert str(subtract(after, before)) == str(difference)


def test_sums() -> None:
    assert add(WIDE, Decimal("0.01"), -1) == Decimal("12345678901234567890123456789012345677.01")
