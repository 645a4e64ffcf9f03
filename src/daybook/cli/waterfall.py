"""A bridge as a waterfall in the terminal: a line per cause with label, number and bar, within 80 columns."""

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from daybook.cli.terminal import console, echo_note, fit_text, text_width
from daybook.errors.render import one_line

if TYPE_CHECKING:
    from rich.text import Text

    from daybook.compare.bridge_result import BridgeResult
    from daybook.compare.exact_numbers import Number

WIDTH = 80
_LEAST_BAR = 12
_LEAST_LABEL = 8
_MOST_LABEL = 40
_GAP = 2


def show_waterfall(bridge: "BridgeResult") -> None:
    screen = console()
    for line in waterfall(bridge, width=min(screen.width, WIDTH), is_ascii=screen.options.ascii_only):
        screen.print(line)
    if has_cut_axis(bridge):
        echo_note("the bars of the totals do not begin at zero")


@dataclass(frozen=True, slots=True)
class WaterfallBar:
    """`start` and `end` are totals; a bar of a total begins at the axis."""

    label: str
    value: str
    start: float
    end: float
    is_total: bool = False


def number_text(value: "Number") -> str:
    """With separators of thousands, and every digit."""
    return f"{value:,}" if isinstance(value, int | float) else f"{value:,f}"


def signed_text(value: "Number") -> str:
    return f"+{number_text(value)}" if value > 0 else number_text(value)


def sign_colour(value: "Number") -> str:
    return "green" if value > 0 else "red" if value < 0 else ""


def waterfall_bars(bridge: "BridgeResult") -> list[WaterfallBar]:
    running = float(bridge.before)
    bars = [WaterfallBar("before", number_text(bridge.before), 0.0, running, is_total=True)]
    for label, share, _ in bridge.bars:
        after = running + float(share)
        bars.append(WaterfallBar(one_line(label), signed_text(share), running, after))
        running = after
    if bridge.residual:
        bars.append(WaterfallBar("left over", signed_text(bridge.residual), running, float(bridge.after)))
    bars.append(WaterfallBar("after", number_text(bridge.after), 0.0, float(bridge.after), is_total=True))
    return bars


def waterfall(bridge: "BridgeResult", *, width: int = WIDTH, is_ascii: bool = False) -> "list[Text]":
    """One line per bar, none wider than `width`; two where label, number and bar do not fit beside each other.

    The axis is cut where the totals are far from zero.
    """
    from rich.text import Text

    bars = waterfall_bars(bridge)
    values = max(len(bar.value) for bar in bars)
    longest = max(text_width(bar.label) for bar in bars)
    free = width - values - 2 * _GAP
    is_stacked = free < _LEAST_LABEL + _LEAST_BAR
    labels = 0 if is_stacked else max(min(longest, _MOST_LABEL, free - _LEAST_BAR), _LEAST_LABEL)
    axis = _Axis.of(bars, max(free - labels, 0))
    lines = []
    for bar in bars:
        style = "" if bar.is_total else "green" if bar.end > bar.start else "red" if bar.end < bar.start else ""
        start, end = axis.cells(bar)
        label = fit_text(bar.label, width if is_stacked else labels, is_ascii=is_ascii)
        if is_stacked:
            lines.append(Text(label.rstrip()))
        text = Text(" " * _GAP if is_stacked else label + " " * _GAP)
        text.append(f"{bar.value:>{values}}", style)
        text.append(" " * (_GAP + start))
        text.append(("#" if is_ascii else "█") * (end - start), style)
        text.rstrip()
        lines.append(text)
    return lines


def has_cut_axis(bridge: "BridgeResult") -> bool:
    """Whether the bars of the totals begin at another number than zero."""
    return _Axis.of(waterfall_bars(bridge), 0).base != 0


@dataclass(frozen=True, slots=True)
class _Axis:
    """Where totals stand in `room` cells; `low` is zero, or less than all totals where they are far from it."""

    low: float
    high: float
    room: int

    @classmethod
    def of(cls, bars: list[WaterfallBar], room: int) -> "_Axis":
        totals = [point for bar in bars for point in ((bar.end,) if bar.is_total else (bar.start, bar.end))]
        # Floats may be infinite, or no number at all; such bars are not drawn.
        drawn = [point for point in totals if isfinite(point)] or [0.0]
        low, high = min(drawn), max(drawn)
        margin = (high - low) / 4
        if high > low > 2 * (high - low):
            low -= margin
        else:
            low = min(low, 0.0)
        if low < high < -2 * (high - low):
            high += margin
        elif low < 0:
            high = max(high, 0.0)
        return cls(low, high, room)

    @property
    def base(self) -> float:
        """The number at which the bars of totals begin."""
        return self.low if self.low > 0 else self.high if self.high < 0 else 0.0

    def cells(self, bar: WaterfallBar) -> tuple[int, int]:
        """The first cell and the one after the last; a bar that is not empty has one cell at least."""
        points = (self.base, bar.end) if bar.is_total else (bar.start, bar.end)
        if not self.room or not all(map(isfinite, points)):
            return 0, 0
        first, last = sorted(self._cell(point) for point in points)
        if first == last and points[0] != points[1]:
            first = min(first, self.room - 1)
            last = first + 1
        return first, last

    def _cell(self, point: float) -> int:
        span = self.high - self.low
        return round((point - self.low) / span * self.room) if span else 0
