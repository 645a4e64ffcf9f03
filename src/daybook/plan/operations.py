"""Checks an update: its joins, its selector, what it assigns.

Checks an aggregate: its selector, its groups, what it computes.

Checks an append: its source, what it picks and sums up there, and how that fits the working dataset.

Checks a delete: its selector.

Checks a check: its selector and its condition.

Checks an output: its selector, its columns, where it goes.
"""

from collections.abc import Iterator
from typing import Any

from daybook.errors import DaybookError
from daybook.errors.suggestion import did_you_mean
from daybook.expression import CompiledExpression, Grouping, Scope
from daybook.model.dataset import DatasetRef
from daybook.model.operation import (
    AggregateOperation,
    AppendAggregation,
    AppendOperation,
    CheckOperation,
    DeleteOperation,
    OutputOperation,
    RuntimeJoin,
    UpdateOperation,
)
from daybook.model.types import GROUPABLE_SYSTEM_COLUMNS, NULL, SYSTEM_COLUMNS, ColumnType
from daybook.plan.conditions import excludes
from daybook.plan.references import find_dataset
from daybook.plan.steps import (
    AggregateStep,
    AppendStep,
    CheckStep,
    ComputedColumn,
    DeleteStep,
    JoinStep,
    LoadStep,
    OutputStep,
    UpdateStep,
    alias_columns,
    append_key,
    join_key,
    working_columns,
)
from daybook.plan.walk import SourcePath, Walk, error_translator


def plan_update(walk: Walk, operation: UpdateOperation, index: int) -> UpdateStep:
    path = ("operations", index)
    seen: dict[str, dict[str, ColumnType]] = {}
    missing: set[str] = set()
    conditions: list[tuple[RuntimeJoin, LoadStep, CompiledExpression | None]] = []
    for number, join in enumerate(operation.arguments.joins):
        place = (*path, "arguments", "joins", number)
        load = _load_join(walk, operation, join, place)
        if load is None:
            missing.add(join.alias)
            continue
        seen[join.alias] = {**load.types, **SYSTEM_COLUMNS}
        translate = error_translator("UPDATE_023", unknown="UPDATE_006", ignore=missing, alias=join.alias)
        scope = walk.scope(seen)
        on = walk.compile(join.on, scope, (*place, "on"), translate, seq=operation.seq, expect="boolean")
        conditions.append((join, load, on))
    scope = walk.scope(seen)
    translate = error_translator("UPDATE_004", unknown="UPDATE_006", selector="UPDATE_003", ignore=missing)
    selector = walk.condition(operation.selector, (*path, "selector"), translate, seq=operation.seq, scope=scope)
    values = _plan_assignments(walk, operation, scope, missing, (*path, "arguments", "assignments"))
    expressions = (selector, *(on for _, _, on in conditions), *(value.expression for value in values))
    joins = []
    for join, load, on in conditions:
        used = alias_columns(join.alias, *expressions)
        walk.usage.add(operation.seq, load.dataset_id, load.types, used)
        if on:
            joins.append(JoinStep(join.alias, load.key, on, tuple(sorted(used))))
    walk.usage.add(operation.seq, walk.input.dataset_id, walk.input.types, working_columns(*expressions))
    walk.usage.add(operation.seq, walk.input.dataset_id, walk.input.types, (value.column for value in values))
    walk.columns.update({value.column: value.type for value in values if value.column not in SYSTEM_COLUMNS})
    return UpdateStep(operation.seq, operation.id, operation.name, selector, tuple(joins), tuple(values), walk.schema())


def _load_join(
    walk: Walk, operation: UpdateOperation, join: RuntimeJoin, place: tuple[str | int, ...]
) -> LoadStep | None:
    if join.alias == walk.input.table:
        reason = "it is the name of the main table"
        walk.report("UPDATE_013", *place, "alias", seq=operation.seq, alias=join.alias, reason=reason)
        return None
    reference = DatasetRef(dataset_id=join.dataset_id, dataset_version=join.dataset_version)
    codes = ("UPDATE_020", "UPDATE_021", "UPDATE_022")
    try:
        version = find_dataset(
            reference,
            walk.catalog,
            walk.source,
            *place,
            codes=codes,
            seq=operation.seq,
            parameters={"alias": join.alias},
        )
    except DaybookError as error:
        walk.errors.append(error)
        return None
    load = LoadStep(join_key(operation.seq, join.alias), "join", operation.seq, version, join.alias)
    walk.loads.append(load)
    return load


