"""What an output is as a dataset: exactly its columns, and the input's way with time where it survives.

A catalog that also knows what the workspace's projects will register once they run.
"""

from collections.abc import Iterable
from typing import assert_never

from daybook.errors import DaybookError
from daybook.model.dataset import (
    ColumnDef,
    Dataset,
    MainTable,
    PathLocation,
    TableLocation,
    TemporalMode,
    check_main_table_name,
)
from daybook.model.definition import (
    Catalog,
    CatalogKind,
    CatalogLayer,
    DeclaredVersion,
    Definition,
)
from daybook.model.operation import LocationDestination, OutputOperation, TableDestination
from daybook.model.project import Project
from daybook.model.types import SYSTEM_COLUMNS
from daybook.plan.plan_cache import PlanCache
from daybook.plan.steps import OutputStep, Plan
from daybook.resolve.locations.template import template_tokens


def registered_columns(step: OutputStep) -> tuple[ColumnDef, ...]:
    return tuple(ColumnDef(name=name, type=type_) for name, type_ in step.columns.items() if name not in SYSTEM_COLUMNS)


def registered_temporal_mode(
    step: OutputStep, input_mode: TemporalMode | None, *, is_told_by_place: bool
) -> TemporalMode | None:
    """`is_told_by_place`: a slice of a table, or a path of its own, says which period rows belong to."""
    if input_mode == "bitemporal" and {"_valid_from", "_valid_to"} <= step.columns.keys():
        return "bitemporal"
    is_of_period = input_mode == "period" and (is_told_by_place or "_period" in step.columns)
    return "period" if is_of_period or _collects_slices(step) else None


def _collects_slices(step: OutputStep) -> bool:
    """Whether every period adds rows of its own: all slices together hold those of a timeless input many times."""
    is_table = isinstance(step.arguments.destination, TableDestination)
    return step.arguments.mode == "replace_period" or (is_table and step.arguments.mode in (None, "append"))


def registered_table_name(name: str) -> str:
    """A table's name, if a dataset may have it: expressions must be able to name it."""
    for found in check_main_table_name(name):
        raise DaybookError(found.code, hint=found.hint, **found.parameters)
    return name


class RegisteredCatalog(CatalogLayer):
    """Asks another catalog first; an unknown dataset is looked for among the outputs of projects."""

    def __init__(self, base: Catalog, projects: Iterable[Definition[Project]], plans: PlanCache) -> None:
        super().__init__(base)
        self._plans = plans
        self._makers = {
            operation.arguments.register_as_dataset: definition
            for definition in projects
            for operation in definition.model.operations
            if isinstance(operation, OutputOperation) and operation.arguments.register_as_dataset
        }
        self._made: dict[str, Dataset | None] = {}

    def declared(self, dataset_id: str, version: int | None = None) -> DeclaredVersion | None:
        known = super().declared(dataset_id, version)
        if known is not None or version is not None or dataset_id not in self._makers:
            return known
        if dataset_id not in self._made:
            # Two projects that read each other's outputs end here: the second finds nothing.
            self._made[dataset_id] = None
            self._made[dataset_id] = self._make(dataset_id, self._makers[dataset_id])
        made = self._made[dataset_id]
        return DeclaredVersion(made, 1) if made is not None else None

    def dataset_versions(self, dataset_id: str) -> tuple[int, ...]:
        known = super().dataset_versions(dataset_id)
        return known or ((1,) if self.declared(dataset_id) is not None else ())

    def ids(self, kind: CatalogKind) -> tuple[str, ...]:
        return (*self._base.ids(kind), *(self._makers if kind == "dataset" else ()))

    def _make(self, dataset_id: str, maker: Definition[Project]) -> Dataset | None:
        try:
            plan = self._plans.examine(maker, self).checked_plan(with_locations=False)
            step = next(step for step in plan.outputs if step.arguments.register_as_dataset == dataset_id)
            return _registered_dataset(dataset_id, step, plan)
        except DaybookError:
            # Reported where the maker itself is checked, or a warning of its run.
            return None


def _registered_dataset(dataset_id: str, step: OutputStep, plan: Plan) -> Dataset | None:
    """The dataset a run would register, as far as reading it goes."""
    columns = registered_columns(step)
    if not columns:
        return None
    destination = step.arguments.destination
    location: PathLocation | TableLocation
    match destination:
        case LocationDestination():
            name, location = dataset_id, destination.location
            is_told_by_place = bool(template_tokens(location.path) - {"table_name"})
        case TableDestination(datasource_id=datasource_id, table=name):
            location, is_told_by_place = TableLocation(datasource_id=datasource_id, table=name), True
        case _:
            assert_never(destination)
    mode = registered_temporal_mode(step, plan.input.temporal_mode, is_told_by_place=is_told_by_place)
    table = MainTable(name=registered_table_name(name), temporal_mode=mode, columns=columns, location=location)
    return Dataset(id=dataset_id, name=dataset_id, main_table=table)
