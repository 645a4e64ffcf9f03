"""Lineage as a picture: input columns on the left, operations in between, written columns on the right."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from daybook.graph.column_lineage import CloseLineage
from daybook.plan.lineage import InputColumn, InputKind, PlanLineage, kind_of
from daybook.plan.lineage_graph import How, LineageNode, combine

PictureRole = Literal["input", "value", "selector", "join", "group", "order", "output"]

_HIDDEN = ("either", "rows")
# How a value depends on what an operation picks, joins, groups or sorts by.
_HOW_OF_ROLE: dict[str, How] = {"selector": "selector", "join": "join", "group": "group_by", "order": "order_by"}


@dataclass(frozen=True, slots=True)
class PictureNode:
    """`text` is the expression as the user wrote it; `seq` is 0 for inputs.

    `names` are the columns that rows are grouped or sorted by.
    """

    number: int
    role: PictureRole
    project_id: str | None
    seq: int
    dataset_id: str | None
    column: str | None
    text: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PictureEdge:
    """From a node to one that comes from it, by their numbers."""

    source: int
    target: int
    how: How

    @property
    def kind(self) -> InputKind:
        return kind_of(self.how)


@dataclass(frozen=True, slots=True)
class LineagePicture:
    nodes: tuple[PictureNode, ...]
    edges: tuple[PictureEdge, ...]


def draw_lineage(
    close: CloseLineage, written: Iterable[tuple[str, int, str]], *, to_start: bool = False
) -> LineagePicture:
    """The way to written columns, by project, output and name; `to_start` goes on in the projects before."""
    return _Drawing(close, to_start=to_start).draw(written)


# A node of a project's graph, or a column that is read.
_Key = tuple[str, int] | InputColumn


class _Drawing:
    def __init__(self, close: CloseLineage, *, to_start: bool) -> None:
        self._close = close
        self._to_start = to_start
        self._numbers: dict[_Key, int] = {}
        self._nodes: list[PictureNode] = []
        self._edges: dict[PictureEdge, None] = {}
        self._waiting: list[_Key] = []

    def draw(self, written: Iterable[tuple[str, int, str]]) -> LineagePicture:
        for project_id, seq, column in written:
            self._number((project_id, self._close.project(project_id).graph.outputs[seq, column]))
        while self._waiting:
            key = self._waiting.pop()
            if isinstance(key, InputColumn):
                continue
            target = self._numbers[key]
            lineage = self._close.project(key[0])
            for source, how in _shown_sources(lineage, key[1]):
                for named in self._resolved(lineage, source):
                    self._edges[PictureEdge(self._number(named), target, how)] = None
        return LineagePicture(tuple(self._nodes), tuple(self._edges))

    def _number(self, key: _Key) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self._nodes)
            self._nodes.append(self._node(len(self._nodes), key))
            self._waiting.append(key)
        return self._numbers[key]

    def _node(self, number: int, key: _Key) -> PictureNode:
        if isinstance(key, InputColumn):
            return PictureNode(number, "input", None, 0, key.dataset_id, key.column, "")
        lineage = self._close.project(key[0])
        node, step = lineage.graph.nodes[key[1]], lineage.step(key[1])
        names = step.names if step is not None else ()
        return PictureNode(number, _role(node), key[0], node.seq, node.dataset_id, node.column, node.text, names)

    def _resolved(self, lineage: PlanLineage, number: int) -> Iterator[_Key]:
        """A source as it is drawn: a column that is read may be one that another project writes."""
        node = lineage.graph.nodes[number]
        if node.role != "input":
            yield lineage.project_id, number
            return
        if node.column is None or node.dataset_id is None:
            return
        found = False
        for maker, seq in self._close.writers(lineage.project_id, node.dataset_id) if self._to_start else ():
            before = self._close.project_or_none(maker)
            found = found or before is not None
            if before is not None and (seq, node.column) in before.graph.outputs:
                yield maker, before.graph.outputs[seq, node.column]
        if not found:
            dataset_id = self._close.viewed(node.dataset_id) if self._to_start else node.dataset_id
            yield InputColumn(dataset_id, node.column)


def _role(node: LineageNode) -> PictureRole:
    assert node.role != "either"
    assert node.role != "rows"
    return node.role


def _shown_sources(lineage: PlanLineage, number: int) -> Iterator[tuple[int, How]]:
    """The nodes that a node comes from, past those that only bring several together."""
    nodes = lineage.graph.nodes
    seen: set[tuple[int, How | None]] = set()
    waiting: list[tuple[int, How | None]] = [(edge.source, edge.how) for edge in nodes[number].edges]
    while waiting:
        source, how = waiting.pop()
        if (source, how) in seen:
            continue
        seen.add((source, how))
        node = nodes[source]
        if node.role in _HIDDEN:
            waiting += [(edge.source, combine(how, edge.how)) for edge in node.edges]
        else:
            decided = _HOW_OF_ROLE.get(node.role)
            yield source, combine(how, decided) or "identity"
