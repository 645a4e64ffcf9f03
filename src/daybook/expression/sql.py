"""Generates Spark SQL text from a typed tree, and estimates its size."""

import datetime
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import assert_never

from daybook.errors import DaybookError
from daybook.expression.check_calls import to_arguments
from daybook.expression.check_names import CheckContext
from daybook.expression.functions.function import Function
from daybook.expression.quoting import quote_identifier, quote_literal
from daybook.expression.syntax_tree import MAX_WEIGHT
from daybook.expression.type_rules import negate_sql, spark_type
from daybook.expression.typed_tree import (
    AllRows,
    Arithmetic,
    ColumnUse,
    ColumnValue,
    Constants,
    ConstantValue,
    Conversion,
    InvalidNode,
    LiteralValue,
    ParameterValue,
    TypedBetween,
    TypedCall,
    TypedCase,
    TypedComparison,
    TypedLike,
    TypedLogical,
    TypedMembership,
    TypedNegation,
    TypedNode,
    TypedNot,
    TypedNullCheck,
    TypedWindow,
)
from daybook.model.types import BOOLEAN, DATE, STRING, TIMESTAMP


def only_where(tree: TypedNode, column: str) -> TypedNode:
    """The tree with every argument of an aggregate function evaluated only where a boolean column is true."""
    condition = ColumnValue(ColumnUse(None, column), BOOLEAN)

    def restrict(node: TypedNode) -> TypedNode:
        if isinstance(node, TypedCall) and node.function.is_aggregate:
            return node.map(lambda argument: _only_where_true(argument, condition))
        return node.map(restrict)

    return restrict(tree)


def _only_where_true(argument: TypedNode, condition: ColumnValue) -> TypedNode:
    if isinstance(argument, AllRows):
        return argument
    return TypedCase(((condition, argument),), None, argument.type)


def check_weight(node: TypedNode, checking: CheckContext) -> None:
    total_weight = weight(node)
    if total_weight > MAX_WEIGHT:
        limit = f"{MAX_WEIGHT:,}"
        raise DaybookError(
            "EXPR_008", span=checking.source, found=f"{total_weight:,} parts, counting repetitions", limit=limit
        )


def weight(node: TypedNode) -> int:
    """The number of parts with every repetition counted."""
    children = zip(node.children(), _repetitions(node), strict=False)
    return 1 + sum(times * weight(child) for child, times in children)


def _repetitions(node: TypedNode) -> Iterable[int]:
    """How often Spark repeats each child of a node."""
    match node:
        case TypedBetween():
            times = _split_repeats(node)
            return (2 * times, times, times)
        case TypedComparison() | TypedMembership():
            return repeat(_split_repeats(node))
        case TypedCall(function, arguments, _):
            times = function.repetitions(to_arguments(arguments))
            return (times * function.parameter(position).repeats for position in range(len(arguments)))
        case _:
            return repeat(1)


def _split_repeats(node: TypedComparison | TypedMembership | TypedBetween) -> int:
    return 4 if node.is_split else 1


_ATOMIC_NODES = (
    AllRows,
    LiteralValue,
    ColumnValue,
    ConstantValue,
    ParameterValue,
    Conversion,
    TypedCase,
    TypedCall,
    TypedWindow,
)


def to_sql(node: TypedNode, constants: Constants) -> str:
    """The SQL of one expression; every inner part that is not an atom is in parentheses."""
    match node:
        case LiteralValue(value, kind):
            return quote_literal(value, kind)
        case ColumnValue(use, _):
            return quote_identifier(use.name if use.qualifier is None else f"{use.qualifier}.{use.name}")
        case ConstantValue():
            return _constant_sql(node, constants)
        case ParameterValue(name, kind):
            # Without a value, where an expression is only shown, the way Spark writes a parameter.
            return quote_literal(constants.parameters[name], kind) if name in constants.parameters else f":{name}"
        case AllRows():
            return "*"
        case Conversion(operand, kind):
            return f"CAST({to_sql(operand, constants)} AS {spark_type(kind)})"
        case Arithmetic():
            return _arithmetic_sql(node, constants)
        case TypedNegation(operand, kind):
            return negate_sql(to_sql(operand, constants), kind)
        case TypedNot(operand):
            return f"NOT {_operand_sql(operand, constants)}"
        case TypedLogical(operator, operands):
            return f" {operator} ".join(_operand_sql(operand, constants) for operand in operands)
        case TypedComparison(operator, left, right):
            return f"{_compared_sql(node, left, constants)} {operator} {_compared_sql(node, right, constants)}"
        case TypedMembership(operand, choices, is_negated):
            listed = ", ".join(_compared_sql(node, choice, constants) for choice in choices)
            return f"{_compared_sql(node, operand, constants)} {_negated_word('IN', is_negated)} ({listed})"
        case TypedBetween(operand, low, high, is_negated):
            word = _negated_word("BETWEEN", is_negated)
            bounds = f"{_compared_sql(node, low, constants)} AND {_compared_sql(node, high, constants)}"
            return f"{_compared_sql(node, operand, constants)} {word} {bounds}"
        case TypedLike(operand, pattern, is_negated):
            word = _negated_word("LIKE", is_negated)
            return f"{_operand_sql(operand, constants)} {word} {_pattern_sql(pattern, constants)}"
        case TypedNullCheck(operand, is_negated):
            return f"{_operand_sql(operand, constants)} IS {'NOT ' if is_negated else ''}NULL"
        case TypedCase(branches, otherwise, _):
            whens = " ".join(
                f"WHEN {to_sql(when, constants)} THEN {to_sql(then, constants)}" for when, then in branches
            )
            last = f" ELSE {to_sql(otherwise, constants)}" if otherwise is not None else ""
            return f"CASE {whens}{last} END"
        case TypedCall(function, arguments, _):
            texts = tuple(to_sql(argument, constants) for argument in arguments)
            return function.to_sql(to_arguments(arguments, texts))
        case TypedWindow(call, partition, order, _):
            texts = tuple(to_sql(argument, constants) for argument in call.arguments)
            over = over_sql(
                call.function,
                [to_sql(part, constants) for part in partition],
                [(to_sql(part, constants), is_descending) for part, is_descending in order],
            )
            return call.function.to_window_sql(to_arguments(call.arguments, texts), over)
        case InvalidNode():
            raise AssertionError("an expression with errors has no SQL")
        case _:
            assert_never(node)


