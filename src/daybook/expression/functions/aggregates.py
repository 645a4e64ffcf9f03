"""Aggregate functions: one value for the rows of a group; NULLs are ignored, and a group of only NULLs gives NULL."""

from dataclasses import replace
from decimal import Decimal

from daybook.expression import type_rules
from daybook.expression.functions.function import Arguments, Example, Function, FunctionParameter, ParameterKind
from daybook.expression.type_rules import spark_type
from daybook.model.types import FLOAT, INTEGER, MAX_DIGITS, ColumnType, DecimalType, FloatType

_NUMBER = (FunctionParameter("number", ParameterKind.NUMBER),)
_ORDERED = (FunctionParameter("value", ParameterKind.ORDERED),)


def _as_decimal(arguments: Arguments) -> DecimalType:
    value = arguments[0].type
    return value if isinstance(value, DecimalType) else type_rules.INTEGER_AS_DECIMAL


def _decimal_sql(arguments: Arguments) -> str:
    argument = arguments[0]
    if isinstance(argument.type, DecimalType):
        return argument.sql
    return f"CAST({argument.sql} AS {spark_type(type_rules.INTEGER_AS_DECIMAL)})"


def _sum_type(arguments: Arguments) -> ColumnType:
    return FLOAT if isinstance(arguments[0].type, FloatType) else type_rules.summed(_as_decimal(arguments))


def _sum_sql(arguments: Arguments, over: str = "") -> str:
    if isinstance(arguments[0].type, FloatType):
        return f"SUM({arguments[0].sql}){_spaced(over)}"
    total = f"SUM({_decimal_sql(arguments)}){_spaced(over)}"
    result = type_rules.summed(_as_decimal(arguments))
    if type_rules.summed_by_spark(_as_decimal(arguments)) == result:
        return total
    return f"CAST({total} AS {spark_type(result)})"


def _average_type(arguments: Arguments) -> ColumnType:
    if isinstance(arguments[0].type, FloatType):
        return FLOAT
    return type_rules.divided(type_rules.summed(_as_decimal(arguments)), type_rules.INTEGER_AS_DECIMAL)


def _average_sql(arguments: Arguments, over: str = "") -> str:
    """Spark's own AVG has fewer digits than SUM / COUNT, so that rounding it would round twice."""
    if isinstance(arguments[0].type, FloatType):
        return f"AVG({arguments[0].sql}){_spaced(over)}"
    return f"({_sum_sql(arguments, over)} / NULLIF(COUNT({arguments[0].sql}){_spaced(over)}, 0L))"


# Spark computes averages of decimals of fewer digits as floats.
_MIN_EXACT_DIGITS = 12


def average_of_places(average: Function, value: ColumnType, result: DecimalType) -> Function | None:
    """AVG that is rounded once, to the places of a result; None where Spark's own AVG cannot give them.

    Spark divides to 39 places before it rounds, so that a quotient is a tie only if it is one.
    """
    decimal = value if isinstance(value, DecimalType) else type_rules.INTEGER_AS_DECIMAL
    scale = result.scale - type_rules.AVERAGE_DIGITS
    precision = max(decimal.precision - decimal.scale + scale, _MIN_EXACT_DIGITS)
    if isinstance(value, FloatType) or scale < decimal.scale or precision > MAX_DIGITS:
        return None

    def sql(arguments: Arguments, over: str = "") -> str:
        widened = f"CAST({_decimal_sql(arguments)} AS {spark_type(DecimalType(precision, scale))})"
        return f"CAST(AVG({widened}){_spaced(over)} AS {spark_type(result)})"

    return replace(average, sql=sql, window_sql=sql)


def _spaced(over: str) -> str:
    return f" {over}" if over else ""


def _same(arguments: Arguments) -> ColumnType:
    return arguments[0].type


FUNCTIONS = (
    Function(
        name="SUM",
        parameters=_NUMBER,
        returns=_sum_type,
        result="decimal(38,s), integers s = 0; float of floats",
        sql=_sum_sql,
        window_sql=_sum_sql,
        is_aggregate=True,
        sentence="The sum of the group's values.",
        example=Example("SUM(x)", Decimal("4"), rows=(1, None, 3)),
    ),
    Function(
        name="COUNT",
        parameters=(FunctionParameter("value", ParameterKind.ANY),),
        returns=INTEGER,
        sql="COUNT({0})",
        is_aggregate=True,
        takes_star=True,
        sentence="The number of values that are not NULL; COUNT(*) is the number of rows.",
        example=Example("COUNT(x)", 2, rows=(1, None, 3)),
    ),
    Function(
        name="COUNT_ALL",
        parameters=(FunctionParameter("value", ParameterKind.ANY, is_optional=True),),
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
        result="as SUM / COUNT; alone in a new column, decimal with scale s + 4; float of floats",
        sql=_average_sql,
        window_sql=_average_sql,
        repeats=lambda arguments: 1 if isinstance(arguments[0].type, FloatType) else 2,
        is_aggregate=True,
        sentence="The average of the group's values: exactly SUM(number) / COUNT(number).",
        example=Example("ROUND(AVG(x), 2)", Decimal("1.67"), rows=(1, 2, 2, None)),
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
