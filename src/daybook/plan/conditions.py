"""Analyses conditions and sums: which rows a condition excludes, and what each row adds to a total."""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from daybook.expression import CompiledExpression
from daybook.expression.functions.function_table import FUNCTIONS
from daybook.expression.typed_tree import (
    AllRows,
    Arithmetic,
    ColumnUse,
    ColumnValue,
    Conversion,
    LiteralValue,
    TypedCall,
    TypedCase,
    TypedComparison,
    TypedLogical,
    TypedMembership,
    TypedNegation,
    TypedNode,
    TypedNullCheck,
)
from daybook.model.types import INTEGER, ColumnType, DecimalType, IntegerType
from daybook.plan.steps import AggregateStep, AppendStep, UpdateStep


def conjuncts(tree: TypedNode) -> Iterator[TypedNode]:
    """The parts of a condition that AND puts together."""
    if isinstance(tree, TypedLogical) and tree.operator == "AND":
        for operand in tree.operands:
            yield from conjuncts(operand)
    else:
        yield tree


def column_uses(tree: TypedNode) -> Iterator[ColumnUse]:
    """Every column that a part of an expression reads."""
    return (node.use for node in tree.walk() if isinstance(node, ColumnValue))


def joined_aliases(tree: TypedNode) -> frozenset[str]:
    """The joins whose columns a part of an expression reads."""
    return frozenset(use.qualifier for use in column_uses(tree) if use.qualifier is not None)


@dataclass(frozen=True, slots=True)
class JoinParts:
    """A join condition by sides: key pairs (own side, joined side), what concerns the joined rows alone, the rest."""

    keys: tuple[tuple[TypedNode, TypedNode], ...]
    joined_only: tuple[TypedNode, ...]
    own_only: tuple[TypedNode, ...]
    rest: tuple[TypedNode, ...]

    @property
    def is_by_key(self) -> bool:
        """Whether equal keys alone decide on a match, so that counting keys finds every double match."""
        return bool(self.keys) and not self.rest


def are_joins_by_key(step: UpdateStep) -> bool:
    """Whether equal keys alone decide on every match of an update; else rows that match twice are found by their id."""
    return all(split_join_condition(join.on.tree, join.alias).is_by_key for join in step.joins)


def split_join_condition(condition: TypedNode, alias: str) -> JoinParts:
    keys: list[tuple[TypedNode, TypedNode]] = []
    joined_only: list[TypedNode] = []
    own_only: list[TypedNode] = []
    rest: list[TypedNode] = []
    for part in conjuncts(condition):
        aliases = frozenset(use.qualifier for use in column_uses(part))
        if aliases == {alias}:
            joined_only.append(part)
        elif alias not in aliases:
            own_only.append(part)
        elif pair := _key_pair(part, alias):
            keys.append(pair)
        else:
            rest.append(part)
    return JoinParts(tuple(keys), tuple(joined_only), tuple(own_only), tuple(rest))


def _key_pair(part: TypedNode, alias: str) -> tuple[TypedNode, TypedNode] | None:
    # Operands that compare in two parts have no common type in which Spark could look keys up exactly.
    if not isinstance(part, TypedComparison) or part.operator != "=" or part.is_split:
        return None
    if not _compares_exactly(part.left.type, part.right.type):
        return None
    for own, joined in ((part.left, part.right), (part.right, part.left)):
        sides = frozenset(use.qualifier for use in column_uses(joined))
        if sides == {alias} and alias not in joined_aliases(own):
            return own, joined
    return None


def _compares_exactly(left: ColumnType, right: ColumnType) -> bool:
    """Whether two different keys of one side can never equal the same key of the other, as they can through floats."""
    exact = (IntegerType, DecimalType)
    return left == right or (isinstance(left, exact) and isinstance(right, exact))


_SEQ_COLUMN = "_operation_seq"

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def excludes(selector: CompiledExpression | None, seq: int) -> bool:
    """Whether the conditions of a selector exclude every row with this `_operation_seq`."""
    return selector is not None and any(_holds_for_seq(part, seq) is False for part in conjuncts(selector.tree))


def excludes_known(selector: CompiledExpression | None, values: Mapping[str, Any]) -> bool:
    """Whether the conditions of a selector exclude every row that has these values; None is NULL."""
    return selector is not None and holds_for(selector.tree, values) is False


def excludes_all(selector: CompiledExpression | None, seqs: Iterable[int]) -> bool:
    """Whether a selector cannot pick a row of any of these operations."""
    return all(excludes(selector, seq) for seq in seqs)


def picks_all(selector: CompiledExpression | None, seq: int) -> bool:
    """Whether the conditions of a selector include every row with this `_operation_seq`."""
    return selector is None or all(_holds_for_seq(part, seq) is True for part in conjuncts(selector.tree))


def _holds_for_seq(part: TypedNode, seq: int) -> bool | None:
    return holds_for(part, {_SEQ_COLUMN: seq}) if isinstance(part, TypedComparison | TypedMembership) else None


