"""What each row adds to the totals of an aggregate, for totals that are sums of something over rows."""

from daybook.expression import CompiledExpression
from daybook.expression.functions.table import FUNCTIONS
from daybook.expression.typed_tree import (
    AllRows,
    Arithmetic,
    ColumnValue,
    Conversion,
    LiteralValue,
    TypedCall,
    TypedCase,
    TypedNegation,
    TypedNode,
    TypedNullCheck,
)
from daybook.model.types import INTEGER, ColumnType, DecimalType, IntegerType
from daybook.plan.steps import AggregateStep, AppendStep


def summands(step: AggregateStep | AppendStep) -> dict[str, CompiledExpression]:
    """By column of the totals, what a single row adds; without columns that are averages, floats or the like."""
    found: dict[str, CompiledExpression] = {}
    for value in step.aggregations:
        tree = _summand(value.expression.tree) if is_exact(value.type) else None
        if tree is not None:
            uses = frozenset(node.use for node in tree.walk() if isinstance(node, ColumnValue))
            found[value.column] = CompiledExpression(value.expression.text, tree.type, uses, False, tree)
    return found


def total_columns(step: AggregateStep | AppendStep) -> tuple[str, ...]:
    """The columns of an aggregate that can be added up exactly over its groups."""
    return tuple(value.column for value in step.aggregations if is_exact(value.type))


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
            return _summand(first) if all(is_zero(each) for each in others) else None
        case TypedNegation(operand=operand, type=type_):
            inner = _summand(operand)
            return TypedNegation(inner, type_) if inner is not None else None
        case Conversion(operand=operand, type=type_):
            inner = _summand(operand)
            return Conversion(inner, type_) if inner is not None and is_exact(type_) else None
        case Arithmetic(operator="+" | "-", left=left, right=right, type=type_):
            one, other = _summand(left), _summand(right)
            return Arithmetic(node.operator, one, other, type_) if one is not None and other is not None else None
        case _:
            return None


def is_zero(node: TypedNode) -> bool:
    inner = node.operand if isinstance(node, Conversion) else node
    return isinstance(inner, LiteralValue) and inner.value == 0
