"""The project a user names, what it refers to, and what it needs of its workspace."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daybook.errors import DaybookError, Notice, notice, raise_all
from daybook.errors.suggestion import did_you_mean
from daybook.model.dataset import Dataset, TableLocation
from daybook.model.definition import Catalog, Definition, DefinitionKind
from daybook.model.loading import LoadedWorkspace
from daybook.model.operation import OutputOperation, TableDestination
from daybook.model.project import Project
from daybook.model.resolver import CatalogStrategy, Resolver
from daybook.model.view import View
from daybook.resolve.checks import structural_errors
from daybook.store.records import ProjectInput, StoredColumnUsage


def find_project(workspace: LoadedWorkspace, name: str) -> Definition[Project]:
    """A project by its id or by the file that defines it."""
    projects = workspace.definitions["project"]
    if name in projects:
        return projects[name]
    path = Path(name)
    if path.is_file():
        there = [each for each in projects.values() if each.file and Path(each.file).resolve() == path.resolve()]
        if len(there) == 1:
            return there[0]
        if there:
            ids = ", ".join(each.id for each in there)
            raise DaybookError("RUN_001", project=name, hint=f"the file defines several: {ids}")
    raise DaybookError("RUN_001", project=name, hint=did_you_mean(name, tuple(projects)))


@dataclass(frozen=True, slots=True)
class ProjectReference:
    """`operation_seq` is 0 for the input."""

    dataset_id: str
    version: int | None
    operation_seq: int


def dataset_references(project: Project) -> Iterator[ProjectReference]:
    for path, reference in project.reads():
        seq = project.operations[int(path[1])].seq if path[0] == "operations" else 0
        yield ProjectReference(reference.dataset_id, reference.dataset_version, seq)


def validated_inputs(project: Project, catalog: Catalog) -> tuple[ProjectInput, ...]:
    """The version every reference of a project stands for right now; unknown datasets are left out."""
    inputs: dict[ProjectInput, None] = {}
    for reference in dataset_references(project):
        found = catalog.dataset(reference.dataset_id, reference.version)
        is_pinned = reference.version is not None
        while found is not None:
            inputs[ProjectInput(found.dataset.id, found.version, is_pinned)] = None
            is_pinned = is_pinned or (found.view is not None and found.view.of.dataset_version is not None)
            found = found.view.dataset if found.view is not None else None
    return tuple(sorted(inputs, key=lambda item: (item.dataset_id, item.version, item.is_pinned)))


def mark_pinned_usage(project: Project, uses: Iterable[tuple[int, str, str]]) -> tuple[StoredColumnUsage, ...]:
    """Uses as (operation seq, dataset, column), marked pinned when only pinned references can be meant.

    An operation uses the columns of the input and of its own joins and sources.
    """
    known = tuple(dataset_references(project))
    usage = []
    for seq, dataset_id, column in uses:
        meant = [item for item in known if item.dataset_id == dataset_id and item.operation_seq in (0, seq)]
        is_pinned = bool(meant) and all(item.version is not None for item in meant)
        usage.append(StoredColumnUsage(seq, dataset_id, column, is_pinned))
    return tuple(usage)


DefinitionKey = tuple[DefinitionKind, str]


def reachable_definitions(workspace: LoadedWorkspace, project_id: str) -> tuple[Definition[Any], ...]:
    """The project and every definition it leads to, default resolver included; unknown ids are left out."""
    found = _reached_keys(workspace, project_id)
    return tuple(definition for definition in workspace.all() if (definition.kind, definition.id) in found)


def load_project(workspace: LoadedWorkspace, name: str) -> tuple[Definition[Project], tuple[Notice, ...]]:
    """A project by its id or file, when everything it reaches is right; errors elsewhere are a notice.

    Raises all that is wrong with what it reaches, with files that should define it or what it refers to included.
    """
    try:
        definition = find_project(workspace, name)
    except DaybookError:
        path = Path(name).resolve()
        raise_all(
            error
            for file in workspace.broken
            if file.path.resolve() == path or file.may_define("project", name)
            for error in file.errors
        )
        raise
    raise_all(reached_errors(workspace, definition.id))
    others = files_with_errors(workspace)
    if not others:
        return definition, ()
    return definition, (notice("MODEL_087", files=", ".join(others), project=definition.id),)


def reached_errors(workspace: LoadedWorkspace, project_id: str) -> list[DaybookError]:
    """What is wrong with a project and everything it leads to, with files that should define some of it included."""
    reached = _reached_keys(workspace, project_id)
    missing = [key for key in reached if workspace.get(*key) is None]
    needed = [
        file
        for file in workspace.broken
        if file.may_define_default_resolver or any(file.may_define(*key) for key in missing)
    ]
    errors = [error for file in needed for error in file.errors]
    errors += [one for one in workspace.duplicates if (one.parameters["kind"], one.parameters["id"]) in reached]
    errors += structural_errors(workspace, reachable_definitions(workspace, project_id))
    return errors


def files_with_errors(workspace: LoadedWorkspace) -> tuple[str, ...]:
    """The files that do not hold what they should, in order."""
    found = {file.path.as_posix() for file in workspace.broken}
    found |= {one.span.file or "" for one in (*workspace.duplicates, *structural_errors(workspace)) if one.span}
    return tuple(sorted(found))


def _reached_keys(workspace: LoadedWorkspace, project_id: str) -> set[DefinitionKey]:
    """What a project leads to, defined or not."""
    found: set[DefinitionKey] = set()
    waiting: list[DefinitionKey] = [("project", project_id)]
    waiting += [("resolver", one.id) for one in workspace.definitions["resolver"].values() if one.model.is_default]
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            definition = workspace.get(*key)
            waiting += _referenced_definitions(definition.model) if definition is not None else []
    return found


def _referenced_definitions(model: object) -> list[DefinitionKey]:
    needs: list[DefinitionKey] = []
    match model:
        case Project():
            needs += [("dataset", reference.dataset_id) for _, reference in model.reads()]
            needs += [("resolver", resolver_id) for resolver_id in model.resolver_overrides.values()]
            if model.calendar_id is not None:
                needs.append(("calendar", model.calendar_id))
            for operation in model.operations:
                if isinstance(operation, OutputOperation):
                    if (registered := operation.arguments.registered_id) is not None:
                        needs.append(("dataset", registered))
                    destination = operation.arguments.destination
                    if isinstance(destination, TableDestination):
                        needs.append(("datasource", destination.datasource_id))
        case Dataset():
            if model.resolver_id is not None:
                needs.append(("resolver", model.resolver_id))
            if isinstance(location := model.main_table.location, TableLocation):
                needs.append(("datasource", location.datasource_id))
        case View():
            needs.append(("dataset", model.view.of))
        case Resolver():
            for rule in model.rules:
                if not isinstance(rule.strategy, CatalogStrategy):
                    needs.append(("datasource", rule.strategy.datasource_id))
        case _:
            pass
    return needs