def _plan_assignments(
    walk: Walk, operation: UpdateOperation, scope: Scope, missing: set[str], path: tuple[str | int, ...]
) -> list[ComputedColumn]:
    values = []
    for number, assignment in enumerate(operation.arguments.assignments):
        column, place = assignment.column, (*path, number)
        if walk.refuses(column, *place, "column", seq=operation.seq):
            continue
        translate = error_translator("UPDATE_005", unknown="UPDATE_006", ignore=missing, column=column)
        compiled = walk.compile(assignment.expression, scope, (*place, "expression"), translate, seq=operation.seq)
        if compiled is None:
            # The column exists from here on all the same, so that one mistake is one finding.
            walk.columns.setdefault(column, NULL)
            continue
        target, present = walk.target(column, compiled.type, compiled.type_beside_decimals)
        if target is None:
            walk.report(
                "UPDATE_007",
                *place,
                "expression",
                seq=operation.seq,
                column=column,
                expected=present,
                actual=compiled.type,
            )
            continue
        values.append(ComputedColumn(column, compiled, target))
    return values


def plan_aggregate(walk: Walk, operation: AggregateOperation, index: int) -> AggregateStep:
    path = ("operations", index)
    scope = walk.scope()
    translate = error_translator("AGGREGATE_020", unknown="AGGREGATE_004")
    selector = walk.condition(operation.selector, (*path, "selector"), translate, seq=operation.seq, scope=scope)
    group_by = _grouping_columns(walk, operation, path)
    values = []
    for number, aggregation in enumerate(operation.arguments.aggregations):
        column, place = aggregation.column, (*path, "arguments", "aggregations", number)
        if walk.refuses(column, *place, "column", seq=operation.seq):
            continue
        compiled = walk.compile(
            aggregation.expression,
            scope,
            (*place, "expression"),
            error_translator("AGGREGATE_006", unknown="AGGREGATE_004", column=column),
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
        values.append(ComputedColumn(column, compiled, target))
    used = working_columns(selector, *(value.expression for value in values))
    results = [value.column for value in values]
    walk.usage.add(operation.seq, walk.input.dataset_id, walk.input.types, {*used, *group_by, *results})
    walk.columns.update({value.column: value.type for value in values})
    return AggregateStep(operation.seq, operation.id, operation.name, selector, group_by, tuple(values), walk.schema())


def _grouping_columns(walk: Walk, operation: AggregateOperation, path: tuple[str | int, ...]) -> tuple[str, ...]:
    """The group's columns by their bare names; names that only look different are found to be the same here."""
    names: list[str] = []
    for number, written in enumerate(operation.arguments.group_by):
        name = walk.column_name(written, walk.input.table)
        place = (*path, "arguments", "group_by", number)
        if name not in walk.visible:
            hint = did_you_mean(name, walk.columns)
            walk.report("AGGREGATE_004", *place, seq=operation.seq, hint=hint, name=written)
        elif name in SYSTEM_COLUMNS and name not in GROUPABLE_SYSTEM_COLUMNS:
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


def plan_append(walk: Walk, operation: AppendOperation, index: int) -> AppendStep | None:
    path: SourcePath = ("operations", index, "arguments")
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
    translate = error_translator("APPEND_004", unknown="APPEND_006")
    place = (*path, "source_selector")
    selector = walk.condition(arguments.source_selector, place, translate, seq=operation.seq, scope=scope)
    group_by: tuple[str, ...] = ()
    values: tuple[ComputedColumn, ...] = ()
    columns: tuple[str, ...]
    if arguments.aggregation is None:
        columns = tuple(load.types)
        _check_arriving_columns(walk, operation, load.types, (*path, "source"))
    else:
        place = (*path, "aggregation")
        group_by, values = _plan_append_aggregation(walk, operation, arguments.aggregation, load, scope, place)
        columns = tuple(name for name in group_by if name not in SYSTEM_COLUMNS)
        _check_arriving_columns(walk, operation, {name: load.types[name] for name in columns}, (*place, "group_by"))
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


def _check_arriving_columns(
    walk: Walk, operation: AppendOperation, types: dict[str, ColumnType], place: SourcePath
) -> None:
    for name, column_type in types.items():
        _fit_column(walk, operation, name, column_type, place)


def _fit_column(
    walk: Walk, operation: AppendOperation, column: str, value: ColumnType, place: SourcePath
) -> ColumnType | None:
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


def _plan_append_aggregation(
    walk: Walk,
    operation: AppendOperation,
    aggregation: AppendAggregation,
    load: LoadStep,
    scope: Scope,
    place: SourcePath,
) -> tuple[tuple[str, ...], tuple[ComputedColumn, ...]]:
    group_by: list[str] = []
    for number, written in enumerate(aggregation.group_by):
        name = walk.column_name(written, load.table)
        here = (*place, "group_by", number)
        if name not in scope.columns:
            hint = did_you_mean(name, load.types)
            walk.report("APPEND_006", *here, seq=operation.seq, hint=hint, name=written)
        elif name in SYSTEM_COLUMNS and name not in GROUPABLE_SYSTEM_COLUMNS:
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
            error_translator("APPEND_005", unknown="APPEND_006", column=each.column),
            seq=operation.seq,
            grouping=Grouping(tuple(group_by), strict=True),
        )
        if compiled and (target := _fit_column(walk, operation, each.column, compiled.type, (*here, "column"))):
            values.append(ComputedColumn(each.column, compiled, target))
    return tuple(group_by), tuple(values)


