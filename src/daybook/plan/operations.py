"""Checks one operation of each type and returns its typed step."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daybook.errors.error import closest_match
from daybook.expression import CompiledExpression, Grouping, Scope
from daybook.model.declaration import find_repeated, split_reference
from daybook.model.operation import (
    AggregateOperation,
    Aggregation,
    AppendAggregation,
    AppendOperation,
    Assignment,
    CheckOperation,
    DeleteOperation,
    OutputOperation,
    RuntimeJoin,
    UpdateOperation,
)
from daybook.model.types import COLUMN_SYNONYMS, NULL, SYSTEM_COLUMNS, ColumnType
from daybook.plan.conditions import excludes
from daybook.plan.loads import append_key, join_key
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
    working_columns,
)
from daybook.plan.walk import SourcePath, Walk, error_translator


@dataclass(frozen=True, slots=True)
class ValueCodes:
    """What an operation reports about the values it computes: an unusable one, an unknown column, a wrong type."""

    invalid: str
    unknown: str
    mismatch: str


_ASSIGNMENT_CODES = ValueCodes("UPDATE_005", "UPDATE_006", "UPDATE_007")
_AGGREGATION_CODES = ValueCodes("AGGREGATE_006", "AGGREGATE_004", "AGGREGATE_021")


def plan_update(walk: Walk, operation: UpdateOperation, index: int) -> UpdateStep:
    path = ("operations", index)
    seen: dict[str, dict[str, ColumnType]] = {}
    missing: set[str] = set()
    conditions: list[tuple[RuntimeJoin, LoadStep, CompiledExpression | None]] = []
    for number, join in enumerate(operation.arguments.joins):
        join_path = (*path, "arguments", "joins", number)
        load = _load_join(walk, operation, join, join_path)
        if load is None:
            missing.add(join.alias)
            continue
        seen[join.alias] = {**load.types, **SYSTEM_COLUMNS}
        translate = error_translator("UPDATE_023", unknown="UPDATE_006", ignore=missing, alias=join.alias)
        scope = walk.scope(seen)
        on = walk.compile(join.on, scope, (*join_path, "on"), translate, seq=operation.seq, expect="boolean")
        conditions.append((join, load, on))
    scope = walk.scope(seen)
    translate = error_translator("UPDATE_004", unknown="UPDATE_006", selector="UPDATE_003", ignore=missing)
    selector = walk.condition(operation.selector, (*path, "selector"), translate, seq=operation.seq, scope=scope)
    assignments = (*path, "arguments", "assignments")
    values = _plan_values(
        walk, operation.arguments.assignments, scope, assignments, _ASSIGNMENT_CODES, seq=operation.seq, ignore=missing
    )
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


def _load_join(walk: Walk, operation: UpdateOperation, join: RuntimeJoin, path: SourcePath) -> LoadStep | None:
    if join.alias.casefold() == walk.input.table.casefold():
        reason = "it is the name of the main table"
        walk.report("UPDATE_013", *path, "alias", seq=operation.seq, alias=join.alias, reason=reason)
        return None
    return walk.load(join_key(operation.seq, join.alias))


def _plan_values(
    walk: Walk,
    values: Sequence[Assignment | Aggregation],
    scope: Scope,
    path: SourcePath,
    codes: ValueCodes,
    *,
    seq: int,
    grouping: Grouping | None = None,
    ignore: Collection[str] = (),
) -> list[ComputedColumn]:
    """The values that an operation gives to columns, existing or new."""
    planned = []
    for number, value in enumerate(values):
        column, here = value.column, (*path, number)
        if walk.refuses(column, *here, "column", seq=seq):
            continue
        translate = error_translator(codes.invalid, unknown=codes.unknown, ignore=ignore, column=column)
        compiled = walk.compile(
            value.expression,
            scope,
            (*here, "expression"),
            translate,
            seq=seq,
            grouping=grouping,
            allow_windows=grouping is None,
        )
        if compiled is None:
            # The column exists from here on all the same, so that one mistake is one finding.
            walk.columns.setdefault(column, NULL)
            continue
        target, present = walk.target(column, compiled)
        if target is None:
            parameters: dict[str, Any] = {"column": column, "expected": present, "actual": compiled.type}
            walk.report(codes.mismatch, *here, "expression", seq=seq, **parameters)
            continue
        planned.append(ComputedColumn(column, compiled, target))
    return planned


def plan_aggregate(walk: Walk, operation: AggregateOperation, index: int) -> AggregateStep:
    path, arguments = ("operations", index, "arguments"), operation.arguments
    scope = walk.scope()
    translate = error_translator("PROJECT_052", unknown="AGGREGATE_004", operation="aggregate")
    selector = walk.condition(
        operation.selector, ("operations", index, "selector"), translate, seq=operation.seq, scope=scope
    )
    group_by = walk.known_columns(
        arguments.group_by,
        scope,
        walk.input.table,
        (*path, "group_by"),
        code="AGGREGATE_004",
        seq=operation.seq,
    )
    values = _plan_values(
        walk,
        arguments.aggregations,
        scope,
        (*path, "aggregations"),
        _AGGREGATION_CODES,
        seq=operation.seq,
        grouping=Grouping(group_by),
    )
    used = working_columns(selector, *(value.expression for value in values))
    results = [value.column for value in values]
    walk.usage.add(operation.seq, walk.input.dataset_id, walk.input.types, {*used, *group_by, *results})
    walk.columns.update({value.column: value.type for value in values})
    return AggregateStep(operation.seq, operation.id, operation.name, selector, group_by, tuple(values), walk.schema())


def plan_append(walk: Walk, operation: AppendOperation, index: int) -> AppendStep | None:
    path: SourcePath = ("operations", index, "arguments")
    arguments = operation.arguments
    load = walk.load(append_key(operation.seq))
    if load is None:
        return None
    scope = walk.source_scope(load)
    translate = error_translator("APPEND_004", unknown="APPEND_006", key="source_selector")
    selector_path = (*path, "source_selector")
    selector = walk.condition(arguments.source_selector, selector_path, translate, seq=operation.seq, scope=scope)
    group_by: tuple[str, ...] = ()
    values: tuple[ComputedColumn, ...] = ()
    mapped: tuple[ComputedColumn, ...] = ()
    columns: tuple[str, ...]
    if arguments.columns is not None:
        columns, columns_path = (), (*path, "columns")
        mapped = tuple(_plan_mapped_columns(walk, operation, arguments.columns, scope, columns_path))
    elif arguments.aggregation is None:
        columns, columns_path = tuple(load.types), (*path, "source")
    else:
        group_path = (*path, "aggregation")
        group_by, values = _plan_append_aggregation(walk, operation, arguments.aggregation, load, scope, group_path)
        columns, columns_path = (
            tuple(name for name in group_by if name not in SYSTEM_COLUMNS),
            (*group_path, "group_by"),
        )
    for name in columns:
        _fit_column(walk, operation, name, load.types[name], columns_path)
    used = working_columns(selector, *(value.expression for value in (*values, *mapped)))
    walk.usage.add(operation.seq, load.dataset_id, load.types, {*used, *columns})
    arriving = {*columns, *(value.column for value in (*values, *mapped))}
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
        mapped,
    )


def _plan_mapped_columns(
    walk: Walk, operation: AppendOperation, columns: Mapping[str, str], scope: Scope, path: SourcePath
) -> Iterator[ComputedColumn]:
    """What working columns become of the columns of a source."""
    for column, text in columns.items():
        translate = error_translator("APPEND_004", unknown="APPEND_006", key=f"columns.{column}")
        compiled = walk.compile(text, scope, (*path, column), translate, seq=operation.seq)
        # The column is looked at even if its expression is wrong; NULL goes with every column.
        target = _fit_column(walk, operation, column, compiled or NULL, (*path, column), at_key=True)
        if compiled is not None and target is not None:
            yield ComputedColumn(column, compiled, target)


def _fit_column(
    walk: Walk,
    operation: AppendOperation,
    column: str,
    value: ColumnType | CompiledExpression,
    path: SourcePath,
    *,
    at_key: bool = False,
) -> ColumnType | None:
    """The working type that arriving values take."""
    if column not in walk.columns:
        meant = closest_match(column, walk.columns)
        hint = "add the column with an update first" + (f", or did you mean {meant}?" if meant else "")
        reason = "there is no such column"
        if column in SYSTEM_COLUMNS:
            hint, reason = "every appended row has its own value; remove the column", "it is a system column"
        walk.report("APPEND_003", *path, seq=operation.seq, hint=hint, at_key=at_key, column=column, reason=reason)
        return None
    target, present = walk.target(column, value)
    if target is None:
        value_type = value.type if isinstance(value, CompiledExpression) else value
        reason = f"it is {value_type} in the source and {present} in the working dataset"
        walk.report("APPEND_003", *path, seq=operation.seq, column=column, reason=reason)
        return None
    walk.columns[column] = target
    return target


def _plan_append_aggregation(
    walk: Walk,
    operation: AppendOperation,
    aggregation: AppendAggregation,
    load: LoadStep,
    scope: Scope,
    path: SourcePath,
) -> tuple[tuple[str, ...], tuple[ComputedColumn, ...]]:
    group_by = walk.known_columns(
        aggregation.group_by, scope, load.table, (*path, "group_by"), code="APPEND_006", seq=operation.seq
    )
    values = []
    for number, value in enumerate(aggregation.aggregations):
        here = (*path, "aggregations", number)
        compiled = walk.compile(
            value.expression,
            scope,
            (*here, "expression"),
            error_translator("APPEND_005", unknown="APPEND_006", column=value.column),
            seq=operation.seq,
            grouping=Grouping(group_by, strict=True),
        )
        if compiled and (target := _fit_column(walk, operation, value.column, compiled, (*here, "column"))):
            values.append(ComputedColumn(value.column, compiled, target))
    return group_by, tuple(values)


def plan_delete(walk: Walk, operation: DeleteOperation, index: int) -> DeleteStep:
    path = ("operations", index, "selector")
    selector = walk.condition(
        operation.selector, path, error_translator("PROJECT_052", operation="delete"), seq=operation.seq
    )
    walk.usage.add(operation.seq, walk.input.dataset_id, walk.input.types, working_columns(selector))
    return DeleteStep(operation.seq, operation.id, operation.name, selector, walk.schema())


def plan_check(walk: Walk, operation: CheckOperation, index: int) -> CheckStep | None:
    seq, path = operation.seq, ("operations", index)
    selector = walk.condition(
        operation.selector, (*path, "selector"), error_translator("PROJECT_052", operation="check"), seq=seq
    )
    condition = walk.condition(
        operation.arguments.condition, (*path, "arguments", "condition"), error_translator("CHECK_002"), seq=seq
    )
    read = working_columns(selector, condition)
    walk.usage.add(operation.seq, walk.input.dataset_id, walk.input.types, read)
    if condition is None:
        return None
    identifying = [name for name in _identifying_columns(walk, selector, index) if name in walk.columns]
    columns = tuple(dict.fromkeys((*identifying, *sorted(read - SYSTEM_COLUMNS.keys()))))
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
        names = (*walk.columns, *(SYSTEM_COLUMNS if arguments.system_columns else ()))
    else:
        names = _output_columns(walk, operation, arguments.columns, (*path, "arguments", "columns"), "columns")
    order_by = _output_columns(walk, operation, arguments.order_by, (*path, "arguments", "order_by"), "order_by")
    used = {*working_columns(selector), *names, *order_by}
    walk.usage.add(operation.seq, walk.input.dataset_id, walk.input.types, used)
    types = {**walk.visible, **{name: walk.assumed[name] for name in walk.columns if name in walk.assumed}}
    return OutputStep(
        operation.seq,
        operation.id,
        operation.name,
        selector,
        {name: types[name] for name in names},
        order_by,
        arguments,
        walk.schema(),
        _written_synonyms(walk, arguments.columns or ()),
    )


def _written_synonyms(walk: Walk, written: tuple[str, ...]) -> dict[str, str]:
    """Columns that an output names by another word, which is the name it writes."""
    table = walk.input.table
    names = {split_reference(reference)[1]: walk.column_name(reference, table) for reference in written}
    return {column: name for name, column in names.items() if COLUMN_SYNONYMS.get(name) == column}


def _output_columns(
    walk: Walk, operation: OutputOperation, written: tuple[str, ...], path: SourcePath, key: str
) -> tuple[str, ...]:
    names = walk.known_columns(written, walk.scope(), walk.input.table, path, code="OUTPUT_002", seq=operation.seq)
    for number, name in find_repeated(walk.column_name(reference, walk.input.table) for reference in written):
        walk.report("OUTPUT_011", *path, number, seq=operation.seq, key=key, column=name)
    return names
