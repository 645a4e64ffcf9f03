"""Checks an aggregate: its selector, its groups, what it computes."""

from typing import Any

from daybook.expression import Grouping
from daybook.model.operation import AggregateOperation
from daybook.model.suggestion import did_you_mean
from daybook.model.system_columns import GROUPABLE, SYSTEM_COLUMNS
from daybook.model.types import NULL
from daybook.plan.findings import translator
from daybook.plan.steps import AggregateStep, Value
from daybook.plan.usage import working_columns
from daybook.plan.walk import Walk


def plan_aggregate(walk: Walk, operation: AggregateOperation, index: int) -> AggregateStep:
    path = ("operations", index)
    scope = walk.scope()
    translate = translator("AGGREGATE_020", unknown="AGGREGATE_004")
    selector = walk.condition(operation.selector, (*path, "selector"), translate, seq=operation.seq, scope=scope)
    group_by = _group_by(walk, operation, path)
    values = []
    for number, aggregation in enumerate(operation.arguments.aggregations):
        column, place = aggregation.column, (*path, "arguments", "aggregations", number)
        if walk.refuses(column, *place, "column", seq=operation.seq):
            continue
        compiled = walk.compile(
            aggregation.expression,
            scope,
            (*place, "expression"),
            translator("AGGREGATE_006", unknown="AGGREGATE_004", column=column),
            seq=operation.seq,
            grouping=Grouping(group_by),
        )
        if compiled is None:
            walk.columns.setdefault(column, NULL)
            continue
        target, present = walk.target(column, compiled.type, compiled.type_beside_decimals)
        if target is None:
            parameters: dict[str, Any] = {"column": column, "expected": present, "actual": compiled.type}
            walk.report("AGGREGATE_021", *place, "expression", seq=operation.seq, **parameters)
            continue
        values.append(Value(column, compiled, target))
    used = working_columns(selector, *(value.expression for value in values))
    results = [value.column for value in values]
    walk.usage.add(operation.seq, walk.input.dataset_id, walk.input.types, {*used, *group_by, *results})
    walk.columns.update({value.column: value.type for value in values})
    return AggregateStep(operation.seq, operation.id, operation.name, selector, group_by, tuple(values), walk.schema())


def _group_by(walk: Walk, operation: AggregateOperation, path: tuple[str | int, ...]) -> tuple[str, ...]:
    """The group's columns by their bare names; names that only look different are found to be the same here."""
    names: list[str] = []
    for number, written in enumerate(operation.arguments.group_by):
        name = walk.column_name(written, walk.input.table)
        place = (*path, "arguments", "group_by", number)
        if name not in walk.visible:
            hint = did_you_mean(name, walk.columns)
            walk.report("AGGREGATE_004", *place, seq=operation.seq, hint=hint, name=written)
        elif name in SYSTEM_COLUMNS and name not in GROUPABLE:
            walk.report("AGGREGATE_011", *place, seq=operation.seq, column=name)
        elif name in names:
            walk.report("AGGREGATE_003", *place, seq=operation.seq, column=name)
        else:
            names.append(name)
    for number, aggregation in enumerate(operation.arguments.aggregations):
        if aggregation.column in names:
            place = (*path, "arguments", "aggregations", number, "column")
            walk.report("AGGREGATE_010", *place, seq=operation.seq, column=aggregation.column)
    return tuple(names)