def holds_for(condition: TypedNode, known: Mapping[str, Any]) -> bool | None:
    """Whether a condition is true on rows with these values, NULL being false; None where they do not say."""
    match condition:
        case TypedLogical(operator="AND", operands=operands):
            results = [holds_for(operand, known) for operand in operands]
            return False if False in results else None if None in results else True
        case TypedLogical(operator="OR", operands=operands):
            results = [holds_for(operand, known) for operand in operands]
            return True if True in results else None if None in results else False
        case TypedComparison(operator=name, left=ColumnValue(use=use), right=LiteralValue(value=value)):
            return _compare(name, known.get(use.name), value) if _is_known(use, known) and value is not None else None
        case TypedComparison(operator=name, left=LiteralValue(value=value), right=ColumnValue(use=use)):
            return _compare(name, value, known.get(use.name)) if _is_known(use, known) and value is not None else None
        case TypedMembership(operand=ColumnValue(use=use), choices=choices, is_negated=is_negated):
            values = [choice.value for choice in choices if isinstance(choice, LiteralValue)]
            if not _is_known(use, known) or len(values) < len(choices) or None in values:
                return None
            return known[use.name] is not None and (known[use.name] in values) != is_negated
        case TypedNullCheck(operand=ColumnValue(use=use), is_negated=is_negated) if _is_known(use, known):
            # A row may come without a value that nobody reads, so only NULL itself says something.
            return not is_negated if known[use.name] is None else None
        case _:
            return None


def _is_known(use: ColumnUse, values: Mapping[str, Any]) -> bool:
    return use.qualifier is None and use.name in values


def _compare(name: str, left: Any, right: Any) -> bool:
    return left is not None and right is not None and _COMPARISONS[name](left, right)


def summands(step: AggregateStep | AppendStep) -> dict[str, CompiledExpression]:
    """By column of the totals, what a single row adds; without columns that are averages, floats or the like."""
    by_column: dict[str, CompiledExpression] = {}
    for value in step.aggregations:
        tree = _summand(value.expression.tree) if is_exact(value.type) else None
        if tree is not None:
            uses = frozenset(node.use for node in tree.walk() if isinstance(node, ColumnValue))
            by_column[value.column] = CompiledExpression(value.expression.text, tree.type, uses, False, tree)
    return by_column


def total_columns(step: AggregateStep | AppendStep) -> tuple[str, ...]:
    """The columns of an aggregate that can be added up exactly over its groups."""
    return tuple(value.column for value in step.aggregations if is_exact(value.type))


def has_columns_beside_aggregates(tree: TypedNode) -> bool:
    """Whether an aggregation reads a column outside of its aggregate functions, which is one it groups by."""
    if isinstance(tree, TypedCall) and tree.function.is_aggregate:
        return False
    return isinstance(tree, ColumnValue) or any(map(has_columns_beside_aggregates, tree.children()))


def is_exact(column_type: ColumnType) -> bool:
    """Whether sums over values of this type do not depend on their order."""
    return isinstance(column_type, IntegerType | DecimalType)


def _summand(node: TypedNode) -> TypedNode | None:
    """The expression with each aggregate replaced by what it takes from one row; None where that is no sum."""
    match node:
        case LiteralValue() if node.value == 0:
            return node
        case TypedCall(function=function) if function.name == "COUNT_ALL":
            return LiteralValue(1, INTEGER)
        case TypedCall(function=function, arguments=(AllRows(),)):
            return LiteralValue(1, INTEGER)
        case TypedCall(function=function, arguments=(argument,)) if function.name == "COUNT":
            is_given = TypedNullCheck(argument, is_negated=True)
            return TypedCase(((is_given, LiteralValue(1, INTEGER)),), LiteralValue(0, INTEGER), INTEGER)
        case TypedCall(function=function, arguments=(argument,)) if function.name == "SUM":
            # SUM skips NULL, so that no NULL may take other parts of the expression with it.
            nothing = LiteralValue(0, INTEGER)
            return TypedCall(FUNCTIONS["COALESCE"], (argument, nothing), argument.type) if is_exact(node.type) else None
        case TypedCall(function=function, arguments=(first, *others)) if function.name == "COALESCE":
            # Of no rows, or of NULLs alone: nothing is added then.
            return _summand(first) if all(is_zero(other) for other in others) else None
        case TypedNegation(operand=operand, type=type_):
            inner = _summand(operand)
            return TypedNegation(inner, type_) if inner is not None else None
        case Conversion(operand=operand, type=type_):
            inner = _summand(operand)
            return Conversion(inner, type_) if inner is not None and is_exact(type_) else None
        case Arithmetic(operator="+" | "-", left=left, right=right, type=type_):
            left_summand, right_summand = _summand(left), _summand(right)
            if left_summand is None or right_summand is None:
                return None
            return Arithmetic(node.operator, left_summand, right_summand, type_)
        case _:
            return None


def is_zero(node: TypedNode) -> bool:
    inner = node.operand if isinstance(node, Conversion) else node
    return isinstance(inner, LiteralValue) and inner.value == 0
