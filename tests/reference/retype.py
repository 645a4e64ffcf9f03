"""Types of the columns a project creates: the narrowest that hold every value assigned anywhere in it."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from daybook.model.types import NULL, ColumnType
from daybook.recompute.arithmetic import TypedOperand, common_type
from daybook.recompute.tree import Column, Node
from tests.reference.operations import Append, Operation, Summarise, Update


def retyped(node: Any, types: Mapping[str, ColumnType]) -> Any:
    """The same tree, or operation, with working columns of these types."""
    if isinstance(node, Column):
        return node if node.alias else replace(node, column_type=types.get(node.name, node.column_type))
    if isinstance(node, tuple | list):
        return tuple(retyped(part, types) for part in node)
    if isinstance(node, Node):
        return replace(node, **{f.name: retyped(getattr(node, f.name), types) for f in fields(node)})  # type: ignore[arg-type, type-var]
    return node


def targets(operation: Operation) -> Sequence[tuple[str, Node]]:
    """What an operation may create columns by."""
    match operation:
        case Update():
            return operation.assignments
        case Summarise():
            return operation.aggregations
        case _:
            return ()


def arrivals(operation: Append) -> Sequence[tuple[str, Node]]:
    """The columns an append brings, by expressions over its source."""
    if operation.columns:
        return operation.columns
    names = operation.group_by if operation.aggregations else list(operation.source.columns)
    own = [(name, Column(name, operation.source.columns[name])) for name in names if name in operation.source.columns]
    return [*own, *operation.aggregations]


def created_types(operations: Sequence[Operation], declared: Mapping[str, ColumnType]) -> dict[str, ColumnType]:
    """Widened until nothing changes; a project whose types never settle is the caller's mistake."""
    created = {name for operation in operations for name, _ in targets(operation)} - {*declared, "_labels"}
    nothing: dict[str, ColumnType] = {**declared, **dict.fromkeys(created, NULL)}
    types = nothing
    for _ in range(50):
        assigned: dict[str, list[TypedOperand]] = {name: [] for name in created}
        for operation in operations:
            match operation:
                case Append():
                    values = arrivals(operation)
                case _:
                    values = retyped(targets(operation), types)
            for name, expression in values:
                if name in created:
                    assigned[name].append((expression.type_alone, expression.digits))
        widened = {**declared, **{name: common_type(*operands) for name, operands in assigned.items()}}
        if widened == types:
            return types
        types = widened
    raise ValueError("the types of created columns do not settle")
