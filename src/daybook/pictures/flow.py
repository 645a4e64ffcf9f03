"""Draws the flow of an amount from its source through operations to outputs, with widths by size.

Rows made by different operations are separate streams. Deleted and left out amounts branch off downwards in red.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from daybook.pictures.shown_values import format_number
from daybook.pictures.svg import element, label, picture, shortened, tooltip

Number = int | Decimal | float

_WIDTH = 1100.0
_MARGIN = 8.0
_MOST_HEIGHT = 84.0
_LEAST_HEIGHT = 2.0
# Of a stream in which amounts cancel out: it goes on.
_NOTHING_HEIGHT = 1.0
_SOURCE_WIDTH = 210.0
_OUTPUT_WIDTH = 300.0
_BEND = 26.0
_DROP = 30.0
_LINE = 16.0
_BAR = 6.0
_HEAD = 36.0
_BELOW = _DROP + 2 * _LINE + 6
_STREAM_GAP = 18.0


@dataclass(frozen=True, slots=True)
class FlowChange:
    """What the operation of a column did to a stream: `amount` came in, or left if it is negative and deleted."""

    column: int
    amount: Number
    is_deleted: bool
    after: Number


@dataclass(frozen=True, slots=True)
class FlowOutput:
    """What an output took of a stream after so many columns, and what it left out."""

    label: str
    column: int
    live: Number
    written: Number
    left_out: Number


@dataclass(frozen=True, slots=True)
class Stream:
    """Rows that one operation made: `column` is where they begin, 0 at the left edge."""

    label: str
    column: int
    start: Number
    changes: tuple[FlowChange, ...]
    outputs: tuple[FlowOutput, ...]

    @property
    def largest(self) -> float:
        amounts = [self.start, *(change.after for change in self.changes), *(output.live for output in self.outputs)]
        return max(abs(float(amount)) for amount in amounts)


def draw_flow(streams: Sequence[Stream], columns: Sequence[str], *, title: str, name: str = "flow") -> str:
    """One stream below the other; `columns` are the names of operations that touch any of them."""
    largest = max((stream.largest for stream in streams), default=0.0) or 1.0
    layout = _Layout(len(columns), _MOST_HEIGHT / largest)
    parts = [
        label(shortened(text, layout.step - 8), layout.x(number), _MARGIN + 12, class_="note")
        for number, text in enumerate(columns, start=1)
    ]
    top = _MARGIN + _HEAD
    for stream in streams:
        drawn = _Drawing(stream, layout, top)
        parts.append(element("g", [tooltip(stream.label), *drawn.parts()], class_="stream"))
        top += drawn.height + _STREAM_GAP
    description = "; ".join(sentence for stream in streams for sentence in _sentences(stream, columns))
    return picture(parts, _WIDTH, top, name=name, title=title, description=description)


@dataclass(frozen=True, slots=True)
class _Layout:
    columns: int
    scale: float

    @property
    def step(self) -> float:
        return (_WIDTH - _SOURCE_WIDTH - _OUTPUT_WIDTH) / (self.columns + 1)

    @property
    def right(self) -> float:
        return _WIDTH - _OUTPUT_WIDTH

    def x(self, column: int) -> float:
        return _SOURCE_WIDTH + column * self.step

    def height(self, amount: Number) -> float:
        size = abs(float(amount)) * self.scale
        return max(size, _LEAST_HEIGHT) if amount else 0.0


@dataclass
class _Drawing:
    """One stream; its upper edge is straight, and what comes or goes does so at its lower edge."""

    stream: Stream
    layout: _Layout
    top: float

    @property
    def height(self) -> float:
        height = self.layout.height
        changes = [height(change.after) + height(change.amount) + _BELOW for change in self.stream.changes]
        left_out = [
            self._left_out_edge(output) - self.top + _LINE + 4 for output in self.stream.outputs if output.left_out
        ]
        slots = sum(map(self._slot, self.stream.outputs))
        return max(height(self.stream.largest), 2 * _LINE, slots, *changes, *left_out)

    def _slot(self, output: FlowOutput) -> float:
        return max(self.layout.height(output.written), 2 * _LINE) + (_LINE if output.left_out else 0) + 10

    def _left_out_edge(self, output: FlowOutput) -> float:
        """Where what an output leaves out ends below the stream."""
        height = self.layout.height
        return self.top + height(output.live) + _DROP / 2 + height(output.left_out)

    def parts(self) -> Iterator[str]:
        stream, layout = self.stream, self.layout
        x, amount = layout.x(stream.column), stream.start
        # Behind the stream that goes on.
        yield from self._outputs()
        yield from self._beginning(x)
        end = max((output.column for output in stream.outputs), default=layout.columns)
        for change in stream.changes:
            here = layout.x(change.column)
            yield self._band(x, here, amount, "through")
            yield from self._change(here, change)
            x, amount = here, change.after
        last = layout.x(end) if end >= (stream.changes[-1].column if stream.changes else 0) else x
        last = max(last, x) + layout.step / 2
        yield self._band(x, last, amount, "through")
        yield label(format_number(amount), (x + last) / 2, self.top - 4, class_="value")

    def _beginning(self, x: float) -> Iterator[str]:
        height = self.layout.height(self.stream.start)
        yield element("rect", "", x=x - _BAR, y=self.top, width=_BAR, height=max(height, 1.0), class_="gate")
        room = _SOURCE_WIDTH - 2 * _MARGIN if self.stream.column == 0 else self.layout.step + _SOURCE_WIDTH / 2
        y = self.top + max(height, _LINE) / 2
        yield label(shortened(self.stream.label, room), x - _BAR - 6, y, class_="name end")
        yield label(format_number(self.stream.start), x - _BAR - 6, y + _LINE, class_="value end")

    def _band(self, start: float, end: float, amount: Number, kind: str) -> str:
        height = self.layout.height(amount) or _NOTHING_HEIGHT
        return element("rect", "", x=start, y=self.top, width=max(end - start, 0.0), height=height, class_=kind)

    def _change(self, x: float, change: FlowChange) -> Iterator[str]:
        size = self.layout.height(change.amount)
        leaves = change.is_deleted or change.amount < 0
        kind = "out" if leaves else "in"
        edge = self.top + self.layout.height(change.after)
        y = edge + _DROP
        if leaves:
            # From the lower edge, where the stream was wider, down to the right.
            yield _ribbon((x, edge), (x + _BEND, y), size, kind)
            at, sign = x + _BEND, "-"
        else:
            yield _ribbon((x - _BEND, y), (x, edge - size), size, kind)
            at, sign = x - _BEND, "+"
        size_text = format_number(-change.amount if change.amount < 0 else change.amount)
        text = f"{sign}{size_text}"
        yield label(text, at, y + size + _LINE, class_=f"value {kind}")
        if change.is_deleted:
            yield label("deleted", at, y + size + 2 * _LINE, class_="note")

    def _outputs(self) -> Iterator[str]:
        y = self.top
        # Outputs at one place leave one behind the other.
        edges: dict[float, float] = {}
        for output in self.stream.outputs:
            x = self.layout.x(output.column) + self.layout.step / 2
            written = self.layout.height(output.written)
            if output.written:
                yield _ribbon((x, self.top), (self.layout.right, y), written, "written")
            yield element("rect", "", x=self.layout.right, y=y, width=_BAR, height=max(written, 1.0), class_="gate")
            text_x, room = self.layout.right + _BAR + 6, _OUTPUT_WIDTH - _BAR - 2 * _MARGIN
            yield label(shortened(output.label, room), text_x, y + 12, class_="name start")
            text = f"{format_number(output.written)} written"
            yield label(text, text_x, y + 12 + _LINE, class_="value start")
            if output.left_out:
                left = self.layout.height(output.left_out)
                edge = self.top + self.layout.height(output.live)
                yield _ribbon((x, edge - left), (x + _BEND, edge + _DROP / 2), left, "out")
                edges[x] = max(edges.get(x, 0.0), self._left_out_edge(output))
                out = f"{format_number(output.left_out)} left out"
                yield label(out, text_x, y + 12 + 2 * _LINE, class_="value start out")
            y += self._slot(output)
        for x, edge in edges.items():
            yield label("left out", x + _BEND, edge + _LINE, class_="note")


def _ribbon(start: tuple[float, float], end: tuple[float, float], size: float, kind: str) -> str:
    """A bent band of the same width at both ends; the points are its upper corners."""
    (x1, y1), (x2, y2) = start, end
    middle = (x1 + x2) / 2
    upper = f"M{x1:.1f} {y1:.1f}C{middle:.1f} {y1:.1f} {middle:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
    lower = f"V{y2 + size:.1f}C{middle:.1f} {y2 + size:.1f} {middle:.1f} {y1 + size:.1f} {x1:.1f} {y1 + size:.1f}Z"
    return element("path", d=upper + lower, class_=kind)


def _sentences(stream: Stream, columns: Sequence[str]) -> Iterator[str]:
    """The picture in words, for those who do not see it."""
    yield f"{stream.label}: {format_number(stream.start)}"
    for change in stream.changes:
        what = "deleted" if change.is_deleted else "changed"
        yield f"{columns[change.column - 1]}: {what} {format_number(change.amount)}"
    for output in stream.outputs:
        left_out = f", {format_number(output.left_out)} left out" if output.left_out else ""
        yield f"{output.label}: {format_number(output.written)} written{left_out}"
