"""The lineage of columns within a project and across projects; never starts Spark."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from daybook.errors import DaybookError, Notice, notice
from daybook.errors.error import did_you_mean
from daybook.graph.column_lineage import CloseLineage, WrittenColumn, read_close_lineage
from daybook.graph.lineage_picture import LineagePicture, draw_lineage
from daybook.model.project import target_name
from daybook.model.types import SYSTEM_COLUMNS
from daybook.plan.lineage import ColumnInput, ColumnLineage, ColumnStep, InputColumn, input_order
from daybook.plan.lineage_graph import How
from daybook.plan.steps import OutputStep
from daybook.store.references import files_with_errors, load_project
from daybook.workspace.open_workspace import OpenedWorkspace


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
        return tuple(each for each in column.inputs if each not in shared)


@dataclass(frozen=True, slots=True)
class LineageResult:
    """The outputs that were asked for; `picture` is the same as nodes and edges, operations included."""

    outputs: tuple[LineageOutput, ...]
    picture: LineagePicture
    notices: tuple[Notice, ...] = ()


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
        found: Mapping[WrittenColumn, Mapping[How, frozenset[InputColumn]]] | None = None
        start = InputColumn("", "")
        if downstream is not None:
            start = _parse_input(close, downstream)
            found = close.downstream([start])
        outputs: list[LineageOutput] = []
        for project_id in project_ids:
            lineage = close.project(project_id) if project is not None else close.project_or_none(project_id)
            if lineage is None:
                continue
            wanted = set(_known_columns(project_id, columns, [column for _, column in lineage.columns]))
            for step in close.plan(project_id).outputs:
                names = [name for name in step.columns if (step.seq, name) in lineage.graph.outputs]
                names = [name for name in names if not columns or name in wanted]
                if found is not None:
                    names = [name for name in names if WrittenColumn(project_id, step.seq, name) in found]
                if names:
                    written = _describe_output(close, project_id, step, names, to_start=to_start)
                    if found is not None:
                        written = _only_from(written, start, found)
                    outputs.append(written)
        roots = [(each.project_id, each.seq, column.column) for each in outputs for column in each.columns]
        picture = draw_lineage(close, roots, to_start=to_start)
        broken = tuple(notice("RUN_122", project=name) for name in sorted(close.broken))
        return LineageResult(tuple(outputs), picture, (*notices, *broken))


@contextmanager
def _open_lineage(
    workspace: OpenedWorkspace, project: str | None
) -> Iterator[tuple[CloseLineage, tuple[str, ...], tuple[Notice, ...]]]:
    definitions = workspace.read_definitions()
    notices: tuple[Notice, ...] = ()
    project_ids = tuple(definitions.definitions["project"])
    if project is not None:
        definition, notices = load_project(definitions, project)
        project_ids = (definition.id,)
    elif others := files_with_errors(definitions):
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
    named = next((each for each in sorted(datasets, key=len, reverse=True) if text.startswith(f"{each}.")), None)
    known = [f"{named}.{column}" for column in datasets[named]] if named is not None else list(datasets)
    hint = did_you_mean(text if named is not None else parts[0], known)
    raise DaybookError("RUN_121", name=text, hint=hint)


def _describe_output(
    close: CloseLineage, project_id: str, step: OutputStep, names: Sequence[str], *, to_start: bool
) -> LineageOutput:
    lineage = close.project(project_id)

    def describe(found: ColumnLineage) -> LineageColumn:
        traced = close.from_start(found) if to_start else found
        return LineageColumn(found.column, traced.inputs, lineage.steps(found))

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
    found: Mapping[WrittenColumn, Mapping[How, frozenset[InputColumn]]],
) -> LineageOutput:
    """The columns with one input each, the one that was asked for, and how they come from it through all projects.

    What operations do is left out, since most of it is not on the way from there.
    """
    columns = []
    for column in output.columns:
        inputs = []
        for how, reads in found[WrittenColumn(output.project_id, output.seq, column.column)].items():
            passing = [each for each in column.inputs if InputColumn(each.dataset_id, each.column) in reads]
            mask, seqs = 0, passing[0].seqs if passing else ()
            for each in passing:
                mask |= each.mask
            inputs.append(ColumnInput(start.dataset_id, start.column or "", how, mask, seqs))
        columns.append(replace(column, inputs=tuple(sorted(inputs, key=input_order)), steps=()))
    return replace(output, columns=tuple(columns), rows=replace(output.rows, inputs=(), steps=()))
