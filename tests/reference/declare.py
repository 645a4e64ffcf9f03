"""A generated project as a user would write it."""

import json
from typing import Any

from daybook.definitions.loading.definition_texts import load_text
from daybook.model.project import Project
from daybook.model.types import value_text
from daybook.recompute.tree import Node
from tests.reference.generated import GeneratedProject
from tests.reference.operations import Append, Delete, Operation, Output, Summarise, Table, Update

Declared = dict[str, Any]


def dataset(table: Table) -> Declared:
    columns = [
        {"name": name, "type": str(type_), "nullable": name not in table.required}
        for name, type_ in table.columns.items()
    ]
    main_table: Declared = {"name": table.name, "columns": columns}
    if table.temporal_mode:
        main_table["temporal_mode"] = table.temporal_mode
    declared: Declared = {"id": table.dataset_id, "name": table.dataset_id, "main_table": main_table}
    if table.natural_key:
        declared["natural_key_columns"] = list(table.natural_key)
    return declared


def project(generated: GeneratedProject) -> Declared:
    return {
        "id": f"project-{generated.seed}",
        "name": "Generated",
        "input": {"dataset_id": generated.input.dataset_id},
        "selectors": {name: str(selector) for name, selector in generated.selectors.items()},
        "expressions": {name: str(expression) for name, expression in generated.expressions.items()},
        "parameters": {
            each.name: {"type": str(each.type), "default": value_text(each.given)} for each in generated.parameters
        },
        "operations": [operation(each) for each in generated.operations],
    }


def project_model(generated: GeneratedProject) -> Project:
    (definition,) = load_text(json.dumps({"project": project(generated)}), "project.json")
    model = definition.model
    assert isinstance(model, Project)
    return model


def operation(each: Operation) -> Declared:
    declared: Declared = {"id": f"op-{each.seq}", "seq": each.seq, "name": f"Step {each.seq}"}
    if not isinstance(each, Append) and each.selector is not None:
        declared["selector"] = str(each.selector)
    match each:
        case Update():
            arguments: Declared = {"assignments": _named(each.assignments)}
            if each.joins:
                arguments["joins"] = [
                    {"alias": join.alias, "dataset_id": join.table.dataset_id, "on": str(join.on)}
                    for join in each.joins
                ]
            return declared | {"type": "update", "arguments": arguments}
        case Summarise():
            arguments = {"group_by": list(each.group_by), "aggregations": _named(each.aggregations)}
            return declared | {"type": "aggregate", "arguments": arguments}
        case Append():
            return declared | {"type": "append", "arguments": _append(each)}
        case Delete():
            return declared | {"type": "delete"}
        case Output():
            return declared | {"type": "output", "arguments": _output(each)}


def _named(values: Any) -> list[Declared]:
    named: list[tuple[str, Node]] = list(values)
    return [{"column": column, "expression": str(expression)} for column, expression in named]


def _append(each: Append) -> Declared:
    arguments: Declared = {"source": {"dataset_id": each.source.dataset_id}}
    if each.source_selector is not None:
        arguments["source_selector"] = str(each.source_selector)
    if each.columns:
        arguments["columns"] = {column: str(expression) for column, expression in each.columns}
    if each.aggregations:
        arguments["aggregation"] = {"group_by": list(each.group_by), "aggregations": _named(each.aggregations)}
    return arguments


def _output(each: Output) -> Declared:
    arguments: Declared = {"destination": {"datasource_id": "warehouse", "table": f"result_{each.seq}"}}
    if each.columns is not None:
        arguments["columns"] = list(each.columns)
    if each.include_deleted:
        arguments["include_deleted"] = True
    if not each.system_columns:
        arguments["system_columns"] = False
    return arguments
