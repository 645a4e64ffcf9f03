"""What a project leads to in the files of a workspace."""

from collections.abc import Callable, Iterable
from typing import Any

from daybook.definitions.loading import LoadedWorkspace
from daybook.definitions.value import Definitions
from daybook.model.dataset import Dataset, TableLocation, View
from daybook.model.datasource import CatalogStrategy, Resolver
from daybook.model.definition import Definition, DefinitionKind
from daybook.model.operation import OutputOperation, TableDestination
from daybook.model.project import Project

DefinitionKey = tuple[DefinitionKind, str]


def reachable_definitions(workspace: LoadedWorkspace, *project_ids: str) -> tuple[Definition[Any], ...]:
    """The projects and every definition they lead to, default resolver included; unknown ids are left out."""
    reached = reached_keys(workspace, *project_ids)
    return tuple(definition for definition in workspace.all() if (definition.kind, definition.id) in reached)


def reached_keys(workspace: LoadedWorkspace, *project_ids: str) -> set[DefinitionKey]:
    """What projects lead to, defined or not."""
    begin: list[DefinitionKey] = [("project", project_id) for project_id in project_ids]
    begin += [
        ("resolver", resolver.id)
        for resolver in workspace.definitions["resolver"].values()
        if resolver.model.is_default
    ]

    def references(key: DefinitionKey) -> list[DefinitionKey]:
        definition = workspace.get(*key)
        return _referenced_definitions(definition.model) if definition is not None else []

    return follow_references(begin, references)


def stored_keys(stored: Definitions, projects: Iterable[Project]) -> set[DefinitionKey]:
    """What the texts of projects lead to among stored definitions, without the projects.

    A catalog answers with any data source, so that a resolver that asks one leads to all of them.
    """
    begin: list[DefinitionKey] = [("resolver", resolver_id) for resolver_id in stored.default_resolver_ids()]
    for project in projects:
        begin += _referenced_definitions(project)
        for _, reference in project.reads():
            begin += _references_of_version(stored, reference.dataset_id, reference.dataset_version)

    def references(key: DefinitionKey) -> list[DefinitionKey]:
        kind, identifier = key
        if kind == "resolver":
            version = stored.resolver(identifier)
            if version is None:
                return []
            asks_catalog = any(isinstance(rule.strategy, CatalogStrategy) for rule in version.resolver.rules)
            answers: list[DefinitionKey] = [("datasource", id_) for id_ in stored.datasources if asks_catalog]
            return [*_referenced_definitions(version.resolver), *answers]
        return _references_of_version(stored, identifier, None) if kind == "dataset" else []

    return follow_references(begin, references)


def _references_of_version(stored: Definitions, dataset_id: str, version: int | None) -> list[DefinitionKey]:
    """What the text of a version of a dataset names, the latest without one, and of the version that a view names."""
    declared = stored.declared(dataset_id, version)
    if declared is None:
        return []
    needs = _referenced_definitions(declared.dataset)
    if isinstance(declared.dataset, View) and declared.dataset.view.dataset_version is not None:
        needs += _references_of_version(stored, declared.dataset.view.of, declared.dataset.view.dataset_version)
    return needs


def follow_references(
    begin: Iterable[DefinitionKey], references: Callable[[DefinitionKey], Iterable[DefinitionKey]]
) -> set[DefinitionKey]:
    """Keys with everything that the definitions behind them refer to, and so on."""
    reached: set[DefinitionKey] = set()
    waiting = list(begin)
    while waiting:
        key = waiting.pop()
        if key not in reached:
            reached.add(key)
            waiting += references(key)
    return reached


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
