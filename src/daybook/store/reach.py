"""What a project needs of its workspace."""

from typing import Any

from daybook.model.dataset import Dataset, TableLocation
from daybook.model.definition import Definition, Kind
from daybook.model.loading import Workspace
from daybook.model.operation import OutputOperation, TableDestination
from daybook.model.project import Project
from daybook.model.resolver import CatalogStrategy, Resolver


def reachable(workspace: Workspace, project_id: str) -> tuple[Definition[Any], ...]:
    """The project and every definition it leads to, default resolver included; unknown ids are left out."""
    found: dict[tuple[Kind, str], Definition[Any]] = {}
    waiting: list[tuple[Kind, str]] = [("project", project_id)]
    waiting += [("resolver", one.id) for one in workspace.definitions["resolver"].values() if one.model.is_default]
    while waiting:
        key = waiting.pop()
        definition = workspace.get(*key)
        if definition is not None and key not in found:
            found[key] = definition
            waiting += _needs(definition.model)
    return tuple(definition for definition in workspace.all() if (definition.kind, definition.id) in found)


def _needs(model: object) -> list[tuple[Kind, str]]:
    needs: list[tuple[Kind, str]] = []
    match model:
        case Project():
            needs += [("dataset", reference.dataset_id) for _, reference in model.reads()]
            needs += [("resolver", resolver_id) for resolver_id in model.resolver_overrides.values()]
            if model.calendar_id is not None:
                needs.append(("calendar", model.calendar_id))
            for operation in model.operations:
                if isinstance(operation, OutputOperation):
                    destination = operation.arguments.destination
                    if isinstance(destination, TableDestination):
                        needs.append(("datasource", destination.datasource_id))
        case Dataset():
            if model.resolver_id is not None:
                needs.append(("resolver", model.resolver_id))
            if isinstance(location := model.main_table.location, TableLocation):
                needs.append(("datasource", location.datasource_id))
        case Resolver():
            for rule in model.rules:
                if not isinstance(rule.strategy, CatalogStrategy):
                    needs.append(("datasource", rule.strategy.datasource_id))
        case _:
            pass
    return needs
