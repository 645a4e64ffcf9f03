"""Caches plans, and the catalog of what projects will register after they run.

A plan is used again as long as its catalog answers as it did when the plan was made.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from daybook.errors import DaybookError
from daybook.expression import Constants
from daybook.model.calendar import Calendar
from daybook.model.dataset import Dataset, View
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
from daybook.model.operation import OutputOperation
from daybook.model.project import Project
from daybook.plan.plan_project import ExaminedProject, examine_project
from daybook.plan.references import fulfil_declaration, has_same_schema, registered_dataset
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
    """The plans of one command, used again by validation, run and further periods."""

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


class RegisteringProjects(CatalogLayer):
    """The datasets of another catalog, and which project registers which."""

    def __init__(self, base: Catalog, projects: Iterable[Definition[Project]]) -> None:
        super().__init__(base)
        self._makers = {
            operation.arguments.registered_id: definition
            for definition in projects
            for operation in definition.model.operations
            if isinstance(operation, OutputOperation) and operation.arguments.registered_id
        }

    def registering_project(self, dataset_id: str) -> str | None:
        maker = self._makers.get(dataset_id)
        return maker.id if maker is not None else super().registering_project(dataset_id)


class RegisteredCatalog(RegisteringProjects):
    """Datasets as they will be once the projects have run as they are written now.

    What a file declares stays as it is declared; a pinned version is what was registered then. `seen` is the catalog
    that the projects are planned with, by default this one.
    """

    def __init__(
        self, base: Catalog, projects: Iterable[Definition[Project]], plans: PlanCache, seen: Catalog | None = None
    ) -> None:
        wanted = tuple(projects)
        super().__init__(base, wanted)
        self._plans = plans
        self._planner = self if seen is None else RegisteredCatalog(seen, wanted, plans)
        self._made: dict[str, Dataset | None] = {}

    def declared(self, dataset_id: str, version: int | None = None) -> DeclaredVersion | None:
        known = super().declared(dataset_id, version)
        if version is not None or dataset_id not in self._makers or (known is not None and _is_final(known)):
            return known
        made = self._planner.make(dataset_id)
        if made is None:
            return known
        if known is None:
            return DeclaredVersion(made, 1)
        if isinstance(known.contract, Dataset) and isinstance(known.dataset, Dataset) and known.status == "active":
            # The location that the file leaves open is where the output will write.
            return replace(known, dataset=fulfil_declaration(known.dataset, made))
        if has_same_schema(known.dataset, made) and known.status == "active":
            return known
        return DeclaredVersion(made, known.version + 1)

    def dataset_versions(self, dataset_id: str) -> tuple[int, ...]:
        known = super().dataset_versions(dataset_id)
        return known or ((1,) if self.declared(dataset_id) is not None else ())

    def ids(self, kind: CatalogKind) -> tuple[str, ...]:
        return (*self._base.ids(kind), *(self._makers if kind == "dataset" else ()))

    def is_changed(self, dataset_id: str) -> bool:
        """Whether readers of a dataset will see it otherwise than now."""
        return dataset_id in self._makers and self.declared(dataset_id) != self._base.declared(dataset_id)

    def make(self, dataset_id: str) -> Dataset | None:
        """What the project that registers a dataset will register; None while that project has errors."""
        if dataset_id not in self._made:
            # The recursion of two projects that read each other's outputs ends here: the second finds what is
            # registered, or nothing.
            self._made[dataset_id] = None
            self._made[dataset_id] = self._plan(dataset_id, self._makers[dataset_id])
        return self._made[dataset_id]

    def _plan(self, dataset_id: str, maker: Definition[Project]) -> Dataset | None:
        try:
            plan = self._plans.examine(maker, self).checked_plan(with_locations=False)
            step = next(step for step in plan.outputs if step.arguments.registered_id == dataset_id)
            return registered_dataset(plan, step)
        except DaybookError:
            # Reported where the maker itself is checked.
            return None


def _is_final(known: DeclaredVersion) -> bool:
    """Whether a run changes nothing of it: a file declares it, with where its data is."""
    if isinstance(known.dataset, View):
        return True
    is_found = known.dataset.resolver_id is not None or known.dataset.main_table.location is not None
    return is_found and known.contract is not None and known.status == "active"