def over_sql(function: Function, partition: Sequence[str], order: Sequence[tuple[str, bool]]) -> str:
    """The OVER of a window: NULLs come last, and an aggregate with an order goes up to the row itself."""
    parts = [f"PARTITION BY {', '.join(partition)}"] if partition else []
    if order:
        listed = (f"{sql}{' DESC' if is_descending else ''} NULLS LAST" for sql, is_descending in order)
        parts.append(f"ORDER BY {', '.join(listed)}")
        if function.is_aggregate:
            parts.append("ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW")
    return f"OVER ({' '.join(parts)})"


def _operand_sql(node: TypedNode, constants: Constants) -> str:
    text = to_sql(node, constants)
    return text if isinstance(node, _ATOMIC_NODES) else f"({text})"


def _compared_sql(
    node: TypedComparison | TypedMembership | TypedBetween, operand: TypedNode, constants: Constants
) -> str:
    """Past 38 digits Spark rounds before it compares; pairs of the whole part and the rest compare exactly."""
    text = _operand_sql(operand, constants)
    if not node.is_split:
        return text
    whole = f"CAST({text} - {text} % 1BD AS DECIMAL(38,0))"
    rest = f"CAST({text} % 1BD AS DECIMAL(38,38))"
    return f"IF({text} IS NULL, NULL, NAMED_STRUCT('whole', {whole}, 'rest', {rest}))"


def _arithmetic_sql(node: Arithmetic, constants: Constants) -> str:
    is_division = node.operator in ("/", "%")
    right = _divisor_sql(node.right, constants) if is_division else _operand_sql(node.right, constants)
    return f"{_operand_sql(node.left, constants)} {node.operator} {right}"


def _divisor_sql(node: TypedNode, constants: Constants) -> str:
    """Division by zero is NULL, which leaves every other failure of ANSI mode as it is.

    NULLIF evaluates its operand twice once Spark has rewritten it, which multiplies in nested divisions;
    taking the zero out of a one-element array does not.
    """
    text = to_sql(node, constants)
    if isinstance(node, LiteralValue) and node.value:
        return text
    zero = quote_literal(0, node.type)
    if isinstance(node, ColumnValue | LiteralValue | ParameterValue):
        return f"NULLIF({text}, {zero})"
    return f"GET(ARRAY_REMOVE(ARRAY({text}), {zero}), 0)"


def _pattern_sql(node: TypedNode, constants: Constants) -> str:
    """Spark's LIKE takes a backslash for an escape; ours is a backslash."""
    if isinstance(node, LiteralValue) and isinstance(node.value, str):
        return quote_literal(node.value.replace("\\", "\\\\"), STRING)
    return f"REPLACE({to_sql(node, constants)}, '\\\\', '\\\\\\\\')"


def _constant_sql(node: ConstantValue, constants: Constants) -> str:
    match node.name:
        case "now":
            return quote_literal(constants.timestamp, TIMESTAMP)
        case "today":
            return quote_literal(constants.timestamp.astimezone(datetime.UTC).date(), DATE)
        case "identifier" | "level" | "start_date" | "end_date":
            if constants.period is None:
                raise ValueError(f"period.{node.name} is used where there is no period")
            return quote_literal(getattr(constants.period, node.name), node.type)


def _negated_word(word: str, is_negated: bool) -> str:
    return f"NOT {word}" if is_negated else word
