"""Exact arithmetic on 64 bit integers, decimals with precision and scale, and floats, and the types of its results.

A decimal value always has the number of places of its type.
"""

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from typing import Any, assert_never

from daybook.model.types import FLOAT, INTEGER, MAX_DIGITS, NULL, ColumnType, DecimalType, FloatType, IntegerType

EXACT = Context(prec=400, rounding=ROUND_HALF_UP)
INTEGER_MIN, INTEGER_MAX = -(2**63), 2**63 - 1
Number = int | Decimal | float
TypedOperand = tuple[ColumnType, int | None]
Conversion = Callable[[Any], Any]

# Every 64 bit integer as a decimal, as Spark takes it beside decimals.
INTEGER_AS_DECIMAL_DIGITS = 20


class ValueFailureError(Exception):
    """A value that fails the run: an overflow, a text that is no number, a date that does not exist."""


def is_numeric(type_: ColumnType) -> bool:
    return isinstance(type_, IntegerType | DecimalType | FloatType)


def decimal_of(type_: ColumnType, digits: int | None = None) -> DecimalType:
    """The decimal type an operand counts as; `digits` are those of an integer literal."""
    if isinstance(type_, DecimalType):
        return type_
    return DecimalType(INTEGER_AS_DECIMAL_DIGITS if digits is None else digits, 0)


def check_integer(value: int) -> int:
    if not INTEGER_MIN <= value <= INTEGER_MAX:
        raise ValueFailureError(f"{value} is not a 64 bit integer")
    return value


def round_to(value: Decimal, scale: int, rounding: str = ROUND_HALF_UP) -> Decimal:
    """To `scale` digits after the point, which may be negative; half goes away from zero."""
    rounded = value.quantize(Decimal(1).scaleb(-scale, EXACT), rounding=rounding, context=EXACT)
    return rounded.quantize(Decimal(1), context=EXACT) if scale < 0 else rounded


def check_decimal(value: Decimal, type_: DecimalType) -> Decimal:
    """Rounded to the type's scale; more digits before the point than the type has is a failure."""
    rounded = round_to(value, type_.scale)
    if rounded.copy_abs() >= Decimal(1).scaleb(type_.precision - type_.scale, EXACT):
        raise ValueFailureError(f"{value} does not fit {type_}")
    return rounded if rounded else rounded.copy_abs()


def magnitude(value: Number) -> Number:
    """Without the rounding to 28 digits that `abs` does."""
    return value.copy_abs() if isinstance(value, Decimal) else abs(value)


def negated(value: Number) -> Number:
    return value.copy_negate() if isinstance(value, Decimal) else -value


def exact(value: Number) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(value)


