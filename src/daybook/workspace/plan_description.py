"""Describes a plan as data and as text."""

from collections.abc import Iterator, Mapping
from typing import Any, assert_never

from daybook.errors import DaybookError
from daybook.expression import CompiledExpression, Constants, cast_sql
from daybook.model.operation import TableDestination
from daybook.model.project import target_name
from daybook.model.types import ColumnType
from daybook.plan.loads import INPUT_KEY
from daybook.plan.steps import (
    AggregateStep,
    AppendStep,
    CheckStep,
    ComputedColumn,
    DeleteStep,
    LoadStep,
    OutputStep,
    Plan,
    Schema,
    Step,
    UpdateStep,
)
from daybook.resolve.paths import render_template


def describe_plan(plan: Plan, constants: Constants) -> dict[str, Any]:
    """The plan as data that JSON can hold; `constants` stand in for the run's timestamp and period in the SQL."""
    return {
        "project": plan.project.id,
        "loads": [_describe_load(load) for load in plan.loads],
        "operations": [_describe_step(plan, step, constants) for step in plan.steps],
        "columns": _type_names(plan.types),
        "usage": [
            {"operation": column_use.operation_seq, "dataset": column_use.dataset_id, "column": column_use.column}
            for column_use in plan.usage
        ],
        "notices": [
            {"code": warning.code, "message": warning.message, "operation": warning.operation_seq}
            for warning in plan.notices
        ],
        "accepted": plan.accepted,
    }


def explain_plan(plan: Plan, constants: Constants) -> str:
    """The plan as text, one block a step; the columns of a step are shown where they differ from those before."""
    return "\n".join(_plan_lines(plan, constants))


def _plan_lines(plan: Plan, constants: Constants) -> Iterator[str]:
    data = describe_plan(plan, constants)
    yield f"project {data['project']}"
    before: dict[str, str] = {}
    for load in data["loads"]:
        mode = f", {load['temporal_mode']}" if load["temporal_mode"] else ""
        yield f"  read {load['dataset']} version {load['version']} ({load['table']}{mode}), {_load_purpose(load)}"
        if load["key"] == INPUT_KEY:
            before = load["columns"]
            yield from (f"    {name} {kind}" for name, kind in before.items())
    for step in data["operations"]:
        yield ""
        yield f"{step['seq']} {step['type']}: {step['name']}"
        yield from (f"  {line}" for line in _step_lines(step))
        for name, kind in step["columns"].items():
            if before.get(name) != kind:
                yield f"  -> {name} {kind}"
        before = step["columns"]


def _load_purpose(load: Mapping[str, Any]) -> str:
    """What a table is read for; a join under the name that expressions know it by."""
    match load["role"]:
        case "join":
            return f"joined as {load['alias']} in {load['operation']}"
        case "append":
            return f"appended in {load['operation']}"
        case _:
            return "the input"


def _step_lines(step: Mapping[str, Any]) -> Iterator[str]:
    if source := step.get("source"):
        yield f"from {source}"
    for join in step.get("joins", ()):
        yield f"join {join['dataset']} as {join['alias']} on {join['sql']}"
    if selector := step.get("selector"):
        yield f"where {selector['sql']}"
    if group_by := step.get("group_by"):
        yield f"group by {', '.join(group_by)}"
    if condition := step.get("condition"):
        yield f"must hold: {condition['sql']}"
    for value in step.get("values", ()):
        yield f"{value['column']} {value['type']} = {value['sql']}"
    if "destination" in step:
        yield f"to {step['destination']}: {', '.join(step['output'])}"
        if step["order_by"]:
            yield f"order by {', '.join(step['order_by'])}"


def _describe_load(load: LoadStep) -> dict[str, Any]:
    return {
        "key": load.key,
        "role": load.role,
        "operation": load.operation_seq or None,
        "alias": load.alias,
        "dataset": load.dataset_id,
        "version": load.version.version,
        "table": load.table,
        "temporal_mode": load.temporal_mode,
        "columns": _type_names(load.types),
    }


def _describe_step(plan: Plan, step: Step, constants: Constants) -> dict[str, Any]:
    data: dict[str, Any] = {"seq": step.seq, "id": step.operation_id, "name": step.name}
    selector = step.source_selector if isinstance(step, AppendStep) else step.selector
    if selector:
        data["selector"] = _describe_expression(selector, constants)
    match step:
        case UpdateStep():
            joins = [
                {
                    "alias": join.alias,
                    "load": join.load_key,
                    "dataset": plan.load(join.load_key).dataset_id,
                    "columns": list(join.columns),
                    **_describe_expression(join.on, constants),
                }
                for join in step.joins
            ]
            data |= {
                "type": "update",
                "joins": joins,
                "values": [_describe_value(value, constants) for value in step.assignments],
            }
        case AggregateStep():
            values = [_describe_value(value, constants) for value in step.aggregations]
            data |= {"type": "aggregate", "group_by": list(step.group_by), "values": values}
        case AppendStep():
            values = [_describe_value(value, constants) for value in (*step.aggregations, *step.mapped)]
            source = plan.load(step.load_key).dataset_id
            data |= {"type": "append", "source": source, "group_by": list(step.group_by), "values": values}
        case DeleteStep():
            data |= {"type": "delete"}
        case CheckStep():
            data |= {"type": "check", "condition": _describe_expression(step.condition, constants)}
        case OutputStep():
            data |= {
                "type": "output",
                "destination": _destination_name(plan, step, constants),
                "output": _type_names(step.columns),
                "order_by": list(step.order_by),
                "include_deleted": step.arguments.include_deleted,
            }
        case _:
            assert_never(step)
    return {**data, "columns": _type_names(step.schema)}


def _destination_name(plan: Plan, step: OutputStep, constants: Constants) -> str:
    """Where an output goes in the period, as a run names it."""
    name = target_name(step.arguments.destination)
    if constants.period is None or isinstance(step.arguments.destination, TableDestination):
        return name
    try:
        return render_template(name, constants.period, plan.input.table)
    except DaybookError:
        # A period that cannot fill it is for the run to refuse; the plan is right all the same.
        return name


def _describe_expression(expression: CompiledExpression, constants: Constants) -> dict[str, str]:
    return {"text": expression.text, "sql": expression.sql(constants)}


def _describe_value(value: ComputedColumn, constants: Constants) -> dict[str, str]:
    sql = cast_sql(value.expression.sql(constants), value.expression.type, value.type)
    return {"column": value.column, "type": str(value.type), "text": value.expression.text, "sql": sql}


def _type_names(schema: Schema | Mapping[str, ColumnType]) -> dict[str, str]:
    return {name: str(column_type) for name, column_type in schema.items()}
