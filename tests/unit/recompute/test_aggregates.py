"""Averages are rounded once, to the places of their column."""

from decimal import Decimal

from daybook.model.types import DecimalType
from daybook.recompute.aggregates import Aggregate
from daybook.recompute.tree import Column

AMOUNT = Column("amount", DecimalType(18, 2))
AVERAGE = Aggregate("AVG", AMOUNT)


def test_the_type_of_an_average() -> None:
    assert AVERAGE.type == DecimalType(38, 12)
    assert AVERAGE.type_alone == DecimalType(22, 6)
    assert AVERAGE.for_column(DecimalType(22, 6)).type == DecimalType(22, 6)
    # A wider column gets the value of SUM / COUNT.
    assert AVERAGE.for_column(DecimalType(38, 19)).type == DecimalType(38, 12)


def test_a_quotient_just_below_a_half_is_not_rounded_up() -> None:
    """In units of the sixth place it is a whole number and (n - 1) / 2n, which twelve places show as a half."""
    count = 1_500_001
    cents = (count - 1) // 2 * pow(10_000, -1, count) % count
    assert cents * 10_000 % count == (count - 1) // 2
    rows = [(Decimal(cents).scaleb(-2),), *[(Decimal("0.00"),)] * (count - 1)]
    rounded = AVERAGE.for_column(DecimalType(22, 6)).of_group({"amount": 0})(rows)
    assert rounded == Decimal(cents * 10_000 // count).scaleb(-6)


def test_half_goes_away_from_zero() -> None:
    column = AVERAGE.for_column(DecimalType(22, 2))
    assert column.of_group({"amount": 0})([(Decimal("0.01"),), (Decimal("0.02"),)]) == Decimal("0.02")
    assert column.of_group({"amount": 0})([(Decimal("-0.01"),), (Decimal("-0.02"),)]) == Decimal("-0.02")
