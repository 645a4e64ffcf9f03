"""Checks an append: its source, what it picks and sums up there, and how that fits the working dataset."""

from daybook.errors import DaybookError
from daybook.expression import Grouping, Scope
from daybook.model.operation import AppendAggregation, AppendOperation
from daybook.model.suggestion import did_you_mean
from daybook.model.system_columns import GROUPABLE, SYSTEM_COLUMNS
from daybook.model.types import ColumnType
from daybook.plan.findings import translator
from daybook.plan.references import find_dataset
from daybook.plan.steps import AppendStep, LoadStep, Value, append_key
from daybook.plan.usage import working_columns
from daybook.plan.walk import Path, Walk


def plan_append(walk: Walk, operation: AppendOperation, index: int) -> AppendStep | None:
    path: Path = ("operations", index, "arguments")
    arguments = operation.arguments
    codes = ("APPEND_001", "APPEND_002", "APPEND_020")
    try:
        version = find_dataset(
            arguments.source, walk.catalog, walk.source, *path, "source", codes=codes, seq=operation.seq
        )
    except DaybookError as error:
        walk.errors.append(error)
        return None
    load = LoadStep(append_key(operation.seq), "append", operation.seq, version)
    walk.loads.append(load)
    visible = {**load.types, **SYSTEM_COLUMNS}
    scope = Scope(visible, {load.table: visible})
    translate = translator("APPEND_004", unknown="APPEND_006")
    place = (*path, "source_selector")
    selector = walk.condition(arguments.source_selector, place, translate, seq=operation.seq, scope=scope)
    group_by: tuple[str, ...] = ()
    values: tuple[Value, ...] = ()
    columns: tuple[str, ...]
    if arguments.aggregation is None:
        columns = tuple(load.types)
        _check_columns(walk, operation, load.types, (*path, "source"))
    else:
        place = (*path, "aggregation")
        group_by, values = _aggregation(walk, operation, arguments.aggregation, load, scope, place)
        columns = tuple(name for name in group_by if name not in SYSTEM_COLUMNS)
        _check_columns(walk, operation, {name: load.types[name] for name in columns}, (*place, "group_by"))
    used = working_columns(selector, *(value.expression for value in values))
    walk.usage.add(operation.seq, load.dataset_id, load.types, {*used, *columns})
    arriving = {*columns, *(value.column for value in values)}
    walk.usage.add(operation.seq, walk.input.dataset_id, walk.input.types, arriving)
    return AppendStep(
        operation.seq,
        operation.id,
        operation.name,
        load.key,
        selector,
        group_by,
        values,
        columns,
        walk.schema(),
    )


def _check_columns(walk: Walk, operation: AppendOperation, types: dict[str, ColumnType], place: Path) -> None:
    for name, column_type in types.items():
        _fit(walk, operation, name, column_type, place)


def _fit(walk: Walk, operation: AppendOperation, column: str, value: ColumnType, place: Path) -> ColumnType | None:
    """The working type that arriving values take."""
    if column not in walk.columns:
        hint = did_you_mean(column, walk.columns)
        reason = "there is no such column"
        walk.report("APPEND_003", *place, seq=operation.seq, hint=hint, column=column, reason=reason)
        return None
    target, present = walk.target(column, value)
    if target is None:
        reason = f"it is {value} here and {present} there"
        walk.report("APPEND_003", *place, seq=operation.seq, column=column, reason=reason)
        return None
    walk.columns[column] = target
    return target


def _aggregation(
    walk: Walk,
    operation: AppendOperation,
    aggregation: AppendAggregation,
    load: LoadStep,
    scope: Scope,
    place: Path,
) -> tuple[tuple[str, ...], tuple[Value, ...]]:
    group_by: list[str] = []
    for number, written in enumerate(aggregation.group_by):
        name = walk.column_name(written, load.table)
        here = (*place, "group_by", number)
        if name not in scope.columns:
            hint = did_you_mean(name, load.types)
            walk.report("APPEND_006", *here, seq=operation.seq, hint=hint, name=written)
        elif name in SYSTEM_COLUMNS and name not in GROUPABLE:
            walk.report("APPEND_016", *here, seq=operation.seq, column=name)
        elif name in group_by:
            walk.report("APPEND_013", *here, seq=operation.seq, column=name)
        else:
            group_by.append(name)
    values = []
    for number, each in enumerate(aggregation.aggregations):
        here = (*place, "aggregations", number)
        if each.column in group_by:
            walk.report("APPEND_014", *here, "column", seq=operation.seq, column=each.column)
        compiled = walk.compile(
            each.expression,
            scope,
            (*here, "expression"),
            translator("APPEND_005", unknown="APPEND_006", column=each.column),
            seq=operation.seq,
            grouping=Grouping(tuple(group_by), strict=True),
        )
        if compiled and (target := _fit(walk, operation, each.column, compiled.type, (*here, "column"))):
            values.append(Value(each.column, compiled, target))
    return tuple(group_by), tuple(values)
