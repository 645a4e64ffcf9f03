"""One value for the rows of a group; NULLs are left out, and a group of nothing but NULLs gives NULL."""

from decimal import Decimal

from daybook.expression import decimals
from daybook.expression.functions.declaration import (
    Arguments,
    Example,
    Function,
    OperandError,
    Parameter,
    ParameterKind,
)
from daybook.expression.type_rules import spark_type
from daybook.model.types import FLOAT, INTEGER, ColumnType, DecimalType, FloatType

_NUMBER = (Parameter("number", ParameterKind.NUMBER),)
_ORDERED = (Parameter("value", ParameterKind.ORDERED),)


def _as_decimal(arguments: Arguments) -> DecimalType:
    value = arguments[0].type
    return value if isinstance(value, DecimalType) else decimals.INTEGER_AS_DECIMAL


def _decimal_sql(arguments: Arguments) -> str:
    argument = arguments[0]
    if isinstance(argument.type, DecimalType):
        return argument.sql
    return f"CAST({argument.sql} AS {spark_type(decimals.INTEGER_AS_DECIMAL)})"


def _sum_type(arguments: Arguments) -> ColumnType:
    return FLOAT if isinstance(arguments[0].type, FloatType) else decimals.summed(_as_decimal(arguments))


def _sum_sql(arguments: Arguments) -> str:
    if isinstance(arguments[0].type, FloatType):
        return f"SUM({arguments[0].sql})"
    total = f"SUM({_decimal_sql(arguments)})"
    result = decimals.summed(_as_decimal(arguments))
    if decimals.summed_by_spark(_as_decimal(arguments)) == result:
        return total
    return f"CAST({total} AS {spark_type(result)})"


def _average_type(arguments: Arguments) -> ColumnType:
    if isinstance(arguments[0].type, FloatType):
        return FLOAT
    value = _as_decimal(arguments)
    if result := decimals.averaged(value):
        return result
    raise OperandError(
        "EXPR_026",
        position=0,
        hint="ROUND it first",
        name="AVG",
        expected="a number of at most 34 places after the point",
    )


def _average_sql(arguments: Arguments) -> str:
    sql = arguments[0].sql if isinstance(arguments[0].type, FloatType) else _decimal_sql(arguments)
    return f"AVG({sql})"


def _same(arguments: Arguments) -> ColumnType:
    return arguments[0].type


FUNCTIONS = (
    Function(
        name="SUM",
        parameters=_NUMBER,
        returns=_sum_type,
        result="decimal(38,s), integers s = 0; float of floats",
        sql=_sum_sql,
        is_aggregate=True,
        sentence="The sum of the group's values.",
        example=Example("SUM(x)", Decimal("4"), rows=(1, None, 3)),
    ),
    Function(
        name="COUNT",
        parameters=(Parameter("value", ParameterKind.ANY),),
        returns=INTEGER,
        sql="COUNT({0})",
        is_aggregate=True,
        takes_star=True,
        sentence="The number of values that are not NULL; COUNT(*) is the number of rows.",
        example=Example("COUNT(x)", 2, rows=(1, None, 3)),
    ),
    Function(
        name="COUNT_ALL",
        parameters=(Parameter("value", ParameterKind.ANY, is_optional=True),),
        returns=INTEGER,
        sql="COUNT(*)",
        is_aggregate=True,
        takes_star=True,
        sentence="The number of rows, whether the value is NULL or not; the same as COUNT(*).",
        example=Example("COUNT_ALL(x)", 3, rows=(1, None, 3)),
    ),
    Function(
        name="AVG",
        parameters=_NUMBER,
        returns=_average_type,
        result="decimal with scale s + 4, of integers decimal(24,4); float of floats",
        sql=_average_sql,
        is_aggregate=True,
        sentence="The average of the group's values, rounded half away from zero.",
        example=Example("AVG(x)", Decimal("1.6667"), rows=(1, 2, 2, None)),
    ),
    Function(
        name="MIN_AGG",
        parameters=_ORDERED,
        returns=_same,
        result="type of the value",
        sql="MIN({0})",
        is_aggregate=True,
        sentence="The smallest value of the group.",
        example=Example("MIN_AGG(x)", 1, rows=(1, None, 3)),
    ),
    Function(
        name="MAX_AGG",
        parameters=_ORDERED,
        returns=_same,
        result="type of the value",
        sql="MAX({0})",
        is_aggregate=True,
        sentence="The largest value of the group.",
        example=Example("MAX_AGG(x)", 3, rows=(1, None, 3)),
    ),
)
