"""Which columns of other projects a change of projects and datasets touches."""

from collections.abc import Iterable, Iterator, Mapping

from daybook.graph.column_lineage import CloseLineage, WrittenColumn, read_close_lineage
from daybook.graph.dependencies import derive_graph
from daybook.model.dataset import Dataset
from daybook.model.definition import Definition
from daybook.model.loading import LoadedWorkspace
from daybook.model.project import Project, target_name
from daybook.model.source_map import SourceMap
from daybook.plan.lineage import InputColumn
from daybook.plan.plan_cache import PlanCache
from daybook.plan.registered_catalog import RegisteredCatalog
from daybook.store.changes import DefinitionChange, find_column_changes
from daybook.store.database.projects import find_active_project
from daybook.store.effects import TouchedColumns
from daybook.store.store import Transaction

# How a project computes what it writes: a signature for every target and column, without a column for the rows.
WayToCompute = Mapping[tuple[str, str | None], int]


def ways_before(
    definitions: LoadedWorkspace, transaction: Transaction, project_ids: Iterable[str]
) -> Mapping[str, WayToCompute]:
    """How the store's versions of projects compute: the active ones, else the latest; new projects are left out."""
    written: Mapping[str, Definition[Project]] = definitions.definitions["project"]
    stored = {name: known for name in project_ids if (known := _stored_project(transaction, name)) is not None}
    if not stored:
        return {}
    before = {name: Definition("project", known, SourceMap.empty()) for name, known in stored.items()}
    projects = {**written, **before}
    catalog, plans = transaction.catalog(), PlanCache()
    graph = derive_graph({name: each.model for name, each in projects.items()}, catalog)
    close = CloseLineage(projects, graph, RegisteredCatalog(catalog, projects.values(), plans), plans)
    return {name: found for name in stored if (found := _ways_of(close, name)) is not None}


def find_touched_columns(
    definitions: LoadedWorkspace,
    transaction: Transaction,
    before: Mapping[str, WayToCompute],
    changes: Iterable[DefinitionChange] = (),
) -> tuple[TouchedColumns, ...]:
    """The columns that come from what projects compute otherwise than `before`, or from columns that datasets change.

    A project does not touch itself.
    """
    close = read_close_lineage(definitions, transaction)
    causes: dict[tuple[str, int], dict[str, set[str]]] = {}

    def add(found: Iterable[WrittenColumn], cause: str, without: str | None = None) -> None:
        for each in found:
            if each.project_id != without and each.column is not None:
                named = causes.setdefault((each.project_id, each.output_seq), {})
                named.setdefault(each.column, set()).add(cause)

    for project_id, known in before.items():
        written = tuple(_changed_columns(close, project_id, known))
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


def _ways_of(close: CloseLineage, project_id: str) -> WayToCompute | None:
    lineage = close.project_or_none(project_id)
    if lineage is None:
        return None
    found: dict[tuple[str, str | None], int] = {}
    for step in close.plan(project_id).outputs:
        target = target_name(step.arguments.destination)
        found[target, None] = lineage.signature(step.seq, None)
        for column in step.columns:
            if (step.seq, column) in lineage.graph.outputs:
                found[target, column] = lineage.signature(step.seq, column)
    return found


def _changed_columns(close: CloseLineage, project_id: str, before: WayToCompute) -> Iterator[WrittenColumn]:
    """What a project writes otherwise than before; columns that it no longer writes included."""
    now = _ways_of(close, project_id)
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
    known = transaction.catalog().declared(change.id)
    model = change.definition.model
    if known is not None and isinstance(known.dataset, Dataset) and isinstance(model, Dataset):
        for each in find_column_changes(known.dataset, model):
            if each.kind != "added":
                yield InputColumn(change.id, each.column)
