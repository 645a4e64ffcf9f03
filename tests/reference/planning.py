"""Generated projects handed to the planner; the one place here that meets the product's own planning."""

import datetime
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from daybook.definitions.loading.definition_texts import load_text
from daybook.definitions.value import DatasetVersions, Definitions
from daybook.expression import Constants
from daybook.model.calendar import Period
from daybook.model.definition import DeclaredVersion
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


def table_definitions(tables: Sequence[Table]) -> Definitions:
    """The datasets of one project and nothing else."""
    return Definitions(
        {table.dataset_id: DatasetVersions.only(DeclaredVersion(_dataset(table), 1)) for table in tables}
    )


def _dataset(table: Table) -> Any:
    (definition,) = load_text(json.dumps({"dataset": declare.dataset(table)}), "dataset.json")
    return definition.model


def planned(generated: GeneratedProject) -> Plan:
    (definition,) = load_text(json.dumps({"project": declare.project(generated)}), "project.json")
    definitions = table_definitions([generated.input, *generated.others])
    values = parameter_values(definition.id, definition.model.parameters, {})
    constants = replace(CONSTANTS, parameters=values)
    return plan_project(definition.model, definition.source, definitions, constants, with_locations=False)
