"""What `diff` and `bridge` print."""

import io
from contextlib import redirect_stdout
from dataclasses import replace
from decimal import Decimal

import pytest

from daybook.cli.bridge import show_bridge
from daybook.cli.compared_rows import split_columns
from daybook.cli.diff import show_diff
from daybook.compare.bridge_result import Cause, GroupBridge, RowCounts, RowEffect
from daybook.compare.compared_run import RepeatedRowKeys
from daybook.compare.diff_result import ColumnTotal, DiffCounts, DiffResult, RowChange
from daybook.model.types import Value
from tests.comparisons import ORDERS, ROUNDING, ROWS, A, a_bridge, shares
from tests.comparisons import B as COMPLETED

B = replace(COMPLETED, is_draft=True, is_computed=True)
NO_KEYS = RepeatedRowKeys()


def a_diff(*changes: RowChange, rows: DiffCounts, repeated: RepeatedRowKeys = NO_KEYS) -> DiffResult:
    totals = (ColumnTotal("total", Decimal("1150.00"), Decimal("1170.50"), Decimal("20.50")),)
    return DiffResult(A, B, "lake.close", ROWS, ("region",), "group_by", rows, totals, changes, repeated)


def test_a_diff_says_how_rows_are_matched_and_what_changed(capsys: pytest.CaptureFixture[str]) -> None:
    changed = RowChange({"region": "EMEA"}, {"total": Decimal("1.00"), "n": 1}, {"total": Decimal("2.00"), "n": 1})
    added = RowChange({"region": None}, None, {"total": Decimal("19.50"), "n": None})
    rows = DiffCounts(a=2, b=3, added=1, removed=0, changed=1, same=1)

    show_diff(a_diff(changed, added, rows=rows, repeated=RepeatedRowKeys(0, 2)))

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


def test_a_bridge_shows_causes_their_rows_and_the_order(capsys: pytest.CaptureFixture[str]) -> None:
    late = RowEffect({"order_id": "O-9"}, None, {"amount": Decimal("30.00")}, Decimal("30.00"))
    data = Cause((ORDERS,), Decimal("30.00"), RowCounts(1, 0, 0), (late,), explained_by=10)
    group = GroupBridge({"region": "EMEA"}, Decimal("60.00"), Decimal("90.00"), shares("30.00", "0.00"))

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


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal of 60 columns."""
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NO_COLOR", "1")
    return Terminal()


def test_no_number_and_no_key_is_cut_in_a_narrow_terminal(narrow: Terminal) -> None:
    amount = Decimal("12345678901.23")
    before: dict[str, Value] = {"amount": amount, "text": "x" * 40}
    after: dict[str, Value] = {"amount": Decimal(0), "text": "y"}
    row = RowEffect({"line": "J-1", "会社": "東京支店"}, before, after, amount)
    data = Cause((ORDERS,), amount, RowCounts(0, 0, 1), (row,), repeated=RepeatedRowKeys(1, 0))
    group = GroupBridge({"region": "EMEA"}, amount, 2 * amount, shares(str(amount), "0.00"))

    with redirect_stdout(narrow):
        show_bridge(a_bridge(data, Cause((ROUNDING,), Decimal("0.00")), after="12345679001.23", by=(group,)))

    lines = narrow.getvalue().splitlines()
    assert "line J-1 会社 東京支店" in lines
    assert "  effect +12,345,678,901.23" in lines
    assert [" ".join(line.split()) for line in lines if line.startswith(("region", "before", "orders"))][-3:] == [
        "region EMEA",
        "before 12,345,678,901.23",
        "orders +12,345,678,901.23",
    ]
    assert not any("…" in line and any(character.isdigit() for character in line) for line in lines)


def test_totals_that_do_not_fit_beside_each_other_stand_below_each_other(narrow: Terminal) -> None:
    found = a_diff(rows=DiffCounts(a=1, b=1, added=0, removed=0, changed=1, same=0))
    large = Decimal("1234567890123456.78")

    with redirect_stdout(narrow):
        show_diff(replace(found, totals=(ColumnTotal("total", large, -large, -2 * large),)))

    lines = [" ".join(line.split()) for line in narrow.getvalue().splitlines()]
    assert lines[-4:] == [
        "column total",
        "before 1,234,567,890,123,456.78",
        "after -1,234,567,890,123,456.78",
        "difference -2,469,135,780,246,913.56",
    ]


def test_causes_swapped_together_say_why(capsys: pytest.CaptureFixture[str]) -> None:
    show_bridge(a_bridge(Cause((ORDERS, ROUNDING), Decimal("30.25"), reason="Unknown column tax")))

    assert "replaced together, because: Unknown column tax" in capsys.readouterr().out


def test_nothing_different_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    show_bridge(a_bridge(after="100.00"))

    assert "nothing differs between the two runs: total of lake.close" in capsys.readouterr().out


def test_differences_that_change_nothing_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    show_bridge(a_bridge(after="100.00", order=(ORDERS,)))

    assert "these differences change nothing: data of orders" in capsys.readouterr().out


def test_columns_are_separated_by_commas() -> None:
    assert split_columns(" region, product ,") == ("region", "product")
    assert split_columns(None) == ()
