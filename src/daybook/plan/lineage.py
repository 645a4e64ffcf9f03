"""Lineage: for every column that a project writes, the input columns it comes from, and how.

It follows from the typed steps alone. A column that is read to decide (a selector, a condition, a group) is an
indirect input; one whose values arrive is a direct one. Which rows a source has is an input without a column.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from typing import Literal

from daybook.plan.columns_read import How, combine
from daybook.plan.lineage_graph import LineageGraph, LineageNode, build_lineage_graph
from daybook.plan.steps import Plan

InputKind = Literal["direct", "indirect"]
HOWS: tuple[How, ...] = (
    "identity",
    "transformation",
    "aggregation",
    "selector",
    "join",
    "group_by",
    "order_by",
    "condition",
    "window",
)

_DIRECT_HOWS = frozenset(HOWS[:3])


def kind_of(how: How) -> InputKind:
    """Whether values arrive in the output this way, or are only read to decide."""
    return "direct" if how in _DIRECT_HOWS else "indirect"


@dataclass(frozen=True, slots=True, order=True)
class InputColumn:
    """A column of a dataset that a project reads; without a name, which rows the dataset has."""

    dataset_id: str
    column: str | None


@dataclass(frozen=True, slots=True)
class ColumnInput:
    """A column that another one comes from."""

    dataset_id: str
    column: str
    how: How
    # The operations on the way, one bit each: lists of them would be longer than everything else.
    mask: int = field(repr=False)
    seqs: tuple[int, ...] = field(repr=False)

    @property
    def kind(self) -> InputKind:
        return kind_of(self.how)

    @property
    def operations(self) -> tuple[int, ...]:
        """The operations on the way, by seq."""
        return tuple(seq for bit, seq in enumerate(self.seqs) if self.mask >> bit & 1)


@dataclass(frozen=True, slots=True)
class ColumnStep:
    """What an operation does on the way to a column; `text` is the expression as the user wrote it."""

    seq: int
    role: Literal["value", "selector", "join", "group", "order"]
    column: str | None
    text: str
    # The columns that rows are grouped or sorted by.
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """Where one column of an output comes from; without inputs it is a constant.

    `nodes` are the nodes of the graph on the way. `row_sources` are the datasets whose rows decide about the rows of
    the output or about a value in them, whatever their columns hold; the names of their columns are empty.
    """

    project_id: str
    output_seq: int
    column: str
    inputs: tuple[ColumnInput, ...]
    row_sources: tuple[ColumnInput, ...]
    nodes: tuple[int, ...] = field(repr=False)


@dataclass
class _Trace:
    """The inputs that a walk found, each with the operations on the way as bits, and the nodes it came by."""

    masks: dict[tuple[int, How], int] = field(default_factory=dict)
    nodes: set[int] = field(default_factory=set)

    def add(self, source: int, how: How, mask: int) -> None:
        self.masks[source, how] = self.masks.get((source, how), 0) | mask

    def include(self, other: "_Trace") -> None:
        self.nodes |= other.nodes
        for (source, how), mask in other.masks.items():
            self.add(source, how, mask)


# The inputs of a node as bits, by how they arrive.
_Reach = dict[How | None, int]


@dataclass(frozen=True)
class PlanLineage:
    """The lineage of a project: its graph, and for each written column what the graph says of it."""

    project_id: str
    graph: LineageGraph
    # The operations in the order of the plan.
    seqs: tuple[int, ...]
    # Sets of inputs that were asked for; columns share most of them.
    _named: dict[int, tuple[InputColumn, ...]] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def columns(self) -> tuple[tuple[int, str], ...]:
        """Every written column, by the output's seq and its name."""
        return tuple(self.graph.outputs)

    def inputs(self, output_seq: int, column: str | None) -> Mapping[How, tuple[InputColumn, ...]]:
        """The inputs of a column by how they arrive; without a column, what decides about the output's rows."""
        masks: dict[How, int] = {}
        for how, mask in self._reach[self._root(output_seq, column)].items():
            # Rows arrive without a way of their own.
            masks[how or "identity"] = masks.get(how or "identity", 0) | mask
        return {how: self._input_names(mask) for how, mask in masks.items()}

    def column(self, output_seq: int, column: str) -> ColumnLineage:
        """One column with the operations on the way to it."""
        rows = self.graph.rows[output_seq]
        trace = self._trace(self._root(output_seq, column), without=rows)
        trace.include(self._row_traces[output_seq])
        return self._lineage(output_seq, column, trace)

    def all(self) -> Iterator[ColumnLineage]:
        return (self.column(*key) for key in self.columns)

    def rows(self, output_seq: int) -> ColumnLineage:
        """What decides about the rows of an output; the name of the column is empty."""
        return self._lineage(output_seq, "", self._row_traces[output_seq])

    def steps(self, lineage: ColumnLineage) -> tuple[ColumnStep, ...]:
        """What operations do on the way to a column, in their order."""
        steps = {self.step(number) for number in lineage.nodes}
        return tuple(sorted((step for step in steps if step is not None), key=_step_order))

    def signature(self, output_seq: int, column: str | None) -> int:
        """Equal for columns that are computed alike, whatever the operations are called."""
        return self._signatures[self._root(output_seq, column)]

    def _root(self, output_seq: int, column: str | None) -> int:
        return self.graph.rows[output_seq] if column is None else self.graph.outputs[output_seq, column]

    @cached_property
    def _positions(self) -> tuple[int, ...]:
        """The position of every node in an order in which a node comes after its sources."""
        nodes, positions = self.graph.nodes, [-1] * len(self.graph.nodes)
        count, seen = 0, bytearray(len(nodes))
        for root in range(len(nodes)):
            waiting = [root]
            while waiting:
                number = waiting[-1]
                if not seen[number]:
                    seen[number] = 1
                    waiting += [edge.source for edge in nodes[number].edges if not seen[edge.source]]
                    continue
                waiting.pop()
                if positions[number] < 0:
                    positions[number] = count
                    count += 1
        return tuple(positions)

    @cached_property
    def _sorted_nodes(self) -> tuple[int, ...]:
        return tuple(sorted(range(len(self.graph.nodes)), key=self._positions.__getitem__))

    @cached_property
    def _input_nodes(self) -> tuple[int, ...]:
        return tuple(number for number, node in enumerate(self.graph.nodes) if node.role == "input")

    @cached_property
    def _reach(self) -> tuple[_Reach, ...]:
        """The inputs of every node; sets are numbers with a bit for each input, so that joining two is one step."""
        nodes = self.graph.nodes
        bits = {number: 1 << bit for bit, number in enumerate(self._input_nodes)}
        reaches: list[_Reach] = [{}] * len(nodes)
        for number in self._sorted_nodes:
            reach: _Reach = {None: bits[number]} if number in bits else {}
            for edge in nodes[number].edges:
                for how, mask in reaches[edge.source].items():
                    combined = combine(edge.how, how)
                    reach[combined] = reach.get(combined, 0) | mask
            reaches[number] = reach
        return tuple(reaches)

    def _input_names(self, mask: int) -> tuple[InputColumn, ...]:
        if mask not in self._named:
            numbers = [number for bit, number in enumerate(self._input_nodes) if mask >> bit & 1]
            self._named[mask] = tuple(_input_of(self.graph.nodes[number]) for number in numbers)
        return self._named[mask]

    @cached_property
    def _signatures(self) -> tuple[int, ...]:
        nodes, signatures = self.graph.nodes, [0] * len(self.graph.nodes)
        for number in self._sorted_nodes:
            node = nodes[number]
            tree = node.expression.tree if node.expression is not None else None
            edges = tuple((edge.how, signatures[edge.source]) for edge in node.edges)
            signatures[number] = hash((node.role, node.column, node.dataset_id, tree, edges))
        return tuple(signatures)

    @cached_property
    def _bits(self) -> Mapping[int, int]:
        return {0: 0, **{seq: 1 << bit for bit, seq in enumerate(self.seqs)}}

    @cached_property
    def _row_traces(self) -> Mapping[int, _Trace]:
        """What every column of an output has in common."""
        return {seq: self._trace(root) for seq, root in self.graph.rows.items()}

    def _trace(self, root: int, without: int | None = None) -> _Trace:
        """Follows the graph from a node: direct edges first, then below everything that is read to decide."""
        trace = _Trace()
        entries: dict[How | None, dict[int, int]] = {}
        direct: dict[How | None, dict[int, int]] = {None: {root: 0}}
        for how in (None, *HOWS[:3]):
            # A direct way only ever becomes a stronger one, so the weaker ones are complete before it.
            for number, mask in self._walk(direct.get(how, {}), how, direct, entries, without):
                trace.nodes.add(number)
                if self.graph.nodes[number].role == "input":
                    trace.add(number, how or "identity", mask)
        for how, started in entries.items():
            for number, mask in self._walk(started, how, {}, {}, without):
                trace.nodes.add(number)
                if self.graph.nodes[number].role == "input":
                    trace.add(number, how or "identity", mask)
        return trace

    def _walk(
        self,
        started: dict[int, int],
        how: How | None,
        direct: dict[How | None, dict[int, int]],
        entries: dict[How | None, dict[int, int]],
        without: int | None,
    ) -> Iterator[tuple[int, int]]:
        """The nodes that are reached in one way, each with the operations before it; other ways are put down."""
        nodes, positions, bits = self.graph.nodes, self._positions, self._bits
        is_direct = how is None or how in _DIRECT_HOWS
        masks = dict(started)
        waiting = [(-positions[number], number) for number in masks]
        waiting.sort()
        while waiting:
            _, number = heappop(waiting)
            mask = masks[number]
            yield number, mask
            node = nodes[number]
            passed = mask if node.role == "output" else mask | bits[node.seq]
            for edge in node.edges:
                source = edge.source
                if source == without:
                    continue
                following = combine(how, edge.how) if is_direct else how
                if following == how:
                    if source in masks:
                        masks[source] |= passed
                    else:
                        masks[source] = passed
                        heappush(waiting, (-positions[source], source))
                    continue
                other = direct if following in _DIRECT_HOWS else entries
                source_masks = other.setdefault(following, {})
                source_masks[source] = source_masks.get(source, 0) | passed

    def _lineage(self, output_seq: int, column: str, trace: _Trace) -> ColumnLineage:
        nodes = self.graph.nodes
        named = ((_input_of(nodes[number]), how, mask) for (number, how), mask in trace.masks.items())
        column_inputs = [
            ColumnInput(node.dataset_id, node.column or "", how, mask, self.seqs) for node, how, mask in named
        ]
        column_inputs.sort(key=input_order)
        inputs = tuple(column_input for column_input in column_inputs if column_input.column)
        row_sources = tuple(column_input for column_input in column_inputs if not column_input.column)
        return ColumnLineage(self.project_id, output_seq, column, inputs, row_sources, tuple(sorted(trace.nodes)))

    def step(self, number: int) -> ColumnStep | None:
        """What an operation does at a node of the graph; None where none is involved."""
        node = self.graph.nodes[number]
        match node.role:
            case "value" | "selector" | "join":
                return ColumnStep(node.seq, node.role, node.column, node.text)
            case "group" | "order":
                edges: Iterable[str | None] = (
                    self.graph.nodes[edge.source].column for edge in node.edges if edge.how in ("group_by", "order_by")
                )
                names = tuple(name for name in edges if name is not None)
                return ColumnStep(node.seq, node.role, node.column, node.text, names)
            case _:
                return None


_HOW_ORDER = {how: number for number, how in enumerate(HOWS)}


def input_order(column_input: ColumnInput) -> tuple[int, str, str]:
    """Direct inputs first, then by name."""
    return _HOW_ORDER[column_input.how], column_input.dataset_id, column_input.column


def _step_order(step: ColumnStep) -> tuple[int, str, str]:
    return step.seq, step.role, step.column or ""


def _input_of(node: LineageNode) -> InputColumn:
    assert node.dataset_id is not None
    return InputColumn(node.dataset_id, node.column)


def plan_lineage(plan: Plan) -> PlanLineage:
    """The lineage of everything that a plan writes."""
    return PlanLineage(plan.project.id, build_lineage_graph(plan), tuple(step.seq for step in plan.steps))
