"""Projects written as YAML, planned against datasets written as YAML."""

import datetime
import textwrap
from collections.abc import Mapping
from typing import Any, Literal

from daybook.errors import DaybookError, flatten
from daybook.expression import Constants
from daybook.model.calendar import Period
from daybook.model.dataset import Dataset
from daybook.model.definition import CatalogKind, DatasetCatalog, DeclaredVersion
from daybook.model.loading.definitions import load_text
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


class Datasets(DatasetCatalog):
    """A catalog of datasets alone; several versions of one are given as a list."""

    def __init__(self, *texts: str, disabled: frozenset[str] = frozenset()) -> None:
        self._versions: dict[str, list[Dataset]] = {}
        self._disabled = disabled
        for text in texts:
            (definition,) = load_text(text, "datasets.yaml")
            self._versions.setdefault(definition.id, []).append(definition.model)

    def declared(self, dataset_id: str, version: int | None = None) -> DeclaredVersion | None:
        known = self._versions.get(dataset_id, [])
        number = len(known) if version is None else version
        if not 1 <= number <= len(known):
            return None
        status: Literal["active", "disabled"] = "disabled" if dataset_id in self._disabled else "active"
        return DeclaredVersion(known[number - 1], number, status)

    def dataset_versions(self, dataset_id: str) -> tuple[int, ...]:
        return tuple(range(1, len(self._versions.get(dataset_id, [])) + 1))

    def ids(self, kind: CatalogKind) -> tuple[str, ...]:
        return tuple(self._versions) if kind == "dataset" else ()


WORLD = Datasets(ORDERS, CUSTOMERS, BUDGET)


def plan_of(operations: str, *, catalog: Datasets = WORLD, head: str = "", with_locations: bool = False) -> Plan:
    """The plan of a project over orders with these operations."""
    (definition,) = load_text(project_text(operations, head), "project.yaml")
    return plan_project(definition.model, definition.source, catalog, CONSTANTS, with_locations=with_locations)


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
