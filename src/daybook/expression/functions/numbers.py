"""Functions for numbers."""

from decimal import Decimal

from daybook.expression import type_rules
from daybook.expression.functions.function import (
    Arguments,
    Example,
    Function,
    FunctionParameter,
    LiteralRule,
    ParameterKind,
)
from daybook.expression.type_rules import is_negated_exactly, negate_sql, type_arithmetic
from daybook.expression.typed_tree import TypedNode
from daybook.model.types import FLOAT, INTEGER, MAX_DIGITS, ColumnType, DecimalType, FloatType, IntegerType

_NUMBER = (FunctionParameter("number", ParameterKind.NUMBER),)
_VALUES = (
    FunctionParameter("value", ParameterKind.ORDERED),
    FunctionParameter("value", ParameterKind.ORDERED, is_repeated=True),
)

# Doubles from 2^52 on are whole numbers, and Spark's own FLOOR of a double stops at 64 bits without saying so.
_FIRST_WHOLE_FLOAT = "4503599627370496D"


def _same(arguments: Arguments) -> ColumnType:
    return arguments[0].type


def _absolute_sql(arguments: Arguments) -> str:
    """Spark's ABS negates, and so rounds decimals of more than 34 digits."""
    number = arguments[0]
    if isinstance(number.type, IntegerType):
        # ABS of the smallest number fails without a position; the difference fails before it, with its position.
        return f"ABS(({number.sql}) - 1L + 1L)"
    if is_negated_exactly(number.type):
        return f"ABS({number.sql})"
    return f"GREATEST({number.sql}, {negate_sql(number.sql, number.type)})"


def _round_type(arguments: Arguments) -> ColumnType:
    value = arguments[0].type
    return type_rules.rounded(value, _places(arguments)) if isinstance(value, DecimalType) else value


def _round_sql(arguments: Arguments) -> str:
    return f"ROUND({arguments[0].sql}, {_places(arguments)})"


def _places(arguments: Arguments) -> int:
    places = arguments[1].literal if len(arguments) == 2 else 0
    assert isinstance(places, int)
    return places


def _is_places(value: object) -> bool:
    return isinstance(value, int) and -MAX_DIGITS < value <= MAX_DIGITS


def _whole_type(arguments: Arguments) -> ColumnType:
    value = arguments[0].type
    return type_rules.whole_part(value) if isinstance(value, DecimalType) else value


def _whole_sql(function: str, arguments: Arguments) -> str:
    sql = arguments[0].sql
    match arguments[0].type:
        case IntegerType():
            return sql
        case FloatType():
            return f"IF(ABS({sql}) < {_FIRST_WHOLE_FLOAT}, CAST({function}({sql}) AS DOUBLE), {sql})"
        case _:
            return f"{function}({sql})"


def _modulo(arguments: tuple[TypedNode, ...]) -> TypedNode:
    left, right = arguments
    return type_arithmetic("%", left, right)


def _extreme_sql(function: str, arguments: Arguments) -> str:
    """Spark's LEAST and GREATEST skip NULLs; ours give NULL, as every other function of one row."""
    checks = " OR ".join(f"ISNULL({argument.sql})" for argument in arguments if argument.literal is None)
    extreme = f"{function}({', '.join(argument.sql for argument in arguments)})"
    return f"IF({checks}, NULL, {extreme})" if checks else extreme


FUNCTIONS = (
    Function(
        name="ABS",
        parameters=_NUMBER,
        returns=_same,
        result="type of the number",
        sql=_absolute_sql,
        repeats=lambda arguments: 1 if is_negated_exactly(arguments[0].type) else 2,
        sentence="The number without its sign.",
        example=Example("ABS(-2.5)", Decimal("2.5")),
    ),
    Function(
        name="ROUND",
        parameters=(
            FunctionParameter("number", ParameterKind.NUMBER),
            FunctionParameter(
                "places",
                ParameterKind.INTEGER,
                is_optional=True,
                written=LiteralRule("a whole number from -37 to 38, written out", _is_places),
            ),
        ),
        returns=_round_type,
        result="type of the number; of a decimal, see the decimal rules",
        sql=_round_sql,
        sentence=(
            "The number rounded half away from zero to so many places after the point, 0 if left out; "
            "negative places round to tens, hundreds and so on."
        ),
        example=Example("ROUND(-2.345, 2)", Decimal("-2.35")),
    ),
    Function(
        name="FLOOR",
        parameters=_NUMBER,
        returns=_whole_type,
        result="integer, decimal(p-s+1,0) or float",
        sql=lambda arguments: _whole_sql("FLOOR", arguments),
        repeats=lambda arguments: 3 if isinstance(arguments[0].type, FloatType) else 1,
        sentence="The largest whole number that is not above the number.",
        example=Example("FLOOR(-2.5)", Decimal("-3")),
    ),
    Function(
        name="CEIL",
        parameters=_NUMBER,
        returns=_whole_type,
        result="integer, decimal(p-s+1,0) or float",
        sql=lambda arguments: _whole_sql("CEIL", arguments),
        repeats=lambda arguments: 3 if isinstance(arguments[0].type, FloatType) else 1,
        sentence="The smallest whole number that is not below the number.",
        example=Example("CEIL(2.1)", Decimal("3")),
    ),
    Function(
        name="MOD",
        parameters=(
            FunctionParameter("number", ParameterKind.NUMBER),
            FunctionParameter("divisor", ParameterKind.NUMBER),
        ),
        returns=_same,
        result="as the operator %",
        sql="",
        rewrite=_modulo,
        sentence="The remainder of a division, with the sign of the number; NULL when the divisor is 0.",
        example=Example("MOD(-7, 3)", -1),
    ),
    Function(
        name="MIN",
        parameters=_VALUES,
        returns=_same,
        result="common type of the values",
        sql=lambda arguments: _extreme_sql("LEAST", arguments),
        is_common=True,
        repeats=2,
        sentence="The smallest of two or more values of one row; NULL if one of them is NULL.",
        example=Example("MIN(3, 1, 2)", 1),
    ),
    Function(
        name="MAX",
        parameters=_VALUES,
        returns=_same,
        result="common type of the values",
        sql=lambda arguments: _extreme_sql("GREATEST", arguments),
        is_common=True,
        repeats=2,
        sentence="The largest of two or more values of one row; NULL if one of them is NULL.",
        example=Example("MAX(3, 1, 2)", 3),
    ),
    Function(
        name="POWER",
        parameters=(
            FunctionParameter("number", ParameterKind.NUMBER),
            FunctionParameter("exponent", ParameterKind.NUMBER),
        ),
        returns=FLOAT,
        sql="POWER({0}, {1})",
        sentence="The number raised to a power, as a float.",
        example=Example("POWER(2, 10)", 1024.0),
    ),
    Function(
        name="SIGN",
        parameters=_NUMBER,
        returns=INTEGER,
        sql="CAST(SIGN({0}) AS BIGINT)",
        sentence="-1, 0 or 1 for a negative number, zero or a positive number.",
        example=Example("SIGN(-0.5)", -1),
    ),
)
