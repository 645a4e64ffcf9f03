"""Numbers that are compared: exact where their columns are."""

import math
from decimal import Context, Decimal
from typing import TypeAlias

# Exact where the column is; a float only for columns that are floats.
Number: TypeAlias = int | Decimal | float
# Of what two sums of the same floats may differ by.
_FLOAT_PARTS = 1e-9
# No sum of columns, which have at most 38 digits, needs more digits.
_WIDE = Context(prec=100)


def subtract(after: Number, before: Number) -> Number:
    """Exact for exact numbers, whatever the precision of the decimal context; nothing lies between equal infinities."""
    if isinstance(after, float) or isinstance(before, float):
        return 0.0 if after == before else float(after) - float(before)
    # A minus before a decimal rounds to the precision of the context.
    return _WIDE.subtract(Decimal(after), Decimal(before))


def is_about(one: Number, other: Number) -> bool:
    """Whether two numbers are the same; floats as far as two sums of the same floats are."""
    if not isinstance(one, float) and not isinstance(other, float):
        return one == other
    return one == other or math.isclose(one, other, rel_tol=_FLOAT_PARTS) or (math.isnan(one) and math.isnan(other))


def add(*numbers: Number) -> Number:
    """The sum; exact unless a float is among them."""
    if any(isinstance(number, float) for number in numbers):
        return float(sum(float(number) for number in numbers))
    total = Decimal(0)
    for number in numbers:
        total = _WIDE.add(total, Decimal(number))
    return total
