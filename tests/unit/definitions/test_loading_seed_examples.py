"""The examples of the seeds load as they are written there."""

import json
import textwrap
from pathlib import Path
from typing import Any

from daybook.definitions.loading import load_text
from daybook.model.operation import (
    AggregateOperation,
    AppendOperation,
    DeleteOperation,
    OutputOperation,
    TableDestination,
    UpdateOperation,
)
from daybook.model.project import Project

SEEDS = Path(__file__).parents[2] / "golden" / "seeds"


def project_with(operations: str, *, selectors: str = "{}") -> Project:
    """A project around the text of its operations, read as a file would be."""
    text = (
        "project:\n  name: Seed\n  input: {dataset_id: orders}\n"
        f"  selectors: {selectors}\n  operations:\n{textwrap.indent(operations, '    ')}"
    )
    (definition,) = load_text(text, "seed.yaml")
    model = definition.model
    assert isinstance(model, Project)
    return model


def item(mapping: str) -> str:
    """The text of a mapping as an item of a list."""
    return "- " + textwrap.indent(mapping, "  ").lstrip()


def seed(name: str) -> str:
    return (SEEDS / name).read_text(encoding="utf-8")


def test_annotated_example_of_the_operation_entity() -> None:
    project = project_with(
        seed("operation-entity.operations.yaml"), selectors="""{active_orders: 'orders.status = "active"'}"""
    )
    tag, enrich, totals, remove, write = project.operations
    assert [operation.id for operation in project.operations] == ["op-001", "op-002", "op-003", "op-004", "op-005"]
    assert [operation.seq for operation in project.operations] == [1, 2, 3, 4, 5]

    assert isinstance(tag, UpdateOperation)
    assert tag.selector == 'orders.region = "EMEA"'
    assert tag.arguments.assignments[0].expression == 'CONCAT(_labels, "{region:EMEA}")'

    assert isinstance(enrich, UpdateOperation)
    (join,) = enrich.arguments.joins
    assert (join.alias, join.dataset_id) == ("customers", "d5e6f7g8-0000-0000-0000-000000000010")
    assert join.on == "orders.customer_id = customers.id"
    assert enrich.selector == "{{active_orders}}"

    assert isinstance(totals, AggregateOperation)
    assert totals.arguments.group_by == ("orders._period", "orders.region")
    assert [one.column for one in totals.arguments.aggregations] == ["total_sales", "order_count"]

    assert isinstance(remove, DeleteOperation)
    assert remove.selector == "orders.amount = 0"

    assert isinstance(write, OutputOperation)
    assert write.arguments.destination == TableDestination(datasource_id="ds-warehouse", table="processed_orders")
    assert write.arguments.include_deleted is False


def test_append_in_yaml() -> None:
    (operation,) = project_with(item(seed("append.operation.yaml"))).operations
    assert isinstance(operation, AppendOperation)
    assert operation.id == "op-1"
    assert operation.name == "append 1"
    assert operation.arguments.source.dataset_id == "550e8400-e29b-41d4-a716-446655440000"
    assert operation.arguments.source.dataset_version == 3
    assert operation.arguments.source_selector == "budget_type = 'original'"
    assert operation.arguments.aggregation is not None
    assert operation.arguments.aggregation.group_by == ("account_code", "cost_center_code")


def test_append_in_json() -> None:
    operation = json.loads(seed("append.operation.json"))
    body = {"project": {"name": "Seed", "input": {"dataset_id": "orders"}, "operations": [operation]}}
    (definition,) = load_text(json.dumps(body), "seed.json")
    (append,) = definition.model.operations
    assert isinstance(append, AppendOperation)
    assert append.arguments.source_selector == "amount > 10000"


def test_parts_of_append() -> None:
    source, selector = seed("append.source.yaml"), seed("append.source-selector.yaml")
    arguments = f"{source}{selector}{seed('append.aggregation.yaml')}"
    (whole,) = project_with(f"- type: append\n  arguments:\n{textwrap.indent(arguments, '    ')}").operations
    assert isinstance(whole, AppendOperation)
    assert whole.arguments.source.dataset_version == 2
    assert whole.arguments.source_selector == "budget_type = 'original' AND fiscal_year = 2026"
    assert whole.arguments.aggregation is not None
    assert [one.expression for one in whole.arguments.aggregation.aggregations] == [
        "SUM(amount)",
        "COUNT(*)",
        "AVG(amount)",
    ]


def test_list_of_aggregations() -> None:
    aggregations = textwrap.indent(seed("append.aggregations.yaml"), "      ")
    (operation,) = project_with(
        f"- type: aggregate\n  arguments:\n    group_by: [account_code]\n    aggregations:\n{aggregations}"
    ).operations
    assert isinstance(operation, AggregateOperation)
    assert len(operation.arguments.aggregations) == 3


def test_update_with_a_new_column() -> None:
    arguments = textwrap.indent(seed("update.assignments.yaml"), "    ")
    (operation,) = project_with(f"- type: update\n  arguments:\n{arguments}").operations
    assert isinstance(operation, UpdateOperation)
    assert operation.arguments.assignments[0].expression == "0.1"


def test_aggregate_of_the_seed() -> None:
    aggregations: list[dict[str, Any]] = [
        {"column": "total_amount", "expression": "SUM(amount)"},
        {"column": "order_count", "expression": "COUNT(*)"},
    ]
    body = {"type": "aggregate", "arguments": {"group_by": ["account_type", "_period"], "aggregations": aggregations}}
    (operation,) = project_with(f"- {json.dumps(body)}\n").operations
    assert isinstance(operation, AggregateOperation)
    assert operation.arguments.group_by == ("account_type", "_period")


def test_output_with_columns_of_the_seed() -> None:
    (operation,) = project_with(
        "- type: output\n"
        "  arguments:\n"
        "    destination: {location: out.parquet}\n"
        "    columns: [journal_id, account_code, amount_local, amount_reporting]\n"
    ).operations
    assert isinstance(operation, OutputOperation)
    assert operation.arguments.columns == ("journal_id", "account_code", "amount_local", "amount_reporting")
