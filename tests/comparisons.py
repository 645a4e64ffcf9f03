"""Comparisons of two runs as values, for tests of what shows them."""

from decimal import Decimal

from daybook.compare.bridge_result import BridgeResult, Cause, CauseName, CauseShare, GroupBridge
from daybook.compare.compared_run import ComparedRows, ComparedRun

A = ComparedRun("20260201-100000-aaaaaa", "close", 1, "2026-01")
B = ComparedRun("20260208-100000-bbbbbb", "close", 2, "2026-01")
ROWS = ComparedRows(40, 40, "Totals")
ORDERS = CauseName("data", "orders", "data of orders")
ROUNDING = CauseName("definition", "round", "30 Round (changed)")


def shares(*amounts: str) -> tuple[CauseShare, ...]:
    """What the orders, and then the rounding, moved in a group."""
    causes = ((ORDERS,), (ROUNDING,))
    return tuple(CauseShare.of(members, Decimal(amount)) for members, amount in zip(causes, amounts, strict=False))


def a_bridge(
    *causes: Cause,
    b: ComparedRun = B,
    before: str = "100.00",
    after: str = "130.25",
    order: tuple[CauseName, ...] = (),
    by: tuple[GroupBridge, ...] | None = None,
) -> BridgeResult:
    """A bridge of the column `total` whose shares add up; the causes are in the order of replacing unless given."""
    return BridgeResult(
        a=A,
        b=b,
        output="lake.close",
        operation=ROWS,
        measure="total",
        before=Decimal(before),
        after=Decimal(after),
        residual=Decimal("0.00"),
        order=order or tuple(member for cause in causes for member in cause.members),
        causes=causes,
        by=by,
    )
