"""Sums that are taken in halves are exact; the halves are worked out by hand."""

from decimal import Decimal

import pytest

from daybook.engine.measures import Measures, MeasureSum
from daybook.model.types import FLOAT, INTEGER, DecimalType
from tests.unit.plan.planned import plan_of

MEASURES = Measures({"amount": DecimalType(18, 2), "wide": DecimalType(38, 10), "n": INTEGER, "f": FLOAT})


@pytest.mark.parametrize(
    ("high", "low", "total"),
    [
        (0, 12345, "123.45"),
        (-1, 4294967295, "-0.01"),
        # 12 times 9999999999999999.99, whose halves are 232830643 and 2808348671.
        (12 * 232830643, 12 * 2808348671, "119999999999999999.88"),
        (None, None, "0.00"),
    ],
)
def test_two_halves_are_one_number(high: int | None, low: int | None, total: str) -> None:
    """A number is its high half times 2^32 and its low half; the sums of both may be larger than the halves."""
    sums = MEASURES.read({"__daybook_high_after_20_0_0": high, "__daybook_low_after_20_0_0": low})
    found = sums[MeasureSum(20, "after", "amount", 0)]
    assert format(Decimal(found), "f") == total


def test_what_is_above_64_bits_has_a_weight_of_its_own() -> None:
    """-3 * 10^18 units and 4 halves of 2^32 and 5, of which 100 are one."""
    parts = {"__daybook_top_after_20_0_0": -3, "__daybook_high_after_20_0_0": 4, "__daybook_low_after_20_0_0": 5}
    assert MEASURES.read(parts)[MeasureSum(20, "after", "amount", 0)] == Decimal("-29999999828201308.11")


def test_numbers_of_few_decimals_are_taken_in_parts() -> None:
    assert [MEASURES.has_units(column) for column in MEASURES.types] == [True, False, True, False]


def test_rows_carry_no_measure_that_is_nothing_yet() -> None:
    """The first update makes the column; the next ones change what rows have."""
    plan = plan_of(
        """
        - {type: update, seq: 10, arguments: {assignments: [{column: fee, expression: amount * 2}]}}
        - {type: update, seq: 20, arguments: {assignments: [{column: fee, expression: fee + 1}]}}
        - {type: update, seq: 30, arguments: {assignments: [{column: amount, expression: "0"}]}}
        """,
        head="measures: [amount, fee]\n",
    )
    assert Measures.of(plan).carried == {10: (), 20: ("fee",), 30: ("amount",)}
