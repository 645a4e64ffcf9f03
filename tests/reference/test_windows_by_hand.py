"""The windows of the reference, against values worked out by hand."""

from collections.abc import Hashable, Sequence
from decimal import Decimal
from typing import Any

import pytest

from daybook.model.types import INTEGER, STRING, DecimalType
from daybook.recompute.aggregates import Aggregate
from daybook.recompute.tree import Column
from daybook.recompute.windows import BadAllocationError, Window, window_values

D = Decimal
AMOUNT, WEIGHT, GROUP = Column("amount", DecimalType(12, 2)), Column("weight", INTEGER), Column("group", STRING)
KEY = ("key",)


def rows(*values: tuple[Any, Any], group: str = "a") -> list[dict[str, Any]]:
    """Rows with an amount and a weight, keys and ids counting down."""
    return [
        {"group": group, "amount": amount, "weight": weight, "key": 9 - number, "_row_id": f"id-{9 - number}"}
        for number, (amount, weight) in enumerate(values)
    ]


def values(window: Window, picked: Sequence[dict[str, Any]], key: Sequence[str] = KEY) -> list[Any]:
    layout: dict[Hashable, int] = {name: position for position, name in enumerate(picked[0])}
    ties = [layout[name] for name in (*key, "_row_id")]
    return window_values(window, [tuple(row.values()) for row in picked], layout, ties)


PICKED = rows((D("10.00"), 2), (None, 1), (D("5.00"), None), (D("7.00"), 1))


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (Window(Aggregate("SUM", AMOUNT), (GROUP,)), [D("22.00")] * 4),
        # By weight and then by key: the last, the second, the first, the third.
        (
            Window(Aggregate("SUM", AMOUNT), (), ((WEIGHT, False),)),
            [D("17.00"), D("7.00"), D("22.00"), D("7.00")],
        ),
        (Window(Aggregate("COUNT"), (), ((WEIGHT, False),)), [3, 2, 4, 1]),
        (Window("ROW_NUMBER", (), ((WEIGHT, False),)), [3, 2, 4, 1]),
        (Window("ROW_NUMBER", ()), [4, 3, 2, 1]),
        (Window("RANK", (), ((WEIGHT, False),)), [3, 1, 4, 1]),
        # NULL is last in this direction, too.
        (Window("RANK", (), ((WEIGHT, True),)), [1, 2, 4, 2]),
        (Window("PREVIOUS", (), ((WEIGHT, False),), (AMOUNT,)), [None, D("7.00"), D("10.00"), None]),
        (Window("NEXT", (), ((WEIGHT, False),), (AMOUNT,)), [D("5.00"), D("10.00"), None, None]),
        (Window("PREVIOUS", (WEIGHT,), ((AMOUNT, False),), (AMOUNT,)), [None, D("7.00"), None, None]),
    ],
)
def test_windows(window: Window, expected: list[Any]) -> None:
    assert values(window, PICKED) == expected


def allocated(amount: str, *weights: int | None) -> list[Any]:
    picked = rows(*((D(amount), weight) for weight in weights))
    return values(Window("ALLOCATE", (GROUP,), arguments=(AMOUNT, WEIGHT)), picked)


def test_an_allocation_gives_what_is_left_to_the_largest_remainders_and_then_by_key() -> None:
    # The keys count down, so the last row is first.
    assert allocated("10.00", 1, 1, 1) == [D("3.33"), D("3.33"), D("3.34")]
    assert allocated("-10.00", 1, 1, 1) == [D("-3.33"), D("-3.33"), D("-3.34")]
    assert allocated("100.00", 1, 2, 4) == [D("14.29"), D("28.57"), D("57.14")]
    assert allocated("5.00", 0, 2, None) == [D("0.00"), D("5.00"), D("0.00")]
    assert allocated("0.00", 0, None) == [D("0.00"), D("0.00")]


@pytest.mark.parametrize("weights", [(1, -1, 5), (0, None)])
def test_what_cannot_be_divided_fails(weights: tuple[int | None, ...]) -> None:
    with pytest.raises(BadAllocationError):
        allocated("1.00", *weights)


def test_ids_decide_where_nothing_else_does() -> None:
    number = Window("ROW_NUMBER", (), ((WEIGHT, False),))
    assert values(number, PICKED, key=()) == [3, 2, 4, 1]
