"""Typed tree → Spark SQL text."""

import datetime
from typing import assert_never

from daybook.expression.calls import as_arguments
from daybook.expression.kinds import negative, spark_type
from daybook.expression.quoting import quote_identifier, quote_literal
from daybook.expression.scope import Constants
from daybook.expression.typed import (
    AllRows,
    Applied,
    Arithmetic,
    Broken,
    Choice,
    ColumnValue,
    Compared,
    ConstantValue,
    Conversion,
    InRange,
    Inverse,
    IsNull,
    Junction,
    LiteralValue,
    Matches,
    Negative,
    OneOf,
    Typed,
)
from daybook.model.types import DATE, STRING, TIMESTAMP

_ATOMS = (AllRows, LiteralValue, ColumnValue, ConstantValue, Conversion, Choice, Applied)


def to_sql(node: Typed, constants: Constants) -> str:
    """One expression for Spark; every part that is not an atom stands in parentheses inside another."""
    match node:
        case LiteralValue(value, kind):
            return quote_literal(value, kind)
        case ColumnValue(use, _):
            return quote_identifier(use.name if use.qualifier is None else f"{use.qualifier}.{use.name}")
        case ConstantValue():
            return _constant(node, constants)
        case AllRows():
            return "*"
        case Conversion(operand, kind):
            return f"CAST({to_sql(operand, constants)} AS {spark_type(kind)})"
        case Arithmetic():
            return _arithmetic(node, constants)
        case Negative(operand, kind):
            return negative(to_sql(operand, constants), kind)
        case Inverse(operand):
            return f"NOT {_operand(operand, constants)}"
        case Junction(operator, operands):
            return f" {operator} ".join(_operand(operand, constants) for operand in operands)
        case Compared(operator, left, right):
            return f"{_compared(node, left, constants)} {operator} {_compared(node, right, constants)}"
        case OneOf(operand, choices, is_negated):
            listed = ", ".join(_compared(node, choice, constants) for choice in choices)
            return f"{_compared(node, operand, constants)} {_negated('IN', is_negated)} ({listed})"
        case InRange(operand, low, high, is_negated):
            word = _negated("BETWEEN", is_negated)
            bounds = f"{_compared(node, low, constants)} AND {_compared(node, high, constants)}"
            return f"{_compared(node, operand, constants)} {word} {bounds}"
        case Matches(operand, pattern, is_negated):
            return f"{_operand(operand, constants)} {_negated('LIKE', is_negated)} {_pattern(pattern, constants)}"
        case IsNull(operand, is_negated):
            return f"{_operand(operand, constants)} IS {'NOT ' if is_negated else ''}NULL"
        case Choice(branches, otherwise, _):
            whens = " ".join(
                f"WHEN {to_sql(when, constants)} THEN {to_sql(then, constants)}" for when, then in branches
            )
            last = f" ELSE {to_sql(otherwise, constants)}" if otherwise is not None else ""
            return f"CASE {whens}{last} END"
        case Applied(function, arguments, _):
            texts = tuple(to_sql(argument, constants) for argument in arguments)
            return function.to_sql(as_arguments(arguments, texts))
        case Broken():
            raise AssertionError("an expression with errors has no SQL")
        case _:
            assert_never(node)


def _operand(node: Typed, constants: Constants) -> str:
    text = to_sql(node, constants)
    return text if isinstance(node, _ATOMS) else f"({text})"


def _compared(node: Compared | OneOf | InRange, operand: Typed, constants: Constants) -> str:
    """Past 38 digits Spark rounds before it compares; pairs of the whole part and the rest compare exactly."""
    text = _operand(operand, constants)
    if not node.is_split:
        return text
    whole = f"CAST({text} - {text} % 1BD AS DECIMAL(38,0))"
    rest = f"CAST({text} % 1BD AS DECIMAL(38,38))"
    return f"IF({text} IS NULL, NULL, NAMED_STRUCT('whole', {whole}, 'rest', {rest}))"


def _arithmetic(node: Arithmetic, constants: Constants) -> str:
    is_division = node.operator in ("/", "%")
    right = _divisor(node.right, constants) if is_division else _operand(node.right, constants)
    return f"{_operand(node.left, constants)} {node.operator} {right}"


def _divisor(node: Typed, constants: Constants) -> str:
    """Division by zero is NULL, which leaves every other failure of ANSI mode as it is.

    NULLIF evaluates its operand twice once Spark has rewritten it, which multiplies in nested divisions;
    taking the zero out of a one-element array does not.
    """
    text = to_sql(node, constants)
    if isinstance(node, LiteralValue) and node.value:
        return text
    zero = quote_literal(0, node.type)
    if isinstance(node, ColumnValue | LiteralValue):
        return f"NULLIF({text}, {zero})"
    return f"GET(ARRAY_REMOVE(ARRAY({text}), {zero}), 0)"


def _pattern(node: Typed, constants: Constants) -> str:
    """Spark's LIKE takes a backslash for an escape; ours is a backslash."""
    if isinstance(node, LiteralValue) and isinstance(node.value, str):
        return quote_literal(node.value.replace("\\", "\\\\"), STRING)
    return f"REPLACE({to_sql(node, constants)}, '\\\\', '\\\\\\\\')"


def _constant(node: ConstantValue, constants: Constants) -> str:
    match node.name:
        case "now":
            return quote_literal(constants.timestamp, TIMESTAMP)
        case "today":
            return quote_literal(constants.timestamp.astimezone(datetime.UTC).date(), DATE)
        case "identifier" | "level" | "start_date" | "end_date":
            if constants.period is None:
                raise ValueError(f"period.{node.name} is used where there is no period")
            return quote_literal(getattr(constants.period, node.name), node.type)


def _negated(word: str, is_negated: bool) -> str:
    return f"NOT {word}" if is_negated else word
