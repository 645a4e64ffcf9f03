"""Draws the waterfall of a bridge: the total before, the share of every cause, and the total after."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from daybook.pictures.shown_values import Negatives, format_number
from daybook.pictures.svg import element, label, picture, shortened, text_width, tooltip

Number = int | Decimal | float

_WIDTH = 1100.0
_ROW = 30.0
_BAR = 18.0
_MARGIN = 8.0
_MOST_LABEL = 460.0
_GAP = 14.0
# Where shares reach over less than this part of the totals, an axis from zero would hide them.
_LEAST_SPREAD = 0.2
_PADDED = 0.15
_TIP = 5.0


@dataclass(frozen=True, slots=True)
class Share:
    """What one cause added to a total; `note` is shown with the label, such as the rows that changed."""

    label: str
    value: Number
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    note: str
    text: str
    start: float
    end: float
    is_total: bool

    @property
    def kind(self) -> str:
        return "total" if self.is_total else "plus" if self.end >= self.start else "minus"


def draw_waterfall(
    before: tuple[str, Number],
    shares: Sequence[Share],
    after: tuple[str, Number],
    *,
    title: str,
    name: str = "waterfall",
    negatives: Negatives = "minus",
) -> str:
    """One row for each bar: what is added goes right, what is taken away goes left and is hatched."""
    rows = _make_rows(before, shares, after, negatives)
    low, high, is_broken = _axis(rows)
    label_width = min(max(map(_label_width, rows)), _MOST_LABEL)
    value_width = max(text_width(row.text) for row in rows) + _GAP
    left, right = _MARGIN + label_width + _GAP, _WIDTH - _MARGIN - value_width
    scale = (right - left) / (high - low)

    def place(value: float) -> float:
        return left + (value - low) * scale

    hatch = f"{name}-hatch"
    height = 2 * _MARGIN + _ROW * len(rows) + (_ROW if is_broken else 0)
    parts = [_hatch_pattern(hatch)]
    if low <= 0 <= high:
        parts.append(element("path", d=f"M{place(0):.1f} {_MARGIN}V{_MARGIN + _ROW * len(rows):.1f}", class_="axis"))
    for number, row in enumerate(rows):
        top = _MARGIN + number * _ROW
        start = left if row.is_total and is_broken else place(row.start)
        parts.append(_draw_row(row, top, (start, place(row.end)), label_width, hatch))
        if number + 1 < len(rows):
            # The next bar begins where this one ends.
            bottom, next_top = top + (_ROW + _BAR) / 2, top + _ROW + (_ROW - _BAR) / 2
            parts.append(element("path", d=f"M{place(row.end):.1f} {bottom:.1f}V{next_top:.1f}", class_="joint"))
    if is_broken:
        note = "The bars of the totals do not begin at zero."
        parts.append(label(note, left, height - _MARGIN - 8, class_="note start"))
    return picture(
        parts,
        _WIDTH,
        height,
        name=name,
        title=title,
        description="; ".join(f"{row.label}: {row.text}" for row in rows),
    )


def _make_rows(
    before: tuple[str, Number], shares: Sequence[Share], after: tuple[str, Number], negatives: Negatives
) -> list[_Row]:
    reached = before[1]
    rows = [_Row(before[0], "", format_number(reached, negatives), 0.0, float(reached), is_total=True)]
    for share in shares:
        start, reached = reached, _sum(reached, share.value)
        text = _signed(share.value, negatives)
        rows.append(_Row(share.label, share.note, text, float(start), float(reached), is_total=False))
    end = format_number(after[1], negatives)
    return [*rows, _Row(after[0], "", end, 0.0, float(after[1]), is_total=True)]


def _sum(one: Number, other: Number) -> Number:
    if isinstance(one, float) or isinstance(other, float):
        return float(one) + float(other)
    return one + other


def _signed(value: Number, negatives: Negatives) -> str:
    """A share shows its sign, whichever it has."""
    return f"+{format_number(value)}" if value > 0 else format_number(value, negatives) if value else f"{value}"


def _axis(rows: Sequence[_Row]) -> tuple[float, float, bool]:
    """From the smallest to the largest value, with zero unless that would hide the shares."""
    reached = [row.end for row in rows]
    low, high = min(reached), max(reached)
    spread = high - low
    largest = max(abs(low), abs(high))
    is_broken = low * high > 0 and 0 < spread < largest * _LEAST_SPREAD
    if is_broken:
        return low - spread * _PADDED * 2, high + spread * _PADDED, True
    low, high = min(low, 0.0), max(high, 0.0)
    return (low, high, False) if high > low else (0.0, 1.0, False)


def _label_width(row: _Row) -> float:
    return text_width(row.label) + (text_width(row.note) + _GAP if row.note else 0)


def _draw_row(row: _Row, top: float, ends: tuple[float, float], label_width: float, hatch: str) -> str:
    text_y = top + _ROW / 2 + 4.5
    left, width = min(ends), max(abs(ends[1] - ends[0]), 1.0)
    bar: dict[str, object] = {"x": left, "y": top + (_ROW - _BAR) / 2, "width": width, "height": _BAR}
    note_width = text_width(row.note) + _GAP if row.note else 0.0
    parts = [
        tooltip(" ".join(filter(None, (f"{row.label}: {row.text}", row.note)))),
        label(shortened(row.label, label_width - note_width), _MARGIN, text_y, class_="name start"),
        element("rect", "", **bar, class_="bar"),
    ]
    if row.note:
        parts.append(label(row.note, _MARGIN + label_width, text_y, class_="note end"))
    if row.kind == "minus":
        parts.append(element("rect", "", **bar, fill=f"url(#{hatch})"))
    if not row.is_total and width > 3 * _TIP:
        parts.append(_direction(row, ends[1], top + _ROW / 2))
    parts.append(label(row.text, _WIDTH - _MARGIN, text_y, class_="value end"))
    return element("g", parts, class_=f"row {row.kind}")


def _direction(row: _Row, x: float, y: float) -> str:
    """A small arrow inside the end of a bar."""
    step = -_TIP if row.kind == "plus" else _TIP
    return element("path", d=f"M{x + step / 2:.1f} {y:.1f}l{step:.1f} {-_TIP}v{2 * _TIP}z", class_="way")


def _hatch_pattern(name: str) -> str:
    line = element("path", d="M0 6L6 0", class_="hatch")
    pattern = element("pattern", line, id=name, width=6, height=6, patternUnits="userSpaceOnUse")
    return element("defs", pattern)
