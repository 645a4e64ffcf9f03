"""Precision and scale of decimal arithmetic: Spark's rules with allowPrecisionLoss=false.

Scale is never reduced: where the rules would need more than 38 digits after the point, the answer is None.
Precision stops at 38; a value that needs more fails the run.
"""

from decimal import Decimal

from daybook.model.types import MAX_DIGITS, DecimalType

# What Spark takes a 64-bit integer for when it meets a decimal.
INTEGER_AS_DECIMAL = DecimalType(20, 0)

_MIN_QUOTIENT_SCALE = 6
_SUM_DIGITS = 10
_AVERAGE_DIGITS = 4


def of_literal(value: int | Decimal) -> DecimalType:
    """As many digits as were written."""
    if isinstance(value, int):
        return DecimalType(len(str(abs(value))), 0)
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    return DecimalType(max(len(digits), -exponent), -exponent)


def added(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(left.scale, right.scale)
    return _bounded(max(_whole(left), _whole(right)) + scale + 1, scale)


def multiplied(left: DecimalType, right: DecimalType) -> DecimalType | None:
    scale = left.scale + right.scale
    return _bounded(left.precision + right.precision + 1, scale) if scale <= MAX_DIGITS else None


def divided(left: DecimalType, right: DecimalType) -> DecimalType:
    whole = min(MAX_DIGITS, _whole(left) + right.scale)
    scale = min(MAX_DIGITS, max(_MIN_QUOTIENT_SCALE, left.scale + right.precision + 1))
    excess = whole + scale - MAX_DIGITS
    if excess > 0:
        scale -= excess // 2 + 1
        whole = MAX_DIGITS - scale
    return _bounded(whole + scale, scale)


def remainder(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(left.scale, right.scale)
    return _bounded(min(_whole(left), _whole(right)) + scale, scale)


def common(left: DecimalType, right: DecimalType) -> DecimalType:
    """The narrowest type with every digit of both; stops at 38 digits, keeping the scale."""
    scale = max(left.scale, right.scale)
    return _bounded(max(_whole(left), _whole(right)) + scale, scale)


def is_exact(types: list[DecimalType]) -> bool:
    """Whether one type holds every value of all these types."""
    return max(map(_whole, types)) + max(each.scale for each in types) <= MAX_DIGITS


def rounded(value: DecimalType, places: int) -> DecimalType:
    whole = _whole(value) + 1
    if places < 0:
        return _bounded(max(whole, 1 - places), 0)
    scale = min(value.scale, places)
    return _bounded(whole + scale, scale)


def whole_part(value: DecimalType) -> DecimalType:
    """What FLOOR and CEIL give."""
    return _bounded(_whole(value) + (1 if value.scale else 0), 0)


def summed(value: DecimalType) -> DecimalType:
    return DecimalType(MAX_DIGITS, value.scale)


def averaged(value: DecimalType) -> DecimalType | None:
    scale = value.scale + _AVERAGE_DIGITS
    return _bounded(value.precision + _AVERAGE_DIGITS, scale) if scale <= MAX_DIGITS else None


def summed_by_spark(value: DecimalType) -> DecimalType:
    """What Spark itself types SUM as, before we widen it to 38 digits."""
    return _bounded(value.precision + _SUM_DIGITS, value.scale)


def _whole(value: DecimalType) -> int:
    return value.precision - value.scale


def _bounded(precision: int, scale: int) -> DecimalType:
    return DecimalType(min(precision, MAX_DIGITS), scale)