def sum_type(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return DecimalType(min(MAX_DIGITS, whole + scale + 1), scale)


def product_type(left: DecimalType, right: DecimalType) -> DecimalType:
    return DecimalType(min(MAX_DIGITS, left.precision + right.precision + 1), left.scale + right.scale)


def quotient_type(left: DecimalType, right: DecimalType) -> DecimalType:
    whole = min(MAX_DIGITS, left.precision - left.scale + right.scale)
    fraction = min(MAX_DIGITS, max(6, left.scale + right.precision + 1))
    excess = whole + fraction - MAX_DIGITS
    if excess > 0:
        fraction -= excess // 2 + 1
        whole = MAX_DIGITS - fraction
    return DecimalType(whole + fraction, fraction)


def remainder_type(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(left.scale, right.scale)
    whole = min(left.precision - left.scale, right.precision - right.scale)
    return DecimalType(min(MAX_DIGITS, whole + scale), scale)


def arithmetic_type(
    operator: str, left: ColumnType, right: ColumnType, digits: tuple[int | None, int | None]
) -> ColumnType:
    """What `left operator right` is; `digits` are those of operands that are integer literals.

    NULL takes the type of the other operand, and is an integer beside another NULL.
    """
    if left == NULL:
        left = INTEGER if right == NULL else right
    if right == NULL:
        right = left
    if FLOAT in (left, right):
        return FLOAT
    if left == right == INTEGER and operator != "/":
        return INTEGER
    a, b = decimal_of(left, digits[0]), decimal_of(right, digits[1])
    match operator:
        case "+" | "-":
            return sum_type(a, b)
        case "*":
            return product_type(a, b)
        case "/":
            return quotient_type(a, b)
        case _:
            return remainder_type(a, b)


def calculation(operator: str, type_: ColumnType) -> Callable[[Any, Any], Any]:
    """The function of two operands that computes a value of `type_`; dividing by zero is NULL."""
    match type_:
        case FloatType():
            return lambda left, right: _calculate_float(operator, float(left), float(right))
        case IntegerType():
            return _INTEGER_CALCULATIONS[operator]
        case DecimalType():
            return _decimal_calculation(operator, type_)
        case _:
            raise TypeError(f"{type_} is no type of numbers")


def _integer_remainder(left: int, right: int) -> int | None:
    """The sign is the dividend's, as truncated division leaves it."""
    if right == 0:
        return None
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


_INTEGER_CALCULATIONS: dict[str, Callable[[int, int], int | None]] = {
    "+": lambda left, right: check_integer(left + right),
    "-": lambda left, right: check_integer(left - right),
    "*": lambda left, right: check_integer(left * right),
    "%": _integer_remainder,
}


def bounded_decimal(type_: DecimalType) -> Callable[[Decimal], Decimal]:
    """The function that rounds half away from zero to the places of a type, and fails where the value does not fit."""
    limit = Decimal(1).scaleb(type_.precision - type_.scale, EXACT)
    places = Decimal(1).scaleb(-type_.scale, EXACT)

    def bounded(value: Decimal) -> Decimal:
        rounded = value.quantize(places, context=EXACT)
        if not rounded:
            return rounded.copy_abs()
        if rounded.copy_abs() >= limit:
            raise ValueFailureError(f"{value} does not fit {type_}")
        return rounded

    return bounded


def _decimal_calculation(operator: str, type_: DecimalType) -> Callable[[Any, Any], Decimal | None]:
    """`+`, `-` and `*` are exact in the places of their type, so that only the digits before the point are checked."""
    bounded = bounded_decimal(type_)
    match operator:
        case "+":
            return lambda left, right: bounded(EXACT.add(left, right))
        case "-":
            return lambda left, right: bounded(EXACT.subtract(left, right))
        case "*":
            return lambda left, right: bounded(EXACT.multiply(left, right))
        case "/":
            return lambda left, right: bounded(EXACT.divide(exact(left), right)) if right else None
        case _:

            def remainder(left: Number, right: Number) -> Decimal | None:
                if not right:
                    return None
                dividend, divisor = exact(left), exact(right)
                whole = EXACT.divide(dividend, divisor).to_integral_value(ROUND_DOWN)
                return bounded(EXACT.subtract(dividend, EXACT.multiply(divisor, whole)))

            return remainder


def _calculate_float(operator: str, left: float, right: float) -> float | None:
    if operator in "/%" and right == 0:
        return None
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            try:
                return left / right
            except OverflowError:
                return math.copysign(math.inf, left) * math.copysign(1, right)
        case _:
            return math.nan if math.isinf(left) else math.fmod(left, right)


def as_type(value: Number, type_: ColumnType) -> Number:
    """The number as a value of a type: widened, or rounded half away from zero; failing where it does not fit."""
    match type_:
        case FloatType():
            return float(value)
        case IntegerType():
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueFailureError(f"{value} is not a 64 bit integer")
            return check_integer(int(round_to(_decimal_value(value), 0)))
        case DecimalType():
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueFailureError(f"{value} does not fit {type_}")
            return check_decimal(_decimal_value(value), type_)
        case _:
            raise TypeError(f"{type_} is no type of numbers")


def _decimal_value(value: Number) -> Decimal:
    """Of a float the decimal that its shortest text stands for."""
    return Decimal(repr(value)) if isinstance(value, float) else exact(value)


def fitting(source: ColumnType, target: ColumnType) -> Conversion | None:
    """The function that makes values of one type values of another; None where they are already."""
    if source in (target, NULL) or not is_numeric(target):
        return None
    match source, target:
        case DecimalType(precision, scale), DecimalType(wider, same) if (
            scale == same and precision - scale <= wider - same
        ):
            return None
        case IntegerType(), DecimalType():
            bounded = bounded_decimal(target)
            return lambda value: None if value is None else bounded(Decimal(value))
        case DecimalType(), DecimalType():
            bounded = bounded_decimal(target)
            return lambda value: None if value is None else bounded(value)
        case _:
            return lambda value: None if value is None else as_type(value, target)


def common_type(*operands: TypedOperand) -> ColumnType:
    """The narrowest type that holds all operands, given as (type, digits of an integer literal or None)."""
    typed = [operand for operand in operands if operand[0] != NULL]
    if not typed:
        return NULL
    types = {type_ for type_, _ in typed}
    if len(types) == 1:
        return typed[0][0]
    if not all(is_numeric(type_) for type_ in types):
        raise TypeError(f"nothing holds {', '.join(sorted(map(str, types)))}")
    if FLOAT in types:
        return FLOAT
    decimals = [decimal_of(type_, digits) for type_, digits in typed]
    scale = max(decimal.scale for decimal in decimals)
    whole = max(decimal.precision - decimal.scale for decimal in decimals)
    return DecimalType(min(MAX_DIGITS, whole + scale), scale)


def total_type(type_: ColumnType) -> ColumnType:
    """Of SUM."""
    return FLOAT if type_ == FLOAT else DecimalType(MAX_DIGITS, decimal_of(type_).scale)


def average_type(type_: ColumnType) -> ColumnType:
    """Of AVG: that of SUM / COUNT."""
    return arithmetic_type("/", total_type(type_), INTEGER, (None, None))


def average_column_type(type_: ColumnType) -> ColumnType:
    """Of a new column that is an average alone."""
    summand = decimal_of(type_)
    if type_ == FLOAT or summand.scale + 4 > MAX_DIGITS:
        return average_type(type_)
    return DecimalType(min(MAX_DIGITS, summand.precision + 4), summand.scale + 4)


def floor(value: Decimal) -> Decimal:
    return value.to_integral_value(ROUND_FLOOR, context=EXACT)


def ceiling(value: Decimal) -> Decimal:
    return value.to_integral_value(ROUND_CEILING, context=EXACT)


def type_of_literal(value: int | Decimal) -> ColumnType:
    """The narrowest type of a number that is written out."""
    match value:
        case int():
            return INTEGER if INTEGER_MIN <= value <= INTEGER_MAX else DecimalType(len(str(abs(value))), 0)
        case Decimal():
            _, digits, exponent = value.as_tuple()
            scale = -int(exponent)
            return DecimalType(max(len(digits), scale), scale)
        case _:
            assert_never(value)
