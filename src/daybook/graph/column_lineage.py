"""Lineage across projects: a column that one project reads is a column that another one writes.

Projects may read each other over periods, so columns may come from themselves: every column is visited once. The same
graph says which columns of other projects a change touches.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from daybook.definitions.changes import DefinitionChange, find_changes, with_changes
from daybook.definitions.column_changes import find_column_changes
from daybook.definitions.loading import LoadedWorkspace
from daybook.definitions.value import Definitions
from daybook.errors import DaybookError
from daybook.graph.dependencies import ProjectGraph, derive_graph
from daybook.model.dataset import Dataset, View
from daybook.model.definition import Definition
from daybook.model.operation import OutputOperation
from daybook.model.project import Project, target_name
from daybook.model.source_map import SourceMap
from daybook.model.types import SYSTEM_COLUMNS
from daybook.plan.columns_read import How, combine
from daybook.plan.expected import as_expected
from daybook.plan.lineage import ColumnInput, ColumnLineage, InputColumn, PlanLineage, input_order, plan_lineage
from daybook.plan.lineage_graph import UNTRACED_COLUMNS
from daybook.plan.plan_cache import PlanCache
from daybook.plan.steps import Plan
from daybook.runs.lifecycle.touched_columns import TouchedColumns
from daybook.store.database.projects import find_active_project
from daybook.store.store import Transaction


@dataclass(frozen=True, slots=True, order=True)
class WrittenColumn:
    """A column of an output; without a name, the rows of the output."""

    project_id: str
    output_seq: int
    column: str | None


# A column that a project reads, and how what was asked for comes from it.
_Visit = tuple[str, InputColumn, How | None]


class CloseLineage:
    """The lineage of the projects of a workspace; each of them is planned when it is first needed."""

    def __init__(
        self,
        projects: Mapping[str, Definition[Project]],
        graph: ProjectGraph,
        definitions: Definitions,
        plans: PlanCache,
    ) -> None:
        self._projects = projects
        self._definitions = definitions
        self._plans = plans
        self._lineages: dict[str, PlanLineage] = {}
        self._readings: dict[str, Mapping[InputColumn, tuple[tuple[WrittenColumn, How], ...]]] = {}
        # What keeps a project from being planned; its outputs count as data that no project computes.
        self.broken: dict[str, DaybookError] = {}
        self._writers: dict[tuple[str, str], list[tuple[str, int]]] = {}
        self._readers: dict[tuple[str, int], list[tuple[str, str]]] = {}
        for dependency in graph.dependencies:
            for seq in dependency.outputs:
                self._writers.setdefault((dependency.reader, dependency.dataset), []).append((dependency.maker, seq))
                self._readers.setdefault((dependency.maker, seq), []).append((dependency.reader, dependency.dataset))

    def plan(self, project_id: str) -> Plan:
        """The plan of a project; raises all that is wrong with it."""
        return self._plans.examine(self._projects[project_id], self._definitions).checked_plan(with_locations=False)

    def project(self, project_id: str) -> PlanLineage:
        """The lineage of one project; raises all that is wrong with it."""
        if project_id not in self._lineages:
            self._lineages[project_id] = plan_lineage(self.plan(project_id))
        return self._lineages[project_id]

    def project_or_none(self, project_id: str) -> PlanLineage | None:
        """The same for a project that may have errors, which are kept in `broken`."""
        if project_id in self.broken:
            return None
        try:
            return self.project(project_id)
        except DaybookError as error:
            self.broken[project_id] = error
            return None

    def writers(self, reader: str, dataset_id: str) -> tuple[tuple[str, int], ...]:
        """The outputs that write what a project reads as a dataset: projects and seqs."""
        return tuple(self._writers.get((reader, dataset_id), ()))

    def from_start(self, lineage: ColumnLineage) -> ColumnLineage:
        """The same column with the inputs that nothing else computes; the operations are still its own project's."""
        masks: dict[tuple[InputColumn, How], ColumnInput] = {}
        for read_column in (*lineage.inputs, *lineage.row_sources):
            for origin, how in self._origins(
                lineage.project_id, InputColumn(read_column.dataset_id, read_column.column or None)
            ):
                combined = combine(read_column.how, how) or read_column.how
                earlier = masks.get((origin, combined))
                mask = read_column.mask | (earlier.mask if earlier else 0)
                origin_column = ColumnInput(origin.dataset_id, origin.column or "", combined, mask, read_column.seqs)
                masks[origin, combined] = origin_column
        found_inputs = sorted(masks.values(), key=input_order)
        return ColumnLineage(
            lineage.project_id,
            lineage.output_seq,
            lineage.column,
            tuple(column for column in found_inputs if column.column),
            tuple(column for column in found_inputs if not column.column),
            lineage.nodes,
        )

    def _origins(self, reader: str, column: InputColumn) -> set[tuple[InputColumn, How | None]]:
        """The columns that nothing computes, from which a column comes that a project reads."""
        origins: set[tuple[InputColumn, How | None]] = set()
        seen: set[_Visit] = set()
        waiting: list[_Visit] = [(reader, column, None)]
        while waiting:
            visit = waiting.pop()
            if visit in seen:
                continue
            seen.add(visit)
            project_id, read, how = visit
            writers = [
                (lineage, seq)
                for maker, seq in self.writers(project_id, read.dataset_id)
                if (lineage := self.project_or_none(maker)) is not None
            ]
            if not writers:
                origins.add((InputColumn(self.viewed(read.dataset_id), read.column), how))
            for lineage, seq in writers:
                for named, source in self._sources(lineage, seq, read.column):
                    waiting.append((lineage.project_id, source, combine(how, named)))
        return origins

    def _sources(self, lineage: PlanLineage, seq: int, column: str | None) -> Iterator[tuple[How, InputColumn]]:
        if column is not None and (seq, column) not in lineage.graph.outputs:
            return
        for how, sources in lineage.inputs(seq, column).items():
            yield from ((how, source) for source in sources)
        if column is None and self._writes_deleted(lineage.project_id, seq):
            # A reader of the output does not see the rows that were deleted before.
            for sources in lineage.inputs(seq, "_deleted").values():
                yield from (("selector", source) for source in sources)

    def _writes_deleted(self, project_id: str, seq: int) -> bool:
        lineage = self.project_or_none(project_id)
        operation = next(candidate for candidate in self._projects[project_id].model.operations if candidate.seq == seq)
        return (
            isinstance(operation, OutputOperation)
            and operation.arguments.include_deleted
            and lineage is not None
            and (seq, "_deleted") in lineage.graph.outputs
        )

    def downstream(self, start: Iterable[InputColumn]) -> Mapping[WrittenColumn, Mapping[How, frozenset[InputColumn]]]:
        """The written columns that come from columns of datasets, and how; with what their own projects read of it."""
        hows_by_column: dict[WrittenColumn, dict[How, set[InputColumn]]] = {}
        seen: set[_Visit] = set()
        waiting: list[_Visit] = [
            (project_id, InputColumn(dataset_id, column.column), None)
            for column in start
            for project_id, definition in self._projects.items()
            for dataset_id in {reference.dataset_id for _, reference in definition.model.reads()}
            if column.dataset_id in (dataset_id, self.viewed(dataset_id))
        ]
        while waiting:
            visit = waiting.pop()
            if visit in seen:
                continue
            seen.add(visit)
            project_id, read, how = visit
            for written, named in self._reading(project_id).get(read, ()):
                combined = combine(named, how) or named
                if written.column is not None:
                    hows_by_column.setdefault(written, {}).setdefault(combined, set()).add(read)
                waiting += self._read_again(written, combined)
        return {
            written: {how: frozenset(reads) for how, reads in hows.items()}
            for written, hows in sorted(hows_by_column.items())
        }

    def written_downstream(
        self, start: Iterable[WrittenColumn]
    ) -> Mapping[WrittenColumn, Mapping[How, frozenset[InputColumn]]]:
        """The columns of other projects that come from written columns."""
        reads = (
            InputColumn(dataset_id, written.column)
            for written in start
            for _, dataset_id in self._readers.get((written.project_id, written.output_seq), ())
        )
        return self.downstream(dict.fromkeys(reads))

    def _read_again(self, written: WrittenColumn, how: How) -> Iterator[_Visit]:
        key = (written.project_id, written.output_seq)
        is_deleted = written.column == "_deleted" and self._writes_deleted(*key)
        for reader, dataset_id in self._readers.get(key, ()):
            yield reader, InputColumn(dataset_id, written.column), how
            if is_deleted:
                yield reader, InputColumn(dataset_id, None), "selector"

    def _reading(self, project_id: str) -> Mapping[InputColumn, tuple[tuple[WrittenColumn, How], ...]]:
        """What a project writes by what it reads."""
        if project_id not in self._readings:
            written_by_source: dict[InputColumn, list[tuple[WrittenColumn, How]]] = {}
            lineage = self.project_or_none(project_id)
            rows = [(seq, None) for seq in lineage.graph.rows] if lineage is not None else []
            for seq, column in (*rows, *(lineage.columns if lineage is not None else ())):
                assert lineage is not None
                written = WrittenColumn(project_id, seq, column)
                for how, sources in lineage.inputs(seq, column).items():
                    for source in sources:
                        written_by_source.setdefault(source, []).append((written, how))
            self._readings[project_id] = {source: tuple(columns) for source, columns in written_by_source.items()}
        return self._readings[project_id]

    def datasets(self) -> dict[str, tuple[str, ...]]:
        """Every dataset that projects read or that is declared, with its columns and the traced system columns."""
        columns_by_dataset: dict[str, tuple[str, ...]] = {}
        read = {reference.dataset_id for project in self._projects.values() for _, reference in project.model.reads()}
        for dataset_id in sorted({*self._definitions.ids("dataset"), *read}):
            version = self._definitions.dataset(dataset_id)
            if version is not None:
                columns = (column.name for column in version.dataset.main_table.columns)
                columns_by_dataset[dataset_id] = (
                    *columns,
                    *(name for name in SYSTEM_COLUMNS if name not in UNTRACED_COLUMNS),
                )
        return columns_by_dataset

    def viewed(self, dataset_id: str) -> str:
        """The dataset behind views; itself where it is none."""
        for _ in range(len(self._definitions.ids("dataset")) + 1):
            version = self._definitions.declared(dataset_id)
            if version is None or not isinstance(version.dataset, View):
                break
            dataset_id = version.dataset.view.of
        return dataset_id


