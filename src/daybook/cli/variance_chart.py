"""Variances as bars to the left and to the right of a line."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text


@dataclass(frozen=True, slots=True)
class Glyphs:
    """A whole cell, half a cell touching the line from the left and from the right, and the line."""

    whole: str
    half_left: str
    half_right: str
    line: str


BLOCK_GLYPHS = Glyphs("█", "▐", "▌", "│")
ASCII_GLYPHS = Glyphs("#", "", "", "|")


@dataclass(frozen=True, slots=True)
class ChartBar:
    label: str
    value: Decimal


def variance_chart(bars: Sequence[ChartBar], *, width: int, glyphs: Glyphs = BLOCK_GLYPHS) -> "list[Text]":
    """One line of text per bar, none wider than `width`; the longest bar fills its side."""
    from rich.text import Text

    labels = max(len(bar.label) for bar in bars)
    values = [f"{bar.value:+,.0f}" for bar in bars]
    side = max((width - labels - max(map(len, values)) - 5) // 2, 4)
    longest = max(abs(bar.value) for bar in bars) or Decimal(1)
    lines = []
    for bar, value in zip(bars, values, strict=True):
        halves = round(abs(bar.value) / longest * side * 2)
        style = "red" if bar.value < 0 else "green"
        left = _left_bar(halves, glyphs) if bar.value < 0 else ""
        right = _right_bar(halves, glyphs) if bar.value > 0 else ""
        text = Text(f"  {bar.label:<{labels}} ")
        text.append(f"{left:>{side}}", style)
        text.append(glyphs.line)
        text.append(f"{right:<{side}}", style)
        text.append(f" {value:>{max(map(len, values))}}")
        lines.append(text)
    return lines


def _left_bar(halves: int, glyphs: Glyphs) -> str:
    return (glyphs.half_left if halves % 2 else "") + glyphs.whole * (halves // 2)


def _right_bar(halves: int, glyphs: Glyphs) -> str:
    return glyphs.whole * (halves // 2) + (glyphs.half_right if halves % 2 else "")
