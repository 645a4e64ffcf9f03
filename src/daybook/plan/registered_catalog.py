"""A catalog that knows what the projects of a workspace will register once they run."""

from collections.abc import Iterable
from dataclasses import replace

from daybook.errors import DaybookError
from daybook.model.dataset import Dataset
from daybook.model.definition import Catalog, CatalogKind, CatalogLayer, DeclaredVersion, Definition
from daybook.model.operation import OutputOperation
from daybook.model.project import Project
from daybook.model.view import View
from daybook.plan.plan_cache import PlanCache
from daybook.plan.registration import fulfil_declaration, has_same_schema, registered_dataset


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
            # Two projects that read each other's outputs end here: the second finds what is registered, or nothing.
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
