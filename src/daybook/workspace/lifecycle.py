"""Plans and applies definitions, activates and deactivates projects."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from daybook.definitions.changes import DefinitionChange
from daybook.definitions.files import definitions_of_files
from daybook.definitions.loading import LoadedWorkspace
from daybook.definitions.reachable import reachable_definitions
from daybook.errors import DaybookError, Notice
from daybook.graph.column_lineage import find_touched_columns, stored_signatures
from daybook.graph.dependencies import derive_graph
from daybook.model.definition import Definition
from daybook.model.json_fields import named
from daybook.model.project import Project
from daybook.model.source_map import SourceMap
from daybook.plan.plan_cache import PlanCache
from daybook.resolve.project_files import CheckedFiles, named_projects
from daybook.runs.approvals.acts import Act, ShownChange, change_act
from daybook.runs.approvals.decisions import rehearse, shown_activations
from daybook.runs.approvals.requests import request_if_needed, request_made_error
from daybook.runs.lifecycle.activation import Activation, activate_together, deactivate
from daybook.runs.lifecycle.apply import ApplyPlan, StaleProject, apply, plan, shown_changes
from daybook.runs.lifecycle.touched_columns import TouchedColumns
from daybook.store.store import MetadataStore
from daybook.workspace.open_workspace import OpenedWorkspace


@dataclass(frozen=True, slots=True)
class Deactivation:
    """`is_changed` is False when the project was inactive before."""

    project_id: str
    is_changed: Annotated[bool, named("changed")]


def plan_changes(workspace: OpenedWorkspace, *, prune: bool = False) -> ApplyPlan:
    """What `apply_changes` would change and break; nothing is written."""
    definitions = workspace.load_definitions()
    with workspace.open_store_or_empty() as store:
        planned = plan(store, definitions.all(), workspace=workspace.settings.name, prune=prune)
        with store.read() as transaction:
            completed = transaction.runs.completed_periods()
            changed = [change for change in planned.changes if change.action == "new_version"]
            before = stored_signatures(
                definitions, transaction, [change.id for change in changed if change.kind == "project"]
            )
            touched = find_touched_columns(definitions, transaction, before, changed) if changed else ()
    return replace(planned, stale=_find_stale(definitions, planned.changes, completed), touched=touched)


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
            is_requesting=True,
        )


def activate_project(workspace: OpenedWorkspace, project: str, *, dataset_version: int | None = None) -> Activation:
    """Check a project, by its id or file, and make it the version that runs.

    On an embedded store its file and everything it refers to are applied first.
    """
    (activation,) = activate_projects(workspace, [project], dataset_version=dataset_version)
    return activation


def activate_projects(
    workspace: OpenedWorkspace, projects: Iterable[str] = (), *, dataset_version: int | None = None
) -> tuple[Activation, ...]:
    """Check projects together, against what they will register, and make them what runs: all or none.

    A name is an id, a file or a pattern. Without names, all projects of the workspace but those that were deactivated.
    """
    definitions = workspace.read_definitions()
    checked, files = CheckedFiles(definitions), tuple(definitions.all())
    now, plans = workspace.clock(), PlanCache()
    with workspace.open_store() as store:
        sources: dict[str, SourceMap | None] = {}
        notices: dict[str, tuple[Notice, ...]] = {}
        named_ids = (project_id for name in projects for project_id in named_projects(definitions, name))
        for named in tuple(dict.fromkeys(named_ids)) or _not_deactivated(definitions, store):
            # A shared store may know projects that are not in this workspace.
            if store.is_shared and not is_definition_file(named):
                definition_of_files = definitions.get("project", named)
                sources[named] = definition_of_files.source if definition_of_files else None
            else:
                definition, notices[definition.id] = _load_project(checked, named)
                sources[definition.id] = definition.source
        with store.read() as transaction:
            before = stored_signatures(definitions, transaction, sources, plans)
        held: tuple[DefinitionChange, ...] = ()
        if not store.is_shared:
            keys = {
                (definition.kind, definition.id)
                for project_id in sources
                for definition in reachable_definitions(definitions, project_id)
            }
            reached = tuple(definition for definition in files if (definition.kind, definition.id) in keys)
            applied = apply(store, reached, workspace=workspace.settings.name, now=now, files=files, plans=plans)
            held = applied.held
        if (unchanged := _request_activation(store, workspace, tuple(sources), held, dataset_version)) is not None:
            return unchanged
        done = activate_together(store, sources, now=now, dataset_version=dataset_version, files=files, plans=plans)
        changed = {
            activation.project_id: before[activation.project_id]
            for activation in done
            if activation.is_new and activation.project_id in before
        }
        touched: tuple[TouchedColumns, ...] = ()
        if changed:
            with store.read() as transaction:
                touched = find_touched_columns(definitions, transaction, changed, plans=plans)
    return tuple(
        replace(
            activation,
            notices=(*notices.get(activation.project_id, ()), *activation.notices),
            touched=tuple(columns for columns in touched if f"project {activation.project_id}" in columns.causes),
        )
        for activation in done
    )


def _not_deactivated(definitions: LoadedWorkspace, store: MetadataStore) -> tuple[str, ...]:
    with store.read() as transaction:
        inactive = {state.project_id for state in transaction.projects.all() if state.status == "inactive"}
    return tuple(project_id for project_id in definitions.definitions["project"] if project_id not in inactive)


def deactivate_project(workspace: OpenedWorkspace, project: str) -> Deactivation:
    """Keep a project, by its id or file, from running until it is activated again."""
    if is_definition_file(project):
        project = _load_project(CheckedFiles(workspace.read_definitions()), project)[0].id
    with workspace.open_store() as store:
        if _request_deactivation(store, workspace, project):
            return Deactivation(project, is_changed=False)
        return Deactivation(project, deactivate(store, project, now=workspace.clock()))


def _request_activation(
    store: MetadataStore,
    workspace: OpenedWorkspace,
    project_ids: tuple[str, ...],
    held: tuple[DefinitionChange, ...],
    dataset_version: int | None,
) -> tuple[Activation, ...] | None:
    """Make a request where activating needs approval; None where it does not, the activations if nothing changes."""
    request_error: DaybookError | None = None
    subject = ", ".join(sorted(project_ids))
    with store.read() as transaction:
        if transaction.policies.in_force().activate is None:
            return None
    with store.logged_refusal("activate", subject), store.write() as transaction:
        transaction.requests.lock()
        transaction.definitions.lock()

        def describe(changes: tuple[ShownChange, ...] = ()) -> Act:
            return change_act(
                transaction,
                "activate",
                subject,
                workspace=workspace.settings.name,
                held=held,
                activate=project_ids,
                dataset_version=dataset_version,
                changes=changes,
            )

        activations = rehearse(transaction, describe())
        begun = [activation.project_id for activation in activations if activation.is_new]
        if not held and not begun:
            return activations
        shown = (*shown_changes(transaction, held), *shown_activations(transaction, begun))
        request = request_if_needed(transaction, "activate", lambda: describe(shown))
        request_error = request_made_error(transaction, request) if request is not None else None
    if request_error is not None:
        raise request_error
    return None


def _request_deactivation(store: MetadataStore, workspace: OpenedWorkspace, project_id: str) -> bool:
    """Make a request where deactivating needs approval; True if the project is inactive already."""
    request_error: DaybookError | None = None
    with store.read() as transaction:
        if transaction.policies.in_force().activate is None:
            return False
        if transaction.projects.get(project_id).status == "inactive":
            return True
    with store.logged_refusal("deactivate", project_id), store.write() as transaction:

        def describe() -> Act:
            title = ShownChange(f"project {project_id} runs no more")
            name = workspace.settings.name
            return change_act(
                transaction, "deactivate", project_id, workspace=name, deactivate=[project_id], changes=(title,)
            )

        request = request_if_needed(transaction, "deactivate", describe)
        request_error = request_made_error(transaction, request) if request is not None else None
    if request_error is not None:
        raise request_error
    return False


def is_definition_file(named: str) -> bool:
    """Whether a user named a file instead of an id."""
    path = Path(named)
    return path.suffix in (".yaml", ".yml", ".json") and path.is_file()


def _find_stale(
    definitions: LoadedWorkspace, changes: Iterable[DefinitionChange], completed: Mapping[str, tuple[str, ...]]
) -> tuple[StaleProject, ...]:
    """The projects that a change reaches, by what they refer to or by the projects before them, and that have run."""
    projects: dict[str, Project] = {
        key: definition.model for key, definition in definitions.definitions["project"].items()
    }
    changed = {
        (change.kind, change.id)
        for change in changes
        if change.action in ("added", "new_version", "disabled", "enabled")
    }
    causes: dict[str, list[str]] = {}
    graph = derive_graph(projects, definitions_of_files(definitions))
    for project_id in projects:
        reached = {(definition.kind, definition.id) for definition in reachable_definitions(definitions, project_id)}
        pinned = {("dataset", dataset_id) for dataset_id in _pinned_datasets(projects[project_id])}
        if not (own := sorted((changed & reached) - pinned)):
            continue
        for follower in graph.downstream([project_id]):
            named = own if follower == project_id else [("project", project_id)]
            causes.setdefault(follower, []).extend(f"{kind} {identifier}" for kind, identifier in named)
    return tuple(
        StaleProject(project_id, completed[project_id], tuple(dict.fromkeys(reasons)))
        for project_id, reasons in sorted(causes.items())
        if project_id in completed
    )


def _pinned_datasets(project: Project) -> set[str]:
    """Datasets that the project reads in a fixed version only."""
    references = [reference for _, reference in project.reads()]
    followed = {reference.dataset_id for reference in references if reference.dataset_version is None}
    return {reference.dataset_id for reference in references} - followed


def _load_project(files: CheckedFiles, named: str) -> tuple[Definition[Project], tuple[Notice, ...]]:
    try:
        return files.load_project(named)
    except DaybookError as error:
        if error.code != "RUN_001":
            raise
        raise DaybookError("STORE_007", kind="project", id=named, hint=error.hint) from None
