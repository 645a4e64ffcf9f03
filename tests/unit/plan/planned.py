"""Projects written as YAML, planned against datasets written as YAML."""

import datetime
import textwrap
from collections.abc import Mapping
from typing import Any, Literal

from daybook.definitions.deferred import Deferred
from daybook.definitions.loading.definition_texts import load_text
from daybook.definitions.value import DatasetVersions, Definitions
from daybook.errors import DaybookError, flatten
from daybook.expression import Constants
from daybook.model.calendar import Period
from daybook.model.dataset import Dataset
from daybook.model.definition import DeclaredVersion
from daybook.plan.plan_project import plan_project
from daybook.plan.steps import Plan

JANUARY = Period("2026-01", "month", datetime.date(2026, 1, 1), datetime.date(2026, 1, 31))
TIMESTAMP = datetime.datetime(2026, 2, 2, 9, 30, tzinfo=datetime.UTC)
CONSTANTS = Constants(TIMESTAMP, JANUARY)

ORDERS = """
dataset:
  id: orders
  name: Orders
  main_table:
    name: orders
    temporal_mode: period
    columns:
      - {name: order_id, type: string, nullable: false}
      - {name: customer_id, type: string}
      - {name: region, type: string}
      - {name: status, type: string}
      - {name: amount, type: "decimal(18,2)"}
      - {name: quantity, type: integer}
      - {name: day, type: date}
"""
CUSTOMERS = """
dataset:
  id: customers
  name: Customers
  main_table:
    name: customers
    columns:
      - {name: id, type: string, nullable: false}
      - {name: tier, type: string}
      - {name: discount, type: "decimal(5,4)"}
"""
BUDGET = """
dataset:
  id: budget
  name: Budget
  main_table:
    name: budget
    temporal_mode: period
    columns:
      - {name: region, type: string}
      - {name: amount, type: "decimal(20,4)"}
      - {name: quantity, type: integer}
"""


def datasets(*texts: str, disabled: frozenset[str] = frozenset()) -> Definitions:
    """Datasets alone; several versions of one are given in order."""
    models: dict[str, list[Dataset]] = {}
    for text in texts:
        (definition,) = load_text(text, "datasets.yaml")
        models.setdefault(definition.id, []).append(definition.model)
    return Definitions({id_: _versions(versions, is_disabled=id_ in disabled) for id_, versions in models.items()})


def _versions(models: list[Dataset], *, is_disabled: bool) -> DatasetVersions:
    status: Literal["active", "disabled"] = "disabled" if is_disabled else "active"
    numbered = {number: Deferred.of(DeclaredVersion(model, number, status)) for number, model in enumerate(models, 1)}
    return DatasetVersions(Deferred.of(DeclaredVersion(models[-1], len(models), status)), numbered, status)


WORLD = datasets(ORDERS, CUSTOMERS, BUDGET)


def plan_of(operations: str, *, definitions: Definitions = WORLD, head: str = "", with_locations: bool = False) -> Plan:
    """The plan of a project over orders with these operations."""
    (definition,) = load_text(project_text(operations, head), "project.yaml")
    return plan_project(definition.model, definition.source, definitions, CONSTANTS, with_locations=with_locations)


def project_text(operations: str, head: str = "") -> str:
    text = "project:\n  id: p\n  name: P\n  input: {dataset_id: orders}\n"
    text += textwrap.indent(textwrap.dedent(head), "  ")
    return text + "  operations:\n" + textwrap.indent(textwrap.dedent(operations).strip("\n"), "  ") + "\n"


def findings(operations: str, **options: Any) -> list[DaybookError]:
    """What is wrong with a project."""
    try:
        plan_of(operations, **options)
    except DaybookError as error:
        return list(flatten(error))
    return []


def codes(operations: str, **options: Any) -> list[str]:
    return [error.code for error in findings(operations, **options)]


def types(schema: Mapping[str, object]) -> dict[str, str]:
    return {name: str(column_type) for name, column_type in schema.items()}


OUTPUT = "- {type: output, arguments: {destination: {location: out.csv}}}\n"
UPDATE = "- {type: update, selector: '%s', arguments: {assignments: [{column: x, expression: '%s'}]}}\n"
DELETE = "- {type: delete, selector: '%s'}\n"


def join(on: str = "customer_id = c.id", alias: str = "c", dataset: str = "customers", more: str = "") -> str:
    return (
        f"- {{type: update, arguments: {{joins: [{{alias: {alias}, dataset_id: {dataset}{more}, on: '{on}'}}], "
        f"assignments: [{{column: x, expression: {alias}.tier}}]}}}}\n"
    )


def aggregate(
    group_by: str = "[region]", column: str = "x", expression: str = "SUM(amount)", selector: str = ""
) -> str:
    picked = f"selector: '{selector}', " if selector else ""
    return (
        f"- {{type: aggregate, {picked}arguments: {{group_by: {group_by}, "
        f"aggregations: [{{column: {column}, expression: '{expression}'}}]}}}}\n"
    )


def append(dataset: str = "budget", more: str = "") -> str:
    return f"- {{type: append, arguments: {{source: {{dataset_id: {dataset}}}{more}}}}}\n"


def output(more: str = "", selector: str = "") -> str:
    picked = f"selector: '{selector}', " if selector else ""
    return f"- {{type: output, {picked}arguments: {{destination: {{location: out.csv}}{more}}}}}\n"
