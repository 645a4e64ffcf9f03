"""Window functions: a value of one row among the rows of its group, with OVER in the assignments of an update."""

from dataclasses import dataclass
from decimal import Decimal

from daybook.expression import type_rules
from daybook.expression.functions.function import (
    Argument,
    Arguments,
    Example,
    Function,
    FunctionParameter,
    OperandError,
    ParameterKind,
)
from daybook.model.types import INTEGER, MAX_DIGITS, ColumnType, DecimalType

# Every integer of 64 bits.
_INTEGER_DIGITS = DecimalType(19, 0)

_VALUE = (FunctionParameter("value", ParameterKind.ANY),)


def _type_of_first(arguments: Arguments) -> ColumnType:
    return arguments[0].type


def _position_sql(function: str, over: str) -> str:
    return f"CAST({function}() {over} AS BIGINT)"


@dataclass(frozen=True, slots=True)
class AllocationTypes:
    """The decimals that an allocation is computed in, all of them exact: the amount in units of its last digit,
    a weight, the sum of the weights, and a share times that sum.
    """

    amount: DecimalType
    units: DecimalType
    weight: DecimalType
    total: DecimalType
    is_exact: bool


def allocation_types(arguments: Arguments) -> AllocationTypes:
    """Exact as long as amount times weight has 38 digits at most, and their quotient all digits of the amount."""
    money, weight = (_decimal_of(argument) for argument in arguments)
    units, total = DecimalType(money.precision, 0), type_rules.summed_by_spark(weight)
    product = type_rules.multiplied(units, weight) or DecimalType()
    quotient = type_rules.divided(type_rules.added(product, type_rules.remainder(product, total)), total)
    is_exact = (
        money.precision + weight.precision <= MAX_DIGITS
        and money.precision + money.scale <= MAX_DIGITS
        and quotient.precision - quotient.scale >= money.precision
    )
    return AllocationTypes(money, units, weight, total, is_exact)


def _decimal_of(argument: Argument) -> DecimalType:
    """A whole number that is written out has the digits it is written with."""
    if isinstance(argument.type, DecimalType):
        return argument.type
    return DecimalType(len(str(argument.literal)), 0) if isinstance(argument.literal, int) else _INTEGER_DIGITS


def _allocated_type(arguments: Arguments) -> ColumnType:
    amount, weight = (argument.type for argument in arguments)
    if allocation_types(arguments).is_exact:
        return amount
    raise OperandError("EXPR_075", amount=amount, weight=weight)


FUNCTIONS = (
    Function(
        name="ROW_NUMBER",
        parameters=(),
        returns=INTEGER,
        sql="ROW_NUMBER()",
        window_sql=lambda _, over: _position_sql("ROW_NUMBER", over),
        is_window=True,
        sentence="The position of the row in its group, from 1; rows that are equal in the order have different ones.",
        example=Example("ROW_NUMBER() OVER (ORDER BY x)", 3, rows=(9, 4, 4)),
    ),
    Function(
        name="RANK",
        parameters=(),
        returns=INTEGER,
        sql="RANK()",
        window_sql=lambda _, over: _position_sql("RANK", over),
        is_window=True,
        window_order="required",
        sentence="1 plus the number of rows before it; rows that are equal in the order have the same rank.",
        example=Example("RANK() OVER (ORDER BY x)", 3, rows=(9, 4, 4)),
    ),
    Function(
        name="PREVIOUS",
        parameters=_VALUE,
        returns=_type_of_first,
        result="type of the value",
        sql="LAG({0})",
        is_window=True,
        window_order="required",
        sentence="The value on the row before in the group; NULL on the first.",
        example=Example("PREVIOUS(x) OVER (ORDER BY x)", 7, rows=(9, 4, 7)),
    ),
    Function(
        name="NEXT",
        parameters=_VALUE,
        returns=_type_of_first,
        result="type of the value",
        sql="LEAD({0})",
        is_window=True,
        window_order="required",
        sentence="The value on the row after in the group; NULL on the last.",
        example=Example("NEXT(x) OVER (ORDER BY x)", 7, rows=(4, 9, 7)),
    ),
    Function(
        name="ALLOCATE",
        parameters=(
            FunctionParameter("amount", ParameterKind.EXACT_NUMBER),
            FunctionParameter("weight", ParameterKind.EXACT_NUMBER),
        ),
        returns=_allocated_type,
        result="type of the amount",
        sql="ALLOCATE({0}, {1})",
        is_window=True,
        window_order="none",
        sentence=(
            "The row's share of an amount that is the same on all rows of the group, in proportion to its weight and "
            "rounded so that the shares add up to the amount exactly."
        ),
        example=Example("ALLOCATE(10.00, x) OVER ()", Decimal("6.67"), rows=(2, 1)),
    ),
)
