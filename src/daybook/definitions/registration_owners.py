"""A dataset that is registered has one owner: readers of two tables under one name would jump between them."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from daybook.errors import DaybookError, Span
from daybook.model.definition import Definition
from daybook.model.operation import OutputOperation
from daybook.model.project import Project


@dataclass(frozen=True, slots=True)
class SharedRegistration:
    """Projects that register one name, by id; `spans` are where each of them writes it."""

    dataset_id: str
    spans: dict[str, Span | None]

    def error_at(self, project_id: str) -> DaybookError:
        others = ", ".join(other for other in self.spans if other != project_id)
        return DaybookError(
            "PROJECT_062", span=self.spans[project_id], dataset=self.dataset_id, project=project_id, others=others
        )


def shared_registrations(projects: Iterable[Definition[Project]]) -> Iterator[SharedRegistration]:
    """The names that more than one of the projects registers."""
    spans: dict[str, dict[str, Span | None]] = {}
    for definition in projects:
        for index, operation in enumerate(definition.model.operations):
            if isinstance(operation, OutputOperation) and (name := operation.arguments.registered_id) is not None:
                path = ("operations", index, "arguments", "register_as_dataset")
                spans.setdefault(name, {}).setdefault(definition.id, definition.source.span(*path))
    for name, by_project in spans.items():
        if len(by_project) > 1:
            yield SharedRegistration(name, by_project)


def owner_errors(projects: Iterable[Definition[Project]], checked: Collection[str]) -> Iterator[DaybookError]:
    """PROJECT_062 for each of the checked projects that registers what another one registers too."""
    for shared in shared_registrations(projects):
        yield from (shared.error_at(project_id) for project_id in shared.spans if project_id in checked)
