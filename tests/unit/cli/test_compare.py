"""What `diff` and `bridge` print."""

from decimal import Decimal

import pytest

from daybook.cli.compare import show_bridge, show_diff, split_columns
from daybook.compare.result import (
    BridgeResult,
    Cause,
    CauseName,
    ColumnTotal,
    ComparedRows,
    ComparedRun,
    DiffCounts,
    DiffResult,
    GroupBridge,
    RepeatedKeys,
    RowChange,
    RowCounts,
    RowEffect,
)

A = ComparedRun("20260201-100000-aaaaaa", "close", 1, "2026-01")
B = ComparedRun("20260208-100000-bbbbbb", "close", 2, "2026-01", is_draft=True, is_computed=True)
ROWS = ComparedRows(40, 40, "Totals")
NO_KEYS = RepeatedKeys()
ORDERS = CauseName("data", "orders", "data of orders")
ROUNDING = CauseName("definition", "round", "30 Round (changed)")


def a_diff(*changes: RowChange, rows: DiffCounts, repeated: RepeatedKeys = NO_KEYS) -> DiffResult:
    totals = (ColumnTotal("total", Decimal("1150.00"), Decimal("1170.50"), Decimal("20.50")),)
    return DiffResult(A, B, "lake.close", ROWS, ("region",), "group_by", rows, totals, changes, repeated)


def test_a_diff_says_how_rows_are_matched_and_what_changed(capsys: pytest.CaptureFixture[str]) -> None:
    changed = RowChange({"region": "EMEA"}, {"total": Decimal("1.00"), "n": 1}, {"total": Decimal("2.00"), "n": 1})
    added = RowChange({"region": None}, None, {"total": Decimal("19.50"), "n": None})
    rows = DiffCounts(a=2, b=3, added=1, removed=0, changed=1, same=1)

    show_diff(a_diff(changed, added, rows=rows, repeated=RepeatedKeys(0, 2)))

    shown = capsys.readouterr()
    lines = [" ".join(line.split()) for line in shown.out.splitlines()]
    assert "B 20260208-100000-bbbbbb close version 2 for 2026-01, draft" in lines
    assert "1 added, 0 removed, 1 changed, 1 the same" in lines
    assert "total 1,150.00 1,170.50 +20.50" in lines
    assert "~ EMEA total 1.00 2.00" in lines
    assert "+ NULL total 19.50" in lines
    assert "matched by region (the columns they are grouped by)" in shown.err
    assert "B was computed again" in shown.err
    assert "0 in A, 2 in B" in shown.err


def test_rows_that_are_the_same_are_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    show_diff(a_diff(rows=DiffCounts(a=3, b=3, added=0, removed=0, changed=0, same=3)))

    assert "the 3 rows are the same" in capsys.readouterr().out


def a_bridge(
    *causes: Cause, after: str = "130.25", order: tuple[CauseName, ...] = (), by: tuple[GroupBridge, ...] | None = None
) -> BridgeResult:
    return BridgeResult(
        a=A,
        b=B,
        output="lake.close",
        operation=ROWS,
        measure="total",
        before=Decimal("100.00"),
        after=Decimal(after),
        residual=Decimal("0.00"),
        order=order or tuple(member for cause in causes for member in cause.members),
        causes=causes,
        by=by,
    )


def test_a_bridge_shows_causes_their_rows_and_the_order(capsys: pytest.CaptureFixture[str]) -> None:
    late = RowEffect({"order_id": "O-9"}, None, {"amount": Decimal("30.00")}, Decimal("30.00"))
    data = Cause((ORDERS,), Decimal("30.00"), RowCounts(1, 0, 0), (late,), explained_by=10)
    group = GroupBridge({"region": "EMEA"}, Decimal("60.00"), Decimal("90.00"), (Decimal("30.00"), Decimal("0.00")))

    show_bridge(a_bridge(data, Cause((ROUNDING,), Decimal("0.25")), by=(group,)))

    shown = capsys.readouterr()
    lines = [" ".join(line.split()) for line in shown.out.splitlines()]
    assert "total of lake.close, rows of Totals: +30.25" in lines
    assert any(line.startswith("data of orders +30.00 █") for line in lines)
    assert any(line.startswith("30 Round (changed) +0.25 █") for line in lines)
    assert "data of orders, rows: 1 added, 0 removed, 0 changed" in lines
    assert "O-9 amount 30.00 +30.00" in lines
    assert "EMEA 60.00 +30.00 0.00 90.00" in lines
    assert "data:orders, definition:round" in shown.err
    assert "`daybook explain 20260208-100000-bbbbbb 10 order_id=O-9`" in shown.err
    assert max(map(len, shown.out.splitlines())) <= 80


def test_causes_swapped_together_say_why(capsys: pytest.CaptureFixture[str]) -> None:
    show_bridge(a_bridge(Cause((ORDERS, ROUNDING), Decimal("30.25"), reason="Unknown column tax")))

    assert "swapped together, because: Unknown column tax" in capsys.readouterr().out


def test_nothing_different_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    show_bridge(a_bridge(after="100.00"))

    assert "nothing differs between the two runs: total of lake.close" in capsys.readouterr().out


def test_differences_that_change_nothing_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    show_bridge(a_bridge(after="100.00", order=(ORDERS,)))

    assert "these differ and change nothing: data of orders" in capsys.readouterr().out


def test_columns_are_separated_by_commas() -> None:
    assert split_columns(" region, product ,") == ("region", "product")
    assert split_columns(None) == ()
