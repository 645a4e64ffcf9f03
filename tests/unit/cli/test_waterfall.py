"""The waterfall of a bridge: one line per cause, labels, numbers with signs and bars, within 80 columns."""

from dataclasses import replace
from decimal import Decimal

import pytest
from rich.cells import cell_len

from daybook.cli.waterfall import has_cut_axis, waterfall
from daybook.compare.bridge_result import BridgeResult, Cause, CauseName
from daybook.compare.compared_run import ComparedRows, ComparedRun

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
    assert has_cut_axis(bridge("2170000.00", ("late", "-30000.00")))
    assert has_cut_axis(bridge("-2170000.00", ("late", "30000.00")))
    assert not has_cut_axis(bridge("60.00", ("late", "60.00"), ("rate", "-30.00")))


@pytest.mark.parametrize("width", [60, 80])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    long = "data of a dataset with a name that nobody would want to type every day"
    lines = drawn(bridge("123456789012.34", (long, "-99999999999.99"), ("rate", "0.01")), width)

    assert max(map(len, lines)) <= width
    assert lines[1].split("  ")[0].endswith("…")


@pytest.mark.parametrize("width", [60, 80])
def test_wide_characters_take_two_columns_and_bars_stay_below_each_other(width: int) -> None:
    lines = drawn(
        bridge(
            "100.00", ("売上高の仕訳データ", "50.00"), ("1月のレート表の改定による影響額と端数処理の見直し", "-50.00")
        ),
        width,
    )

    assert max(map(cell_len, lines)) <= width
    ends = [cell_len(line[: line.index(number) + len(number)]) for line, number in zip(lines, NUMBERS, strict=True)]
    assert len(set(ends)) == 1


NUMBERS = ("100.00", "+50.00", "-50.00", "100.00")


def test_numbers_that_leave_no_room_get_a_line_of_their_own_with_every_digit() -> None:
    large = "123456789012345678901234567890123456.78"
    lines = drawn(bridge(large, ("data of the general ledger of all companies", "-0.01")), 60)

    assert max(map(cell_len, lines)) <= 60
    assert lines[0] == "before"
    assert "123,456,789,012,345,678,901,234,567,890,123,456.78" in lines[1]
    assert lines[2] == "data of the general ledger of all companies"
    assert lines[3].strip().startswith("-0.01")


@pytest.mark.parametrize("after", [float("nan"), float("inf")])
def test_totals_that_are_no_numbers_are_written_and_not_drawn(after: float) -> None:
    cause = Cause((CauseName("data", "floats", "data of floats"),), after - 1.0)
    found = replace(bridge("1.00"), before=1.0, after=after, causes=(cause,))

    lines = drawn(found)

    assert lines[-1].split() == ["after", str(after)]
    assert "█" in lines[0]


def test_signs_tell_what_colours_tell() -> None:
    up, down = drawn(bridge("10.00", ("up", "5.00"), ("down", "-5.00")))[1:3]

    assert "+5.00" in up
    assert "-5.00" in down


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


def test_small_causes_are_one_bar_where_there_are_more_than_a_person_reads() -> None:
    causes = [(f"cause {number}", f"{10 * number}.00") for number in range(1, 15)]
    found = bridge("0.00", *causes)

    lines = drawn(found)

    # The largest eleven keep their places; 10 + 20 + 30 are one bar behind them.
    assert [line.split("  ")[0] for line in lines] == [
        "before",
        *(f"cause {number}" for number in range(4, 15)),
        "3 smaller causes",
        "after",
    ]
    assert "+60.00" in lines[-2]
    assert [cause.label for cause in found.small_causes] == ["cause 1", "cause 2", "cause 3"]
