"""The lineage of columns within a project and across projects, as data and as a picture; never starts Spark."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from daybook.errors import DaybookError, Notice, notice
from daybook.errors.error import did_you_mean
from daybook.graph.column_lineage import CloseLineage, WrittenColumn, read_close_lineage
from daybook.model.json_fields import Hidden, ShownAs, named
from daybook.model.project import target_name
from daybook.model.types import SYSTEM_COLUMNS
from daybook.plan.columns_read import How, combine
from daybook.plan.lineage import (
    ColumnInput,
    ColumnLineage,
    ColumnStep,
    InputColumn,
    InputKind,
    PlanLineage,
    input_order,
    kind_of,
)
from daybook.plan.lineage_graph import LineageNode
from daybook.plan.steps import OutputStep
from daybook.resolve.project_files import CheckedFiles
from daybook.workspace.open_workspace import OpenedWorkspace

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
                for origin in self._resolved(lineage, source):
                    self._edges[PictureEdge(self._number(origin), target, how)] = None
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
        has_maker = False
        for maker, seq in self._close.writers(lineage.project_id, node.dataset_id) if self._to_start else ():
            before = self._close.project_or_none(maker)
            has_maker = has_maker or before is not None
            if before is not None and (seq, node.column) in before.graph.outputs:
                yield maker, before.graph.outputs[seq, node.column]
        if not has_maker:
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


@dataclass(frozen=True, slots=True)
class LineageColumn:
    """A written column, its inputs, and what operations do on the way; without inputs it is a constant."""

    column: str
    inputs: tuple[ColumnInput, ...]
    steps: tuple[ColumnStep, ...]


@dataclass(frozen=True, slots=True)
class LineageOutput:
    """An output with its columns; `rows` is what decides about its rows and so belongs to every column."""

    project_id: str
    seq: int
    target: str
    dataset_id: str | None
    rows: LineageColumn
    columns: tuple[LineageColumn, ...]

    def own_inputs(self, column: LineageColumn) -> tuple[ColumnInput, ...]:
        """The inputs of a column but those that every column has."""
        shared = set(self.rows.inputs)
        return tuple(input_ for input_ in column.inputs if input_ not in shared)


@dataclass(frozen=True, slots=True)
class LineageInput:
    """An input of a written column, and the operations on the way."""

    dataset: str
    column: str
    kind: InputKind
    how: How
    operations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WrittenColumnLineage:
    """A written column with its project, the seq of its output, and its inputs."""

    project: str
    output: int
    column: str
    inputs: tuple[LineageInput, ...]


def _written_columns(outputs: tuple[LineageOutput, ...]) -> list[WrittenColumnLineage]:
    return [
        WrittenColumnLineage(
            output.project_id,
            output.seq,
            column.column,
            tuple(
                LineageInput(read.dataset_id, read.column, read.kind, read.how, read.operations)
                for read in column.inputs
            ),
        )
        for output in outputs
        for column in output.columns
    ]


@dataclass(frozen=True, slots=True)
class LineageResult:
    """The outputs that were asked for; `picture` is the same as nodes and edges, operations included."""

    outputs: Annotated[
        tuple[LineageOutput, ...], ShownAs(_written_columns, list[WrittenColumnLineage]), named("columns")
    ]
    picture: Hidden[LineagePicture]
    notices: Hidden[tuple[Notice, ...]] = ()


def trace_columns(
    workspace: OpenedWorkspace,
    project: str | None = None,
    columns: Sequence[str] = (),
    *,
    downstream: str | None = None,
    to_start: bool = False,
) -> LineageResult:
    """The lineage of what projects write, by default of all of them; of one project also for some columns only.

    With `downstream`, a dataset and its column, only what comes from that column, whichever projects lie between.
    `to_start` names the inputs that nothing else computes instead of those that the project itself reads.
    """
    with _open_lineage(workspace, project) as (close, project_ids, notices):
        reached: Mapping[WrittenColumn, Mapping[How, frozenset[InputColumn]]] | None = None
        start = InputColumn("", "")
        if downstream is not None:
            start = _parse_input(close, downstream)
            reached = close.downstream([start])
        outputs: list[LineageOutput] = []
        for project_id in project_ids:
            lineage = close.project(project_id) if project is not None else close.project_or_none(project_id)
            if lineage is None:
                continue
            chosen_columns = set(_known_columns(project_id, columns, [column for _, column in lineage.columns]))
            for step in close.plan(project_id).outputs:
                names = [name for name in step.columns if (step.seq, name) in lineage.graph.outputs]
                names = [name for name in names if not columns or name in chosen_columns]
                if reached is not None:
                    names = [name for name in names if WrittenColumn(project_id, step.seq, name) in reached]
                if names:
                    written = _describe_output(close, project_id, step, names, to_start=to_start)
                    if reached is not None:
                        written = _only_from(written, start, reached)
                    outputs.append(written)
        roots = [(output.project_id, output.seq, column.column) for output in outputs for column in output.columns]
        picture = draw_lineage(close, roots, to_start=to_start)
        broken = tuple(notice("RUN_122", project=name) for name in sorted(close.broken))
        return LineageResult(tuple(outputs), picture, (*notices, *broken))


@contextmanager
def _open_lineage(
    workspace: OpenedWorkspace, project: str | None
) -> Iterator[tuple[CloseLineage, tuple[str, ...], tuple[Notice, ...]]]:
    definitions = workspace.read_definitions()
    files = CheckedFiles(definitions)
    notices: tuple[Notice, ...] = ()
    project_ids = tuple(definitions.definitions["project"])
    if project is not None:
        definition, notices = files.load_project(project)
        project_ids = (definition.id,)
    elif others := files.files_with_errors:
        notices = (notice("MODEL_087", files=", ".join(others), project="the close"),)
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        yield read_close_lineage(definitions, transaction), project_ids, notices


def _known_columns(project_id: str, columns: Iterable[str], written: Sequence[str]) -> Iterator[str]:
    for column in columns:
        if column not in written:
            business = dict.fromkeys(name for name in written if name not in SYSTEM_COLUMNS)
            raise DaybookError("RUN_120", project=project_id, column=column, hint=did_you_mean(column, business))
        yield column


def _parse_input(close: CloseLineage, text: str) -> InputColumn:
    """A dataset and its column; both may hold dots, so the first dataset that has such a column is meant."""
    datasets = close.datasets()
    parts = text.split(".")
    for place in range(1, len(parts)):
        dataset_id, column = ".".join(parts[:place]), ".".join(parts[place:]).strip("`")
        if column in datasets.get(dataset_id, ()):
            return InputColumn(dataset_id, column)
    named = next(
        (dataset_id for dataset_id in sorted(datasets, key=len, reverse=True) if text.startswith(f"{dataset_id}.")),
        None,
    )
    names = [f"{named}.{column}" for column in datasets[named]] if named is not None else list(datasets)
    hint = did_you_mean(text if named is not None else parts[0], names)
    raise DaybookError("RUN_121", name=text, hint=hint)


def _describe_output(
    close: CloseLineage, project_id: str, step: OutputStep, names: Sequence[str], *, to_start: bool
) -> LineageOutput:
    lineage = close.project(project_id)

    def describe(column: ColumnLineage) -> LineageColumn:
        traced = close.from_start(column) if to_start else column
        return LineageColumn(column.column, traced.inputs, lineage.steps(column))

    return LineageOutput(
        project_id,
        step.seq,
        target_name(step.arguments.destination),
        step.arguments.registered_id,
        describe(lineage.rows(step.seq)),
        tuple(describe(lineage.column(step.seq, name)) for name in names),
    )


def _only_from(
    output: LineageOutput,
    start: InputColumn,
    reached: Mapping[WrittenColumn, Mapping[How, frozenset[InputColumn]]],
) -> LineageOutput:
    """The columns with one input each, the one that was asked for, and how they come from it through all projects.

    What operations do is left out, since most of it is not on the way from there.
    """
    columns = []
    for column in output.columns:
        inputs = []
        for how, reads in reached[WrittenColumn(output.project_id, output.seq, column.column)].items():
            passing = [input_ for input_ in column.inputs if InputColumn(input_.dataset_id, input_.column) in reads]
            mask, seqs = 0, passing[0].seqs if passing else ()
            for input_ in passing:
                mask |= input_.mask
            inputs.append(ColumnInput(start.dataset_id, start.column or "", how, mask, seqs))
        columns.append(replace(column, inputs=tuple(sorted(inputs, key=input_order)), steps=()))
    return replace(output, columns=tuple(columns), rows=replace(output.rows, inputs=(), steps=()))
