"""Exact arithmetic on 64 bit integers, decimals with precision and scale, and floats."""

import math
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal

from daybook.model.types import FLOAT, INTEGER, MAX_DIGITS, ColumnType, DecimalType, FloatType, IntegerType

EXACT = Context(prec=400, rounding=ROUND_HALF_UP)
INTEGER_MIN, INTEGER_MAX = -(2**63), 2**63 - 1
Number = int | Decimal | float


class ValueFailureError(Exception):
    """A value that fails the run: an overflow, a text that is no number, a date that does not exist."""


class FailedRunError(Exception):
    """What fails the run always, whether or not an output needs the value."""


def is_numeric(type_: ColumnType) -> bool:
    return isinstance(type_, (IntegerType, DecimalType, FloatType))


def decimal_of(type_: ColumnType, digits: int | None = None) -> DecimalType:
    """The decimal type an operand counts as; `digits` are those of an integer literal."""
    if isinstance(type_, DecimalType):
        return type_
    return DecimalType(20 if digits is None else digits, 0)


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
    """What `left operator right` is; `digits` are those of operands that are integer literals."""
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


def calculate(operator: str, left: Number, right: Number, type_: ColumnType) -> Number | None:
    """`left operator right` as a value of `type_`; dividing by zero is NULL."""
    if operator in "/%" and right == 0:
        return None
    if isinstance(type_, FloatType):
        return _calculate_float(operator, float(left), float(right))
    a, b = exact(left), exact(right)
    match operator:
        case "+":
            result = EXACT.add(a, b)
        case "-":
            result = EXACT.subtract(a, b)
        case "*":
            result = EXACT.multiply(a, b)
        case "/":
            result = EXACT.divide(a, b)
        case _:
            # The sign is the dividend's, as truncated division leaves it.
            result = EXACT.subtract(a, EXACT.multiply(b, EXACT.divide(a, b).to_integral_value(ROUND_DOWN)))
    return as_type(result, type_)


def _calculate_float(operator: str, left: float, right: float) -> float:
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
            return check_integer(int(round_to(exact(value), 0)))
        case DecimalType():
            if isinstance(value, float):
                if not math.isfinite(value):
                    raise ValueFailureError(f"{value} does not fit {type_}")
                return check_decimal(Decimal(repr(value)), type_)
            return check_decimal(exact(value), type_)
        case _:
            raise TypeError(f"{type_} is no type of numbers")


def floor(value: Decimal) -> Decimal:
    return value.to_integral_value(ROUND_FLOOR, context=EXACT)


def ceiling(value: Decimal) -> Decimal:
    return value.to_integral_value(ROUND_CEILING, context=EXACT)
