"""A catalog that also knows what the workspace's projects will register once they run."""

from typing import Literal

from daybook.errors import DaybookError
from daybook.model.calendar import Calendar
from daybook.model.catalog import Catalog, DatasetVersion, ResolverVersion
from daybook.model.dataset import ColumnDef, Dataset, MainTable, PathLocation, TableLocation
from daybook.model.datasource import DataSource
from daybook.model.definition import Definition
from daybook.model.loading import Workspace
from daybook.model.operation import LocationDestination, OutputOperation
from daybook.model.project import Project
from daybook.model.system_columns import SYSTEM_COLUMNS
from daybook.plan.plan import Plan
from daybook.plan.planning import plan_project
from daybook.plan.steps import OutputStep


class RegisteredCatalog:
    """Asks another catalog first; an unknown dataset is looked for among the outputs of projects."""

    def __init__(self, base: Catalog, workspace: Workspace) -> None:
        self._base = base
        self._makers = {
            operation.arguments.register_as_dataset: definition
            for definition in workspace.definitions["project"].values()
            for operation in definition.model.operations
            if isinstance(operation, OutputOperation) and operation.arguments.register_as_dataset
        }
        self._made: dict[str, Dataset | None] = {}

    def dataset(self, dataset_id: str, version: int | None = None) -> DatasetVersion | None:
        known = self._base.dataset(dataset_id, version)
        if known is not None or version is not None or dataset_id not in self._makers:
            return known
        if dataset_id not in self._made:
            # Two projects that read each other's outputs end here: the second finds nothing.
            self._made[dataset_id] = None
            self._made[dataset_id] = self._make(dataset_id, self._makers[dataset_id])
        made = self._made[dataset_id]
        return DatasetVersion(made, 1) if made is not None else None

    def dataset_versions(self, dataset_id: str) -> tuple[int, ...]:
        known = self._base.dataset_versions(dataset_id)
        return known or ((1,) if self.dataset(dataset_id) is not None else ())

    def datasource(self, datasource_id: str) -> DataSource | None:
        return self._base.datasource(datasource_id)

    def is_datasource_disabled(self, datasource_id: str) -> bool:
        return self._base.is_datasource_disabled(datasource_id)

    def resolver(self, resolver_id: str) -> ResolverVersion | None:
        return self._base.resolver(resolver_id)

    def default_resolver(self) -> ResolverVersion | None:
        return self._base.default_resolver()

    def calendar(self, calendar_id: str) -> Calendar | None:
        return self._base.calendar(calendar_id)

    def ids(self, kind: Literal["dataset", "datasource", "resolver", "calendar"]) -> tuple[str, ...]:
        return (*self._base.ids(kind), *(self._makers if kind == "dataset" else ()))

    def _make(self, dataset_id: str, maker: Definition[Project]) -> Dataset | None:
        try:
            plan = plan_project(maker.model, maker.source, self, with_places=False)
        except DaybookError:
            # Reported where the maker itself is checked.
            return None
        step = next(step for step in plan.outputs if step.arguments.register_as_dataset == dataset_id)
        return _registered(dataset_id, step, plan)


def _registered(dataset_id: str, step: OutputStep, plan: Plan) -> Dataset | None:
    """The dataset a run would register, as far as reading it goes."""
    columns = tuple(
        ColumnDef(name=name, type=type_) for name, type_ in step.columns.items() if name not in SYSTEM_COLUMNS
    )
    if not columns:
        return None
    destination = step.arguments.destination
    location: PathLocation | TableLocation
    if isinstance(destination, LocationDestination):
        name, location = dataset_id, destination.location
    else:
        name = destination.table
        location = TableLocation(datasource_id=destination.datasource_id, table=destination.table)
    mode = plan.input.version.dataset.main_table.temporal_mode
    table = MainTable(name=name, temporal_mode=mode, columns=columns, location=location)
    return Dataset(id=dataset_id, name=dataset_id, main_table=table)
