"""How large an expression becomes once Spark has it: some functions repeat their arguments."""

from typing import assert_never

from daybook.errors import DaybookError
from daybook.expression.calls import as_arguments
from daybook.expression.context import Checking
from daybook.expression.limits import MAX_WEIGHT
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


def refuse_heavy(node: Typed, checking: Checking) -> None:
    found = weight(node)
    if found > MAX_WEIGHT:
        limit = f"{MAX_WEIGHT:,}"
        raise DaybookError("EXPR_008", span=checking.source, found=f"{found:,} parts once repeated", limit=limit)


def weight(node: Typed) -> int:
    """The number of parts with every repetition counted."""
    match node:
        case LiteralValue() | ColumnValue() | ConstantValue() | AllRows() | Broken():
            return 1
        case Conversion(operand, _) | Negative(operand, _) | Inverse(operand) | IsNull(operand, _):
            return 1 + weight(operand)
        case Arithmetic(_, left, right, _) | Matches(left, right, _):
            return 1 + weight(left) + weight(right)
        case Compared(_, left, right):
            return 1 + _repeats(node) * (weight(left) + weight(right))
        case Junction(_, operands):
            return 1 + sum(map(weight, operands))
        case OneOf(operand, choices, _):
            return 1 + _repeats(node) * (weight(operand) + sum(map(weight, choices)))
        case InRange(operand, low, high, _):
            return 1 + _repeats(node) * (2 * weight(operand) + weight(low) + weight(high))
        case Choice(branches, otherwise, _):
            last = weight(otherwise) if otherwise is not None else 0
            return 1 + last + sum(weight(when) + weight(then) for when, then in branches)
        case Applied(function, arguments, _):
            repeated = (function.parameter(place).repeats * weight(each) for place, each in enumerate(arguments))
            return 1 + function.repetitions(as_arguments(arguments)) * sum(repeated)
        case _:
            assert_never(node)


def _repeats(node: Compared | OneOf | InRange) -> int:
    return 4 if node.is_split else 1
