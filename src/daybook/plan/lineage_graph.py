"""The lineage of a plan's output columns as a graph: one node for every value that an operation computes.

The rows of the working dataset are of several kinds: those that were loaded, and those that each aggregate or append
added. A column is followed for a set of kinds, since a selector such as `_operation_seq = 20` picks some of them only.
Nodes are made when an output asks for them, and each of them once.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from daybook.expression import CompiledExpression
from daybook.expression.typed_tree import ColumnUse, TypedWindow
from daybook.model.types import SYSTEM_COLUMNS
from daybook.plan.columns_read import How, columns_read
from daybook.plan.conditions import excludes, picks_all
from daybook.plan.steps import (
    AggregateStep,
    AppendStep,
    CheckStep,
    ComputedColumn,
    DeleteStep,
    JoinStep,
    LoadStep,
    OutputStep,
    Plan,
    Step,
    UpdateStep,
)

# Ids and times that every run makes or carries; their origin is of no interest.
UNTRACED_COLUMNS = frozenset({"_row_id", "_created_at", "_updated_at"})
NodeRole = Literal["input", "value", "either", "rows", "selector", "join", "group", "order", "output"]


@dataclass(frozen=True, slots=True)
class LineageEdge:
    """A node that another one comes from; without `how`, the source's own edges say how."""

    source: int
    how: How | None = None


@dataclass(frozen=True, slots=True)
class LineageNode:
    """What one operation makes of other nodes.

    | role | is |
    |---|---|
    | input | a column that is read, or without `column` which rows are read |
    | value | what an operation gives to a column |
    | either | a column on rows of several kinds, or one that was given to some rows only |
    | rows | which rows there are |
    | selector, join, group, order | what an operation picks, joins, groups or sorts by |
    | output | a column as it is written |
    """

    role: NodeRole
    column: str | None = None
    # The operation; 0 where none is involved.
    seq: int = 0
    dataset_id: str | None = None
    expression: CompiledExpression | None = None
    edges: tuple[LineageEdge, ...] = ()

    @property
    def text(self) -> str:
        """The expression as the user wrote it."""
        return self.expression.text if self.expression is not None else ""


@dataclass(frozen=True, slots=True)
class LineageGraph:
    """`outputs` are the nodes of written columns, by the output's seq and the column; `rows` those of their rows."""

    nodes: tuple[LineageNode, ...]
    outputs: dict[tuple[int, str], int]
    rows: dict[int, int]


# System columns that rows bring along into an append.
_CARRIED_COLUMNS = ("_period", "_valid_from", "_valid_to", "_origin_seq", "_labels")
# A set of kinds of rows, one bit for each; this one has all of them, those of later operations included.
_Kinds: TypeAlias = int
_ALL: _Kinds = -1
_INPUT: _Kinds = 1
# Sources of a node: none where nothing is read.
_Sources: TypeAlias = list[tuple[int | None, How | None]]
# Where the input is made: before the first step.
_LOADED = -1
# What `_history` follows beside columns: the rows there are, and the same with deleted ones.
_ROWS, _ROWS_EVER = "<rows>", "<rows, deleted ones included>"


def build_lineage_graph(plan: Plan) -> LineageGraph:
    """The graph of everything that the outputs of a plan write."""
    return _GraphBuilder(plan).build()


