"""Plan and apply definitions, activate and deactivate projects."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from daybook.errors import DaybookError, Notice
from daybook.graph.dependencies import derive_graph
from daybook.model.definition import Definition
from daybook.model.loading import LoadedWorkspace
from daybook.model.loading.workspace import WorkspaceCatalog
from daybook.model.project import Project
from daybook.plan.plan_cache import PlanCache
from daybook.store.apply import ApplyPlan, StaleProject, apply, plan
from daybook.store.changes import DefinitionChange
from daybook.store.lifecycle import Activation, activate, deactivate
from daybook.store.references import load_project, reachable_definitions
from daybook.workspace.open_workspace import OpenedWorkspace


@dataclass(frozen=True, slots=True)
class Deactivation:
    """`is_changed` is False when the project was inactive before."""

    project_id: str
    is_changed: bool


def plan_changes(workspace: OpenedWorkspace, *, prune: bool = False) -> ApplyPlan:
    """What `apply_changes` would change and break; nothing is written."""
    definitions = workspace.load_definitions()
    with workspace.open_store_or_empty() as store:
        planned = plan(store, definitions.all(), workspace=workspace.settings.name, prune=prune)
        with store.read() as transaction:
            completed = transaction.runs.completed_periods()
    return replace(planned, stale=_find_stale(definitions, planned.changes, completed))


def apply_changes(workspace: OpenedWorkspace, *, prune: bool = False) -> ApplyPlan:
    """Store the definitions, all or none; a shared store is created or migrated first."""
    definitions = workspace.load_definitions()
    with workspace.open_store(migrate=True) as store:
        return apply(
            store,
            definitions.all(),
            workspace=workspace.settings.name,
            now=workspace.clock(),
            prune=prune,
        )


def activate_project(workspace: OpenedWorkspace, project: str, *, dataset_version: int | None = None) -> Activation:
    """Check a project, by its id or file, and make it the version that runs.

    On an embedded store its file and everything it refers to are applied first.
    """
    definitions = workspace.read_definitions()
    files = tuple(definitions.all())
    now, plans = workspace.clock(), PlanCache()
    with workspace.open_store() as store:
        notices: tuple[Notice, ...] = ()
        # A shared store may know projects that are not in this workspace.
        if store.is_shared and not is_definition_file(project):
            project_id, definition = project, definitions.get("project", project)
        else:
            definition, notices = _load_project(definitions, project)
            project_id = definition.id
        if not store.is_shared:
            reached = reachable_definitions(definitions, project_id)
            apply(store, reached, workspace=workspace.settings.name, now=now, files=files, plans=plans)
        activation = activate(
            store,
            project_id,
            now=now,
            dataset_version=dataset_version,
            source=definition.source if definition else None,
            files=files,
            plans=plans,
        )
    return replace(activation, notices=(*notices, *activation.notices))


def deactivate_project(workspace: OpenedWorkspace, project: str) -> Deactivation:
    """Keep a project, by its id or file, from running until it is activated again."""
    if is_definition_file(project):
        project = _load_project(workspace.read_definitions(), project)[0].id
    with workspace.open_store() as store:
        return Deactivation(project, deactivate(store, project, now=workspace.clock()))


def is_definition_file(named: str) -> bool:
    """Whether a user named a file instead of an id."""
    path = Path(named)
    return path.suffix in (".yaml", ".yml", ".json") and path.is_file()


def _find_stale(
    definitions: LoadedWorkspace, changes: Iterable[DefinitionChange], completed: Mapping[str, tuple[str, ...]]
) -> tuple[StaleProject, ...]:
    """The projects that a change reaches, by what they refer to or by the projects before them, and that have run."""
    projects: dict[str, Project] = {key: found.model for key, found in definitions.definitions["project"].items()}
    changed = {
        (change.kind, change.id)
        for change in changes
        if change.action in ("added", "new_version", "disabled", "enabled")
    }
    causes: dict[str, list[str]] = {}
    graph = derive_graph(projects, WorkspaceCatalog(definitions))
    for project_id in projects:
        reached = {(each.kind, each.id) for each in reachable_definitions(definitions, project_id)}
        pinned = {("dataset", dataset_id) for dataset_id in _pinned_datasets(projects[project_id])}
        if not (own := sorted((changed & reached) - pinned)):
            continue
        for follower in graph.downstream([project_id]):
            named = own if follower == project_id else [("project", project_id)]
            causes.setdefault(follower, []).extend(f"{kind} {identifier}" for kind, identifier in named)
    return tuple(
        StaleProject(project_id, completed[project_id], tuple(dict.fromkeys(found)))
        for project_id, found in sorted(causes.items())
        if project_id in completed
    )


def _pinned_datasets(project: Project) -> set[str]:
    """Datasets that the project reads in a fixed version only."""
    references = [reference for _, reference in project.reads()]
    followed = {each.dataset_id for each in references if each.dataset_version is None}
    return {each.dataset_id for each in references} - followed


def _load_project(definitions: LoadedWorkspace, named: str) -> tuple[Definition[Project], tuple[Notice, ...]]:
    try:
        return load_project(definitions, named)
    except DaybookError as error:
        if error.code != "RUN_001":
            raise
        raise DaybookError("STORE_007", kind="project", id=named, hint=error.hint) from None