def read_close_lineage(
    definitions: LoadedWorkspace, transaction: Transaction, plans: PlanCache | None = None
) -> CloseLineage:
    """The lineage of all projects as their files are now; it asks the store while it is used."""
    heads = transaction.definitions.heads()
    changes = find_changes(definitions.all(), heads, workspace=definitions.settings.name, prune=False)
    applied, plans = with_changes(transaction.stored_definitions(), changes), plans or PlanCache()
    projects: Mapping[str, Definition[Project]] = definitions.definitions["project"]
    graph = derive_graph({key: definition.model for key, definition in projects.items()}, applied)
    return CloseLineage(projects, graph, as_expected(applied, projects.values(), plans), plans)


# How a project computes what it writes: a signature for every target and column, without a column for the rows.
ColumnSignatures = Mapping[tuple[str, str | None], int]


def stored_signatures(
    definitions: LoadedWorkspace, transaction: Transaction, project_ids: Iterable[str], plans: PlanCache | None = None
) -> Mapping[str, ColumnSignatures]:
    """How the store's versions of projects compute: the active ones, else the latest; new projects are left out."""
    written: Mapping[str, Definition[Project]] = definitions.definitions["project"]
    stored = {name: project for name in project_ids if (project := _stored_project(transaction, name)) is not None}
    if not stored:
        return {}
    before = {name: Definition("project", project, SourceMap.empty()) for name, project in stored.items()}
    projects = {**written, **before}
    stored_definitions, plans = transaction.stored_definitions(), plans or PlanCache()
    graph = derive_graph({name: definition.model for name, definition in projects.items()}, stored_definitions)
    close = CloseLineage(projects, graph, as_expected(stored_definitions, projects.values(), plans), plans)
    return {name: ways for name in stored if (ways := _signatures_of(close, name)) is not None}


