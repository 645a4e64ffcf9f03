"""Bars to both sides of a line."""

from decimal import Decimal

import pytest

from daybook.cli.variance_chart import ASCII_GLYPHS, ChartBar, Glyphs, variance_chart


def drawn(*bars: tuple[str, int], width: int, glyphs: Glyphs | None = None) -> list[str]:
    made = [ChartBar(label, Decimal(value)) for label, value in bars]
    lines = variance_chart(made, width=width, glyphs=glyphs) if glyphs else variance_chart(made, width=width)
    return [line.plain for line in lines]


def test_bars_grow_from_the_line() -> None:
    # 29 wide: two blanks, a label of four, a blank, 8 + line + 8, a blank, a value of four.
    assert drawn(("Good", 400), ("Bad", -200), ("Fair", 75), ("Poor", -75), ("Even", 0), width=29) == [
        "  Good         │████████ +400",
        "  Bad      ████│         -200",
        "  Fair         │█▌        +75",
        "  Poor       ▐█│          -75",
        "  Even         │           +0",
    ]


def test_plain_letters_where_blocks_cannot_be_shown() -> None:
    assert drawn(("Good", 400), ("Bad", -200), width=29, glyphs=ASCII_GLYPHS) == [
        "  Good         |######## +400",
        "  Bad      ####|         -200",
    ]


@pytest.mark.parametrize("width", [60, 78, 80])
def test_no_line_is_wider_than_asked_for(width: int) -> None:
    lines = drawn(("Shared services", 1_234_567), ("Cost of sales", -98_765_432), width=width)
    assert max(map(len, lines)) <= width


def test_nothing_but_zeros() -> None:
    assert drawn(("A", 0), width=20)[0].count("█") == 0


def test_good_is_green_and_bad_is_red() -> None:
    good, bad = variance_chart([ChartBar("Good", Decimal(1)), ChartBar("Bad", Decimal(-1))], width=40)
    assert {str(span.style) for span in good.spans} == {"green"}
    assert {str(span.style) for span in bad.spans} == {"red"}
