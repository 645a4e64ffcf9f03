"""Draws graphs as SVG: projects and periods that read each other, and columns that are computed from columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daybook.pictures.layers import COLUMN_GAP, Box, Layout, Size, edge_path, lay_out
from daybook.pictures.shown_values import plural
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
    description = f"{counts} from left to right: what is on the left is read by what "
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
    labels: dict[tuple[str, str], list[str]] = {}
    for edge in edges:
        texts = labels.setdefault((edge.source, edge.target), [])
        if edge.label and edge.label not in texts:
            texts.append(edge.label)
    return labels


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


_TABLE_PADDING = 10.0
_LINE = 20.0
_HEADING = 26.0
_LEAST_TABLE_WIDTH = 110.0
_MOST_TABLE_WIDTH = 260.0
_GAP = 200.0


@dataclass(frozen=True, slots=True)
class TableColumns:
    """A dataset, or an output of a project, with the columns that are shown; `note` says what it is."""

    id: str
    label: str
    columns: tuple[str, ...]
    note: str = ""
    href: str | None = None


@dataclass(frozen=True, slots=True)
class ColumnLine:
    """From a column of one table to a column of another: its values arrive there, or are only read to decide."""

    source: tuple[str, str]
    target: tuple[str, str]
    is_direct: bool = True
    how: str = ""


def draw_columns(
    tables: Sequence[TableColumns],
    lines: Sequence[ColumnLine],
    *,
    title: str,
    name: str = "lineage",
    chosen: tuple[str, str] | None = None,
    hrefs: Mapping[tuple[str, str], str] | None = None,
) -> str:
    """Direct lines are solid, indirect ones dashed; the way of the chosen column is highlighted, the rest is pale."""
    layout = lay_out({table.id: _table_size(table) for table in tables}, _table_edges(lines), gap=_GAP)
    places = _column_places(tables, layout)
    way = _way_of(chosen, lines) if chosen is not None else None
    drawn = [line for line in lines if line.source in places and line.target in places]
    # Solid lines lie over dashed ones.
    ordered = sorted(drawn, key=lambda line: line.is_direct)
    parts = [_draw_line(line, places, layout, is_pale=way is not None and not _is_on(line, way)) for line in ordered]
    parts += [_draw_table(table, layout.boxes[table.id], way, chosen, hrefs or {}) for table in tables]
    moved = element("g", parts, transform=f"translate({_MARGIN:.0f} {_MARGIN:.0f})")
    direct = sum(line.is_direct for line in drawn)
    solid, dashed = plural(direct, "solid line"), plural(len(drawn) - direct, "dashed line")
    description = f"{plural(len(tables), 'table')}, {solid} for values that arrive and {dashed} for values"
    return picture(
        [moved],
        layout.width + 2 * _MARGIN,
        layout.height + 2 * _MARGIN,
        name=name,
        title=title,
        description=f"{description} that are read to decide.",
    )


def _table_size(table: TableColumns) -> Size:
    widest = max(map(text_width, (table.label, table.note, *table.columns)))
    width = min(max(widest + 2 * _TABLE_PADDING, _LEAST_TABLE_WIDTH), _MOST_TABLE_WIDTH)
    return Size(width, _heading_height(table) + _LINE * len(table.columns) + _TABLE_PADDING / 2)


def _heading_height(table: TableColumns) -> float:
    return _HEADING + (_LINE - 4 if table.note else 0)


def _table_edges(lines: Sequence[ColumnLine]) -> list[tuple[str, str]]:
    return [(line.source[0], line.target[0]) for line in lines]


def _column_places(tables: Sequence[TableColumns], layout: Layout) -> dict[tuple[str, str], Box]:
    """The line of every column in the box of its table."""
    places = {}
    for table in tables:
        box = layout.boxes[table.id]
        for number, column in enumerate(table.columns):
            places[table.id, column] = Box(box.x, box.y + _heading_height(table) + number * _LINE, box.width, _LINE)
    return places


def _way_of(chosen: tuple[str, str], lines: Sequence[ColumnLine]) -> set[tuple[str, str]]:
    """The column with everything it comes from and everything that comes from it."""
    back: dict[tuple[str, str], list[tuple[str, str]]] = {}
    ahead: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for line in lines:
        back.setdefault(line.target, []).append(line.source)
        ahead.setdefault(line.source, []).append(line.target)
    way = {chosen}
    for following in (back, ahead):
        pending = [chosen]
        while pending:
            for other in following.get(pending.pop(), ()):
                if other not in way:
                    way.add(other)
                    pending.append(other)
    return way


def _is_on(line: ColumnLine, way: set[tuple[str, str]]) -> bool:
    return line.source in way and line.target in way


def _draw_line(line: ColumnLine, places: Mapping[tuple[str, str], Box], layout: Layout, *, is_pale: bool) -> str:
    one, other = places[line.source], places[line.target]
    passes = layout.passes.get((line.source[0], line.target[0]), ())
    start, end = (one.right, one.middle), (other.x, other.middle)
    if one.x >= other.x:
        start, end, passes = (one.x, one.middle), (other.right, other.middle), ()
    kind = "direct" if line.is_direct else "indirect"
    source, target = ".".join(line.source), ".".join(line.target)
    parts = (
        tooltip(f"{target} comes from {source}" + (f" ({line.how})" if line.how else "")),
        element("path", d=edge_path(start, passes, end), class_="line"),
    )
    return element("g", parts, class_=f"edge {kind}{' pale' if is_pale else ''}", data_from=source, data_to=target)


def _draw_table(
    table: TableColumns,
    box: Box,
    way: set[tuple[str, str]] | None,
    chosen: tuple[str, str] | None,
    hrefs: Mapping[tuple[str, str], str],
) -> str:
    room = box.width - 2 * _TABLE_PADDING
    left = box.x + _TABLE_PADDING
    head = label(shortened(table.label, room), left, box.y + 18, class_="name start")
    parts = [
        element("rect", x=box.x, y=box.y, width=box.width, height=box.height, rx=5, class_="box"),
        link(tooltip(table.label) + head, table.href, class_="heading"),
    ]
    if table.note:
        parts.append(label(shortened(table.note, room), left, box.y + 34, class_="note start"))
    for number, column in enumerate(table.columns):
        y = box.y + _heading_height(table) + number * _LINE
        key = (table.id, column)
        state = "chosen" if key == chosen else "pale" if way is not None and key not in way else ""
        back = element("rect", x=box.x + 2, y=y, width=box.width - 4, height=_LINE, rx=3, class_="field")
        text = label(shortened(column, room), left, y + 14, class_="start")
        whole = tooltip(f"{table.label}.{column}") + back + text
        parts.append(link(whole, hrefs.get(key), class_=f"column {state}".strip()))
    return element("g", parts, class_="table")