def find_touched_columns(
    definitions: LoadedWorkspace,
    transaction: Transaction,
    before: Mapping[str, ColumnSignatures],
    changes: Iterable[DefinitionChange] = (),
    plans: PlanCache | None = None,
) -> tuple[TouchedColumns, ...]:
    """The columns that come from what projects compute otherwise than `before`, or from columns that datasets change.

    A project does not touch itself.
    """
    close = read_close_lineage(definitions, transaction, plans)
    causes: dict[tuple[str, int], dict[str, set[str]]] = {}

    def add(touched: Iterable[WrittenColumn], cause: str, without: str | None = None) -> None:
        for column in touched:
            if column.project_id != without and column.column is not None:
                named = causes.setdefault((column.project_id, column.output_seq), {})
                named.setdefault(column.column, set()).add(cause)

    for project_id, way in before.items():
        written = tuple(_changed_columns(close, project_id, way))
        add(close.written_downstream(written), f"project {project_id}", project_id)
    for change in changes:
        columns = tuple(_changed_inputs(change, transaction))
        if columns:
            add(close.downstream(columns), f"dataset {change.id}")
    return tuple(
        TouchedColumns(project_id, seq, tuple(named), tuple(sorted(set().union(*named.values()))))
        for (project_id, seq), named in sorted(causes.items())
    )


