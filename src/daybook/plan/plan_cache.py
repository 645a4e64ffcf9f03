"""Plans that are made once: a plan is used again as long as its catalog answers as it did when the plan was made."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

from daybook.expression import Constants
from daybook.model.calendar import Calendar
from daybook.model.datasource import DataSource
from daybook.model.definition import (
    Catalog,
    CatalogKind,
    CatalogLayer,
    DatasetVersion,
    DeclaredVersion,
    Definition,
    ResolverVersion,
)
from daybook.model.project import Project
from daybook.plan.plan_project import ExaminedProject, examine_project
from daybook.plan.steps import Plan

# The name of the question and its arguments.
Question = tuple[Hashable, ...]


class RecordingCatalog(CatalogLayer):
    """Remembers what was asked and what the answer was."""

    def __init__(self, base: Catalog) -> None:
        super().__init__(base)
        self.answers: dict[Question, Any] = {}

    def dataset(self, dataset_id: str, version: int | None = None) -> DatasetVersion | None:
        found: DatasetVersion | None = self._ask("dataset", dataset_id, version)
        return found

    def declared(self, dataset_id: str, version: int | None = None) -> DeclaredVersion | None:
        found: DeclaredVersion | None = self._ask("declared", dataset_id, version)
        return found

    def dataset_versions(self, dataset_id: str) -> tuple[int, ...]:
        found: tuple[int, ...] = self._ask("dataset_versions", dataset_id)
        return found

    def datasource(self, datasource_id: str) -> DataSource | None:
        found: DataSource | None = self._ask("datasource", datasource_id)
        return found

    def is_datasource_disabled(self, datasource_id: str) -> bool:
        found: bool = self._ask("is_datasource_disabled", datasource_id)
        return found

    def resolver(self, resolver_id: str) -> ResolverVersion | None:
        found: ResolverVersion | None = self._ask("resolver", resolver_id)
        return found

    def default_resolver(self) -> ResolverVersion | None:
        found: ResolverVersion | None = self._ask("default_resolver")
        return found

    def calendar(self, calendar_id: str) -> Calendar | None:
        found: Calendar | None = self._ask("calendar", calendar_id)
        return found

    def registering_project(self, dataset_id: str) -> str | None:
        found: str | None = self._ask("registering_project", dataset_id)
        return found

    def ids(self, kind: CatalogKind) -> tuple[str, ...]:
        found: tuple[str, ...] = self._ask("ids", kind)
        return found

    def _ask(self, name: str, *arguments: Hashable) -> Any:
        question = (name, *arguments)
        if question not in self.answers:
            self.answers[question] = _answer(self._base, question)
        return self.answers[question]


def _answer(catalog: Catalog, question: Question) -> Any:
    name, *arguments = question
    return getattr(catalog, str(name))(*arguments)


@dataclass(frozen=True, slots=True)
class _MadePlan:
    definition: Definition[Project]
    answers: dict[Question, Any]
    examined: ExaminedProject

    def is_of(self, definition: Definition[Project], catalog: Catalog) -> bool:
        return (
            self.definition.model == definition.model
            and (self.definition.source.file, self.definition.source.text)
            == (definition.source.file, definition.source.text)
            and all(_answer(catalog, question) == answer for question, answer in self.answers.items())
        )


class PlanCache:
    """The plans that were made while a command works, for whoever needs them next: validation, run, next period."""

    def __init__(self) -> None:
        self._made: dict[str, list[_MadePlan]] = {}

    def examine(self, definition: Definition[Project], catalog: Catalog) -> ExaminedProject:
        known = self._made.setdefault(definition.id, [])
        for made in reversed(known):
            if made.is_of(definition, catalog):
                return made.examined
        recording = RecordingCatalog(catalog)
        examined = examine_project(definition.model, definition.source, recording)
        known.append(_MadePlan(definition, recording.answers, examined))
        return examined

    def plan(self, definition: Definition[Project], catalog: Catalog, constants: Constants | None = None) -> Plan:
        """The plan of a project, or all that is wrong with it; one plan serves every period."""
        return replace(self.examine(definition, catalog).checked_plan(), constants=constants)
