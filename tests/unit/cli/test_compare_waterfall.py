"""The waterfall of a bridge: one line per cause, labels, numbers with signs and bars, within 80 columns."""

from decimal import Decimal

import pytest

from daybook.cli.compare import waterfall
from daybook.compare.result import BridgeResult, Cause, CauseName, ComparedRows, ComparedRun

RUN = ComparedRun("20260201-100000-aaaaaa", "close", 1, "2026-01")


def bridge(before: str, *causes: tuple[str, str], residual: str = "0.00") -> BridgeResult:
    made = tuple(Cause((CauseName("data", label, label),), Decimal(share)) for label, share in causes)
    after = sum((cause.share for cause in made), Decimal(before)) + Decimal(residual)  # type: ignore[operator]
    return BridgeResult(
        a=RUN,
        b=RUN,
        output="lake.close",
        operation=ComparedRows(40, 40, "Totals"),
        measure="total",
        before=Decimal(before),
        after=after,
        residual=Decimal(residual),
        order=tuple(cause.members[0] for cause in made),
        causes=made,
    )


def drawn(found: BridgeResult, width: int = 80, *, is_ascii: bool = False) -> list[str]:
    return [line.plain for line in waterfall(found, width=width, is_ascii=is_ascii)]


def test_every_bar_begins_where_the_one_before_ended() -> None:
    # 42 wide: a label of 8, a number of 6, two gaps of two, 24 cells for 120.
    assert drawn(bridge("60.00", ("late", "60.00"), ("rate", "-30.00")), 42) == [
        "before     60.00  ████████████",
        "late      +60.00              ████████████",
        "rate      -30.00                    ██████",
        "after      90.00  ██████████████████",
    ]


def test_far_from_zero_the_axis_is_cut_so_that_causes_can_be_seen() -> None:
    lines = drawn(bridge("2170000.00", ("late", "-30000.00")))

    late, after = lines[1], lines[2]
    assert late.count("█") > after.count("█") > 0


@pytest.mark.parametrize("width", [60, 80])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    long = "data of a dataset with a name that nobody would want to type every day"
    lines = drawn(bridge("123456789012.34", (long, "-99999999999.99"), ("rate", "0.01")), width)

    assert max(map(len, lines)) <= width
    assert lines[1].split("  ")[0].endswith("…")


def test_plain_letters_where_blocks_cannot_be_shown() -> None:
    assert "#" in drawn(bridge("1.00", ("late", "1.00")), is_ascii=True)[1]


def test_what_floats_leave_over_is_a_line() -> None:
    assert drawn(bridge("1.00", ("late", "1.00"), residual="0.01"))[2].startswith("left over")


def test_a_total_that_did_not_move_has_lines_without_bars_of_causes() -> None:
    lines = drawn(bridge("0.00", ("up", "0.00")))

    assert [line.split()[0] for line in lines] == ["before", "up", "after"]


def test_negative_totals_grow_to_the_left_of_zero() -> None:
    before, cost, after = drawn(bridge("-10.00", ("cost", "-10.00")), 40)

    assert before.count("█") * 2 == pytest.approx(after.count("█"), abs=1)
    assert cost.index("█") < before.index("█")