def _stored_project(transaction: Transaction, project_id: str) -> Project | None:
    state = transaction.projects.find(project_id)
    if state is None:
        return None
    active = find_active_project(transaction.definitions, transaction.projects, state)
    if active is not None:
        return active.project
    model = transaction.definitions.model("project", project_id)
    return model if isinstance(model, Project) else None


def _signatures_of(close: CloseLineage, project_id: str) -> ColumnSignatures | None:
    lineage = close.project_or_none(project_id)
    if lineage is None:
        return None
    signatures: dict[tuple[str, str | None], int] = {}
    for step in close.plan(project_id).outputs:
        target = target_name(step.arguments.destination)
        signatures[target, None] = lineage.signature(step.seq, None)
        for column in step.columns:
            if (step.seq, column) in lineage.graph.outputs:
                signatures[target, column] = lineage.signature(step.seq, column)
    return signatures


def _changed_columns(close: CloseLineage, project_id: str, before: ColumnSignatures) -> Iterator[WrittenColumn]:
    """What a project writes otherwise than before; columns that it no longer writes included."""
    now = _signatures_of(close, project_id)
    if now is None:
        return
    seqs = {target_name(step.arguments.destination): step.seq for step in close.plan(project_id).outputs}
    for target, column in dict.fromkeys((*before, *now)):
        if target in seqs and before.get((target, column)) != now.get((target, column)):
            yield WrittenColumn(project_id, seqs[target], column)


def _changed_inputs(change: DefinitionChange, transaction: Transaction) -> Iterator[InputColumn]:
    """The columns of a dataset that its new version removes or gives another type."""
    if change.kind != "dataset" or change.action != "new_version" or change.definition is None:
        return
    stored = transaction.stored_definitions().declared(change.id)
    model = change.definition.model
    if stored is not None and isinstance(stored.dataset, Dataset) and isinstance(model, Dataset):
        for column_change in find_column_changes(stored.dataset, model):
            if column_change.kind != "added":
                yield InputColumn(change.id, column_change.column)