def plan_delete(walk: Walk, operation: DeleteOperation, index: int) -> DeleteStep:
    path = ("operations", index, "selector")
    selector = walk.condition(operation.selector, path, error_translator("DELETE_002"), seq=operation.seq)
    walk.usage.add(operation.seq, walk.input.dataset_id, walk.input.types, working_columns(selector))
    return DeleteStep(operation.seq, operation.id, operation.name, selector, walk.schema())


def plan_check(walk: Walk, operation: CheckOperation, index: int) -> CheckStep | None:
    seq, path = operation.seq, ("operations", index)
    selector = walk.condition(operation.selector, (*path, "selector"), error_translator("CHECK_001"), seq=seq)
    place = (*path, "arguments", "condition")
    condition = walk.condition(operation.arguments.condition, place, error_translator("CHECK_002"), seq=seq)
    read = working_columns(selector, condition)
    walk.usage.add(operation.seq, walk.input.dataset_id, walk.input.types, read)
    if condition is None:
        return None
    known = [name for name in _identifying_columns(walk, selector, index) if name in walk.columns]
    columns = tuple(dict.fromkeys((*known, *sorted(read - SYSTEM_COLUMNS.keys()))))
    return CheckStep(operation.seq, operation.id, operation.name, selector, condition, columns, walk.schema())


def _identifying_columns(walk: Walk, selector: CompiledExpression | None, index: int) -> Iterator[str]:
    """What people know the picked rows by: the natural key of loaded ones, the groups of summary rows."""
    if not excludes(selector, 0):
        yield from walk.input.version.dataset.natural_key_columns
    for earlier in walk.project.operations[:index]:
        if isinstance(earlier, AggregateOperation) and not excludes(selector, earlier.seq):
            yield from (walk.column_name(name, walk.input.table) for name in earlier.arguments.group_by)


def plan_output(walk: Walk, operation: OutputOperation, index: int) -> OutputStep:
    path: SourcePath = ("operations", index)
    arguments = operation.arguments
    selector = walk.condition(
        operation.selector, (*path, "selector"), error_translator("OUTPUT_001"), seq=operation.seq
    )
    if arguments.columns is None:
        names = [*walk.columns, *(SYSTEM_COLUMNS if arguments.system_columns else ())]
    else:
        names = _known_columns(walk, operation, arguments.columns, (*path, "arguments", "columns"), "columns")
    order_by = _known_columns(walk, operation, arguments.order_by, (*path, "arguments", "order_by"), "order_by")
    used = {*working_columns(selector), *names, *order_by}
    walk.usage.add(operation.seq, walk.input.dataset_id, walk.input.types, used)
    types = {**walk.visible, **{name: walk.assumed[name] for name in walk.columns if name in walk.assumed}}
    return OutputStep(
        operation.seq,
        operation.id,
        operation.name,
        selector,
        {name: types[name] for name in names},
        tuple(order_by),
        arguments,
        walk.schema(),
    )


def _known_columns(
    walk: Walk, operation: OutputOperation, written: tuple[str, ...], place: SourcePath, key: str
) -> list[str]:
    names: list[str] = []
    for number, reference in enumerate(written):
        name = walk.column_name(reference, walk.input.table)
        if name not in walk.visible:
            hint = did_you_mean(name, walk.columns)
            walk.report("OUTPUT_002", *place, number, seq=operation.seq, hint=hint, name=reference)
        elif name in names:
            walk.report("OUTPUT_011", *place, number, seq=operation.seq, key=key, column=name)
        else:
            names.append(name)
    return names
