"""Checks an update: its joins, its selector, what it assigns."""

from daybook.errors import DaybookError
from daybook.expression import Compiled, Scope
from daybook.model.dataset import DatasetRef
from daybook.model.operation import RuntimeJoin, UpdateOperation
from daybook.model.system_columns import SYSTEM_COLUMNS
from daybook.model.types import NULL, ColumnType
from daybook.plan.findings import translator
from daybook.plan.references import find_dataset
from daybook.plan.steps import JoinStep, LoadStep, UpdateStep, Value, join_key
from daybook.plan.usage import alias_columns, working_columns
from daybook.plan.walk import Walk


def plan_update(walk: Walk, operation: UpdateOperation, index: int) -> UpdateStep:
    path = ("operations", index)
    seen: dict[str, dict[str, ColumnType]] = {}
    missing: set[str] = set()
    conditions: list[tuple[RuntimeJoin, LoadStep, Compiled | None]] = []
    for number, join in enumerate(operation.arguments.joins):
        place = (*path, "arguments", "joins", number)
        load = _load(walk, operation, join, place)
        if load is None:
            missing.add(join.alias)
            continue
        seen[join.alias] = {**load.types, **SYSTEM_COLUMNS}
        translate = translator("UPDATE_023", unknown="UPDATE_006", ignore=missing, alias=join.alias)
        scope = walk.scope(seen)
        on = walk.compile(join.on, scope, (*place, "on"), translate, seq=operation.seq, expect="boolean")
        conditions.append((join, load, on))
    scope = walk.scope(seen)
    translate = translator("UPDATE_004", unknown="UPDATE_006", selector="UPDATE_003", ignore=missing)
    selector = walk.condition(operation.selector, (*path, "selector"), translate, seq=operation.seq, scope=scope)
    values = _assignments(walk, operation, scope, missing, (*path, "arguments", "assignments"))
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


def _load(walk: Walk, operation: UpdateOperation, join: RuntimeJoin, place: tuple[str | int, ...]) -> LoadStep | None:
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


def _assignments(
    walk: Walk, operation: UpdateOperation, scope: Scope, missing: set[str], path: tuple[str | int, ...]
) -> list[Value]:
    values = []
    for number, assignment in enumerate(operation.arguments.assignments):
        column, place = assignment.column, (*path, number)
        if walk.refuses(column, *place, "column", seq=operation.seq):
            continue
        translate = translator("UPDATE_005", unknown="UPDATE_006", ignore=missing, column=column)
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
        values.append(Value(column, compiled, target))
    return values