class _GraphBuilder:
    """Nodes wait in a list instead of the call stack, since plans are deeper than Python's."""

    def __init__(self, plan: Plan) -> None:
        self._steps = plan.steps
        self._loads = {load.key: load for load in plan.loads}
        self._input = plan.input
        self._natural_key = plan.input.version.dataset.natural_key_columns
        self._ids: dict[tuple[object, ...], int] = {}
        self._waiting: list[tuple[int, tuple[object, ...]]] = []
        self._nodes: list[LineageNode | None] = []
        self._histories: dict[tuple[str, _Kinds], list[int]] = {}
        self._picked: list[_Kinds] = []
        # The kinds that a step picks with all their rows.
        self._whole: list[_Kinds] = []
        # The kinds of rows that there are before a step.
        self._existing: list[_Kinds] = []
        # The kind of rows that a step adds, for those that add some.
        self._kinds: dict[int, _Kinds] = {_LOADED: _INPUT}
        self._writes: dict[str, list[int]] = {_ROWS: [_LOADED], _ROWS_EVER: [_LOADED]}
        self._survey()

    def build(self) -> LineageGraph:
        outputs: dict[tuple[int, str], int] = {}
        rows: dict[int, int] = {}
        for index, step in enumerate(self._steps):
            if isinstance(step, OutputStep):
                rows[step.seq] = self._demand("output rows", index)
                for column in step.columns:
                    if column not in UNTRACED_COLUMNS:
                        outputs[step.seq, column] = self._demand("output", index, column)
        while self._waiting:
            number, key = self._waiting.pop()
            self._nodes[number] = self._make(key)
        return LineageGraph(tuple(node for node in self._nodes if node is not None), outputs, rows)

    # What the steps do, found in one pass.

    def _survey(self) -> None:
        for column in (*self._input.types, *SYSTEM_COLUMNS):
            self._writes.setdefault(column, []).append(_LOADED)
        seqs, alive = [0], _ALL
        for index, step in enumerate(self._steps):
            is_on_all_rows = isinstance(step, OutputStep) and step.arguments.include_deleted
            picked, whole = self._pick(step, seqs)
            self._picked.append(picked & (_ALL if is_on_all_rows else alive))
            self._whole.append(whole)
            self._existing.append((1 << len(seqs)) - 1)
            for name in self._written_by(step):
                self._writes.setdefault(name, []).append(index)
            if isinstance(step, AggregateStep | AppendStep):
                self._kinds[index] = 1 << len(seqs)
                seqs.append(step.seq)
            elif isinstance(step, DeleteStep) and step.selector is None:
                alive &= -1 << len(seqs)

    def _pick(self, step: Step, seqs: list[int]) -> tuple[_Kinds, _Kinds]:
        """The kinds that a step picks rows of, and those that it picks all rows of."""
        selector = None if isinstance(step, AppendStep) else step.selector
        if selector is None:
            return _ALL, _ALL
        if ColumnUse(None, "_operation_seq") not in selector.uses:
            return _ALL, 0
        picked = sum(1 << bit for bit, seq in enumerate(seqs) if not excludes(selector, seq))
        return picked, sum(1 << bit for bit, seq in enumerate(seqs) if picks_all(selector, seq))

    def _written_by(self, step: Step) -> Iterable[str]:
        match step:
            case UpdateStep():
                return (*(value.column for value in step.assignments), "_updated_at")
            case AggregateStep():
                return (_ROWS, _ROWS_EVER, *step.group_by, *(value.column for value in step.aggregations))
            case AppendStep():
                carried = () if step.aggregations else _CARRIED_COLUMNS
                columns = dict.fromkeys((*step.made_columns, *step.group_by))
                return (_ROWS, _ROWS_EVER, *columns, *(name for name in carried if name not in columns))
            case DeleteStep():
                return (_ROWS, "_deleted", "_updated_at")
            case CheckStep() | OutputStep():
                return ()

    # Asking for nodes: None where nothing is read, which is a constant.

    def _demand(self, *key: object) -> int:
        number = self._ids.get(key)
        if number is None:
            number = self._ids[key] = len(self._nodes)
            self._nodes.append(None)
            self._waiting.append((number, key))
        return number

    def _history(self, name: str, kinds: _Kinds) -> list[int]:
        """The steps that write a column on rows of these kinds."""
        key = (name, kinds)
        if key not in self._histories:
            written = self._writes.get(name, ())
            self._histories[key] = [index for index in written if self._touches(index) & kinds]
        return self._histories[key]

    def _touches(self, index: int) -> _Kinds:
        return self._kinds[index] if index in self._kinds else self._picked[index] & self._existing[index]

    def _before(self, role: str, name: str, kinds: _Kinds, index: int) -> int | None:
        """The node that a column, or the rows, have before a step."""
        if kinds > 0:
            kinds &= self._existing[index] if index >= 0 else 0
        history = self._history(name, kinds)
        position = bisect_left(history, index)
        return self._demand(role, name, kinds, history[position - 1]) if position else None

    def _value(self, column: str, kinds: _Kinds, index: int) -> int | None:
        return self._before("live value", column, kinds, index)

    def _rows(self, kinds: _Kinds, index: int) -> int | None:
        return self._before("rows", _ROWS, kinds, index)

    def _loaded(self, load: LoadStep, column: str | None) -> int | None:
        if column in UNTRACED_COLUMNS or column in ("_source_dataset_id", "_source_table", "_operation_seq"):
            return None
        return self._demand("input", load.dataset_id, "_operation_seq" if column == "_origin_seq" else column)

    # Making nodes.

    def _make(self, key: tuple[object, ...]) -> LineageNode:
        match key:
            case ("input", str(dataset_id), None | str() as column):
                return LineageNode("input", column, dataset_id=dataset_id)
            case ("live value", str(column), int(kinds), int(index)):
                return self._make_value(column, kinds, index, is_live=True)
            case ("value ever", str(column), int(kinds), int(index)):
                return self._make_value(column, kinds, index, is_live=False)
            case ("assigned", str(column), int(kinds), int(index)):
                return self._make_assigned(column, kinds, index)
            case ("created", str(column), int(index)):
                return self._make_created(column, index)
            case ("rows", str(name), int(kinds), int(index)):
                return self._make_rows(name, kinds, index)
            case ("selector", int(index), int(kinds)):
                return self._make_selector(index, kinds)
            case ("join", int(index), str(alias), int(kinds)):
                return self._make_join(index, alias, kinds)
            case ("group", int(index)):
                return self._make_group(index)
            case ("output", int(index), str(column)):
                return self._make_output(index, column)
            case ("output rows", int(index)):
                return self._make_output_rows(index)
            case ("order", int(index)):
                return self._make_order(index)
            case _:
                raise AssertionError(key)

    def _make_value(self, column: str, kinds: _Kinds, index: int, *, is_live: bool) -> LineageNode:
        """A column after a step wrote it on some of these rows; the others keep what they had."""
        before = self._before("live value" if is_live else "value ever", column, kinds, index)
        if index in self._kinds:
            value = self._loaded(self._input, column) if index == _LOADED else self._demand("created", column, index)
            return LineageNode("either", column, edges=_edges((value, "identity"), (before, "identity")))
        step, picked = self._steps[index], self._picked[index] & kinds
        is_certain = isinstance(step, UpdateStep) and not kinds & ~self._whole[index] and not kinds & ~picked
        value = self._demand("assigned", column, picked, index)
        if is_certain and is_live:
            return LineageNode("either", column, edges=_edges((value, "identity")))
        # An operation passes by rows that were deleted before.
        deleted = None if is_live or column == "_deleted" else self._before("value ever", "_deleted", kinds, index)
        edges = _edges((value, "identity"), (before, "identity"), (deleted, "selector"))
        return LineageNode("either", column, edges=edges)

    def _make_assigned(self, column: str, kinds: _Kinds, index: int) -> LineageNode:
        step = self._steps[index]
        assert isinstance(step, UpdateStep | DeleteStep)
        selector = self._demand("selector", index, kinds) if step.selector else None
        value = next((assignment for assignment in _assignments(step) if assignment.column == column), None)
        if value is None:
            # `_deleted` and `_updated_at` become what they become anywhere.
            return LineageNode("value", column, step.seq, edges=_edges((selector, None)))
        assert isinstance(step, UpdateStep)
        reads = columns_read(value.expression.tree)
        sources: _Sources = []
        for read in reads:
            rows = self._picked[index] if read.is_windowed else kinds
            sources.append((self._read(step, read.use, rows, index), read.how))
        sources += [(node, None) for node in self._joins(step, value.expression, kinds, index)]
        sources.append((selector, None))
        if value.expression.has_window:
            sources += self._window_rows(value.expression, index)
        return LineageNode("value", column, step.seq, expression=value.expression, edges=_edges(*sources))

    def _window_rows(self, expression: CompiledExpression, index: int) -> Iterator[tuple[int | None, How | None]]:
        """What else a window depends on: the rows it is over, and what decides between rows equal in its order."""
        kinds, step = self._picked[index], self._steps[index]
        yield self._rows(kinds, index), None
        assert isinstance(step, UpdateStep)
        if step.selector:
            yield self._demand("selector", index, kinds), None
        for alias in _named_aliases(step, expression):
            yield self._demand("join", index, alias, kinds), None
        if any(_has_ties(node) for node in expression.tree.walk() if isinstance(node, TypedWindow)):
            for column in self._natural_key:
                yield self._value(column, kinds, index), "window"

    def _read(self, step: UpdateStep, use: ColumnUse, kinds: _Kinds, index: int) -> int | None:
        if use.qualifier is None:
            return self._value(use.name, kinds, index)
        join = _join_of(step, use.qualifier)
        return self._loaded(self._loads[join.load_key], use.name)

    def _joins(self, step: UpdateStep, expression: CompiledExpression, kinds: _Kinds, index: int) -> Iterator[int]:
        return (self._demand("join", index, alias, kinds) for alias in _named_aliases(step, expression))

    def _make_created(self, column: str, index: int) -> LineageNode:
        """A column on the rows that an aggregate or an append adds."""
        step = self._steps[index]
        assert isinstance(step, AggregateStep | AppendStep)
        values = (*step.aggregations, *step.mapped) if isinstance(step, AppendStep) else step.aggregations
        value = next((computed for computed in values if computed.column == column), None)
        if isinstance(step, AppendStep):
            load = self._loads[step.load_key]
            if value is None:
                edges = _edges((self._loaded(load, column), "identity"))
                return LineageNode("value", column, step.seq, edges=edges)
            reads = [(self._loaded(load, read.use.name), read.how) for read in columns_read(value.expression.tree)]
        elif value is None:
            edges = _edges((self._value(column, self._picked[index], index), "identity"))
            return LineageNode("value", column, step.seq, edges=edges)
        else:
            picked = self._picked[index]
            reads = [
                (self._value(read.use.name, picked, index), read.how) for read in columns_read(value.expression.tree)
            ]
        # A row that is appended as it is does not depend on the others.
        group = self._demand("group", index) if value in step.aggregations else None
        edges = _edges(*reads, (group, None))
        return LineageNode("value", column, step.seq, expression=value.expression, edges=edges)

    def _make_rows(self, name: str, kinds: _Kinds, index: int) -> LineageNode:
        before = self._before("rows", name, kinds, index)
        if index == _LOADED:
            return LineageNode("rows", edges=_edges((self._loaded(self._input, None), None)))
        if index in self._kinds:
            return LineageNode("rows", edges=_edges((self._demand("group", index), None), (before, None)))
        step = self._steps[index]
        assert isinstance(step, DeleteStep)
        selector = self._demand("selector", index, self._picked[index] & kinds) if step.selector else None
        return LineageNode("rows", edges=_edges((selector, None), (before, None)))

    def _make_selector(self, index: int, kinds: _Kinds) -> LineageNode:
        step = self._steps[index]
        assert not isinstance(step, AppendStep)
        selector = step.selector
        assert selector is not None
        uses = sorted(selector.uses, key=lambda use: (use.qualifier or "", use.name))
        sources: _Sources = []
        if isinstance(step, UpdateStep):
            sources += [(self._read(step, use, kinds, index), "selector") for use in uses]
            sources += [(node, None) for node in self._joins(step, selector, kinds, index)]
        else:
            is_ever = isinstance(step, OutputStep) and step.arguments.include_deleted
            role = "value ever" if is_ever else "live value"
            sources += [(self._before(role, use.name, kinds, index), "selector") for use in uses]
        return LineageNode("selector", seq=step.seq, expression=selector, edges=_edges(*sources))

    def _make_join(self, index: int, alias: str, kinds: _Kinds) -> LineageNode:
        step = self._steps[index]
        assert isinstance(step, UpdateStep)
        join = _join_of(step, alias)
        uses = sorted(join.on.uses, key=lambda use: (use.qualifier or "", use.name))
        load = self._loads[join.load_key]
        sources: _Sources = [(self._loaded(load, None), None)]
        sources += [(self._read(step, use, kinds, index), "join") for use in uses]
        # A condition may name the joins before it.
        others = {use.qualifier for use in uses if use.qualifier not in (None, alias)}
        sources += [(self._demand("join", index, other, kinds), None) for other in sorted(filter(None, others))]
        return LineageNode("join", seq=step.seq, dataset_id=load.dataset_id, expression=join.on, edges=_edges(*sources))

    def _make_group(self, index: int) -> LineageNode:
        """Which rows an aggregate or an append adds."""
        step = self._steps[index]
        sources: _Sources = []
        if isinstance(step, AppendStep):
            load = self._loads[step.load_key]
            sources.append((self._loaded(load, None), None))
            sources += [(self._loaded(load, column), "group_by") for column in step.group_by]
            if (selector := step.source_selector) is not None:
                sources += [(self._loaded(load, use.name), "selector") for use in selector.uses]
            return LineageNode(
                "group", seq=step.seq, dataset_id=load.dataset_id, expression=selector, edges=_edges(*sources)
            )
        assert isinstance(step, AggregateStep)
        picked = self._picked[index]
        sources.append((self._rows(picked, index), None))
        sources += [(self._value(column, picked, index), "group_by") for column in step.group_by]
        if step.selector is not None:
            sources.append((self._demand("selector", index, picked), None))
        return LineageNode("group", seq=step.seq, edges=_edges(*sources))

    def _make_output(self, index: int, column: str) -> LineageNode:
        step = self._steps[index]
        assert isinstance(step, OutputStep)
        role = "value ever" if step.arguments.include_deleted else "live value"
        value = self._before(role, column, self._picked[index], index)
        edges = _edges((value, "identity"), (self._demand("output rows", index), None))
        return LineageNode("output", column, step.seq, edges=edges)

    def _make_output_rows(self, index: int) -> LineageNode:
        """Which rows an output writes, and in which order."""
        step, picked = self._steps[index], self._picked[index]
        assert isinstance(step, OutputStep)
        is_ever = step.arguments.include_deleted
        sources: _Sources = [(self._before("rows", _ROWS_EVER if is_ever else _ROWS, picked, index), None)]
        if step.selector is not None:
            sources.append((self._demand("selector", index, picked), None))
        if step.order_by:
            sources.append((self._demand("order", index), None))
        return LineageNode("rows", edges=_edges(*sources))

    def _make_order(self, index: int) -> LineageNode:
        step, picked = self._steps[index], self._picked[index]
        assert isinstance(step, OutputStep)
        role = "value ever" if step.arguments.include_deleted else "live value"
        sources: _Sources = [(self._before(role, column, picked, index), "order_by") for column in step.order_by]
        return LineageNode("order", seq=step.seq, edges=_edges(*sources))


def _edges(*sources: tuple[int | None, How | None]) -> tuple[LineageEdge, ...]:
    return tuple(dict.fromkeys(LineageEdge(source, how) for source, how in sources if source is not None))


def _assignments(step: UpdateStep | DeleteStep) -> tuple[ComputedColumn, ...]:
    return step.assignments if isinstance(step, UpdateStep) else ()


def _join_of(step: UpdateStep, alias: str) -> JoinStep:
    return next(join for join in step.joins if join.alias == alias)


def _named_aliases(step: UpdateStep, expression: CompiledExpression) -> tuple[str, ...]:
    """The joins that an expression reads."""
    named = {use.qualifier for use in expression.uses}
    return tuple(join.alias for join in step.joins if join.alias in named)


def _has_ties(window: TypedWindow) -> bool:
    """Whether the natural key decides between rows that the window holds for equal."""
    name = window.call.function.name
    return name == "ALLOCATE" or (name != "RANK" and bool(window.order)) or name == "ROW_NUMBER"
