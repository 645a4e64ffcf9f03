"""Generated projects handed to the planner; the one place here that meets the product's own planning."""

import datetime
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from daybook.expression import Constants
from daybook.model.calendar import Period
from daybook.model.definition import CatalogKind, DatasetCatalog, DeclaredVersion
from daybook.model.loading.definitions import load_text
from daybook.model.parameter import parameter_values
from daybook.plan.plan_project import plan_project
from daybook.plan.steps import Plan
from tests.reference import declare
from tests.reference.evaluate import RUN_TIMESTAMP
from tests.reference.generated import GeneratedProject
from tests.reference.operations import Table

CONSTANTS = Constants(
    timestamp=RUN_TIMESTAMP,
    period=Period("2026-01", "month", datetime.date(2026, 1, 1), datetime.date(2026, 1, 31)),
)


class TableCatalog(DatasetCatalog):
    """Knows the datasets of one project and nothing else."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self._datasets = {table.dataset_id: DeclaredVersion(_dataset(table), 1) for table in tables}

    def declared(self, dataset_id: str, version: int | None = None) -> DeclaredVersion | None:
        return self._datasets.get(dataset_id) if version in (None, 1) else None

    def dataset_versions(self, dataset_id: str) -> tuple[int, ...]:
        return (1,) if dataset_id in self._datasets else ()

    def ids(self, kind: CatalogKind) -> tuple[str, ...]:
        return tuple(self._datasets) if kind == "dataset" else ()


def _dataset(table: Table) -> Any:
    (definition,) = load_text(json.dumps({"dataset": declare.dataset(table)}), "dataset.json")
    return definition.model


def planned(generated: GeneratedProject) -> Plan:
    (definition,) = load_text(json.dumps({"project": declare.project(generated)}), "project.json")
    catalog = TableCatalog([generated.input, *generated.others])
    values = parameter_values(definition.id, definition.model.parameters, {})
    constants = replace(CONSTANTS, parameters=values)
    return plan_project(definition.model, definition.source, catalog, constants, with_locations=False)
