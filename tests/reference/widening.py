"""The narrowest type that holds the values of several, and the values as that type has them."""

from typing import Any

from daybook.model.types import FLOAT, MAX_DIGITS, NULL, ColumnType, DecimalType
from tests.reference.numbers import as_type, decimal_of, is_numeric

TypedOperand = tuple[ColumnType, int | None]


def common_type(*operands: TypedOperand) -> ColumnType:
    """Of operands given as (type, digits of an integer literal or None)."""
    known = [operand for operand in operands if operand[0] != NULL]
    if not known:
        return NULL
    types = {type_ for type_, _ in known}
    if len(types) == 1:
        return known[0][0]
    if not all(is_numeric(type_) for type_ in types):
        raise TypeError(f"nothing holds {types}")
    if FLOAT in types:
        return FLOAT
    decimals = [decimal_of(type_, digits) for type_, digits in known]
    scale = max(decimal.scale for decimal in decimals)
    whole = max(decimal.precision - decimal.scale for decimal in decimals)
    return DecimalType(min(MAX_DIGITS, whole + scale), scale)


def widen(value: Any, type_: ColumnType) -> Any:
    if value is None or not is_numeric(type_):
        return value
    return as_type(value, type_)
