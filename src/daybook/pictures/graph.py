"""Draws a graph of projects, or of projects and periods: which project reads the output of which."""

from collections.abc import Sequence
from dataclasses import dataclass

from daybook.pictures.layers import COLUMN_GAP, Box, Layout, Size, edge_path, lay_out
from daybook.pictures.number_format import plural
from daybook.pictures.svg import element, label, link, picture, shortened, text_width, tooltip

_MARGIN = 8.0
_PADDING = 12.0
_LINE_HEIGHT = 18.0
_MOST_WIDTH = 230.0
_LEAST_WIDTH = 60.0
_ARROW = 7.0
# More labels than this on edges are harder to read than none; all of them are in the tooltips.
_MOST_EDGE_LABELS = 14


@dataclass(frozen=True, slots=True)
class PictureNode:
    """A box: its label, a second line, the state that colours it and is written in it, and where it leads."""

    id: str
    label: str
    note: str = ""
    state: str = ""
    href: str | None = None


@dataclass(frozen=True, slots=True)
class PictureEdge:
    source: str
    target: str
    label: str = ""


def draw_graph(nodes: Sequence[PictureNode], edges: Sequence[PictureEdge], *, title: str, name: str = "graph") -> str:
    """The graph from left to right as SVG."""
    labels = _edge_labels(edges)
    shows_labels = len(labels) <= _MOST_EDGE_LABELS
    longest = max((text_width(", ".join(texts)) for texts in labels.values()), default=0.0) if shows_labels else 0.0
    gap = min(max(COLUMN_GAP, longest + 3 * _PADDING), _MOST_WIDTH)
    layout = lay_out({node.id: _size(node) for node in nodes}, labels, gap=gap)
    parts = [_draw_edge(*ends, texts, layout, shows_text=shows_labels) for ends, texts in labels.items()]
    parts += [_draw_node(node, layout.boxes[node.id]) for node in nodes]
    moved = element("g", parts, transform=f"translate({_MARGIN:.0f} {_MARGIN:.0f})")
    counts = f"{plural(len(nodes), 'box', 'boxes')} and {plural(len(labels), 'arrow')}"
    description = f"{counts} from left to right: what stands left is read by what "
    return picture(
        [moved],
        layout.width + 2 * _MARGIN,
        layout.height + 2 * _MARGIN,
        name=name,
        title=title,
        description=description + "an arrow leads to.",
    )


def _size(node: PictureNode) -> Size:
    lines = [node.label, *filter(None, [_second_line(node)])]
    width = max(map(text_width, lines)) + 2 * _PADDING
    return Size(min(max(width, _LEAST_WIDTH), _MOST_WIDTH), _LINE_HEIGHT * len(lines) + _PADDING)


def _second_line(node: PictureNode) -> str:
    return " · ".join(filter(None, (node.note, node.state)))


def _draw_node(node: PictureNode, box: Box) -> str:
    room = box.width - 2 * _PADDING
    second = _second_line(node)
    middle = box.x + box.width / 2
    first = box.y + _PADDING / 2 + _LINE_HEIGHT - 5
    whole = f"{node.label}, {second}" if second else node.label
    parts = [
        tooltip(whole),
        element("rect", x=box.x, y=box.y, width=box.width, height=box.height, rx=5, class_="box"),
        label(shortened(node.label, room), middle, first, class_="name"),
    ]
    if second:
        parts.append(label(shortened(second, room), middle, first + _LINE_HEIGHT, class_="note"))
    return link("".join(parts), node.href, class_=f"node {_class_of(node.state)}".strip())


def _class_of(state: str) -> str:
    """States are classes of the style sheet; anything else has none."""
    return state if state.isidentifier() else ""


def _edge_labels(edges: Sequence[PictureEdge]) -> dict[tuple[str, str], list[str]]:
    """One line for all edges between two nodes."""
    found: dict[tuple[str, str], list[str]] = {}
    for edge in edges:
        texts = found.setdefault((edge.source, edge.target), [])
        if edge.label and edge.label not in texts:
            texts.append(edge.label)
    return found


def _draw_edge(source: str, target: str, texts: Sequence[str], layout: Layout, *, shows_text: bool) -> str:
    if (source, target) not in layout.passes:
        return ""
    one, other, passes = layout.boxes[source], layout.boxes[target], layout.passes[source, target]
    is_backward = one.x > other.x
    start = (one.x, one.middle) if is_backward else (one.right, one.middle)
    tip = (other.right, other.middle) if is_backward else (other.x, other.middle)
    step = _ARROW if is_backward else -_ARROW
    end = (tip[0] + step, tip[1])
    path = _backward_path(start, passes, end) if is_backward else edge_path(start, passes, end)
    arrow = f"M{tip[0]:.1f} {tip[1]:.1f}l{step:.1f} {-_ARROW / 2:.1f}v{_ARROW:.1f}z"
    listed = ", ".join(texts)
    parts = [
        tooltip(f"{target} reads {listed or 'rows'} from {source}"),
        element("path", d=path, class_="line"),
        element("path", d=arrow, class_="tip"),
    ]
    if shows_text and texts:
        # Before the reader, where the lines of one maker have parted.
        last = (passes[-1].right, passes[-1].middle) if passes else start
        room = abs(end[0] - last[0]) - _PADDING
        place = ((last[0] + end[0]) / 2, (last[1] + end[1]) / 2 - 6)
        parts.append(label(shortened(listed, room), *place, class_="on-line"))
    return element("g", parts, class_="edge", data_from=source, data_to=target)


def _backward_path(start: tuple[float, float], passes: Sequence[Box], end: tuple[float, float]) -> str:
    turned = [Box(box.right, box.y, -box.width, box.height) for box in passes]
    return edge_path(start, turned, end)
