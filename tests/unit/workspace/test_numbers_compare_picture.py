"""A bridge as a waterfall: its totals, the share of every cause with its rows, and what is left over."""

from decimal import Decimal
from xml.etree import ElementTree

from daybook.compare.bridge_result import BridgeResult, Cause, CauseName, RowCounts
from daybook.compare.compared_run import ComparedRows, ComparedRun
from daybook.workspace.numbers import draw_bridge

SVG = "{http://www.w3.org/2000/svg}"
DATA = CauseName("data", "orders", "orders <new>")
RULE = CauseName("definition", "op-2", "Discount (changed)")


def bridge(residual: Decimal = Decimal(0)) -> BridgeResult:
    causes = (Cause((DATA,), Decimal("30.00"), RowCounts(1, 0, 2)), Cause((RULE,), Decimal("-5.50")))
    return BridgeResult(
        ComparedRun("r1", "p", 1, "2026-01"),
        ComparedRun("r2", "p", 2, "2026-02"),
        "lake.result",
        ComparedRows(0, 0, "loaded rows"),
        "amount",
        Decimal("100.00"),
        Decimal("124.50") + residual,
        residual,
        (DATA, RULE),
        causes,
    )


def texts(found: str) -> list[list[str]]:
    rows = [each for each in ElementTree.fromstring(found).iter(f"{SVG}g") if "row" in (each.get("class") or "")]
    return [[text.text or "" for text in row.iter(f"{SVG}text")] for row in rows]


def test_totals_and_shares() -> None:
    assert texts(draw_bridge(bridge())) == [
        ["A: 2026-01", "100.00"],
        ["orders <new>", "+1 ~2 rows", "+30.00"],
        ["Discount (changed)", "\N{MINUS SIGN}5.50"],
        ["B: 2026-02", "124.50"],
    ]
    assert texts(draw_bridge(bridge(), negatives="parentheses"))[2][-1] == "(5.50)"


def test_what_is_not_explained_is_shown() -> None:
    assert texts(draw_bridge(bridge(Decimal("0.01"))))[3] == ["not explained", "+0.01"]
