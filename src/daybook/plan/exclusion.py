"""Which rows a selector rules out by the operation they come from."""

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from daybook.expression import Compiled
from daybook.expression.typed import ColumnValue, Compared, LiteralValue, OneOf, Typed
from daybook.plan.conditions import conjuncts

_SEQ = "_operation_seq"

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def excludes(selector: Compiled | None, seq: int) -> bool:
    """Whether a selector cannot pick a row with this `_operation_seq`, as far as its own words tell."""
    return selector is not None and any(_is_false(part, seq) for part in conjuncts(selector.tree))


def excludes_all(selector: Compiled | None, seqs: Iterable[int]) -> bool:
    """Whether a selector cannot pick a row of any of these operations."""
    return all(excludes(selector, seq) for seq in seqs)


def _is_false(part: Typed, seq: int) -> bool:
    match part:
        case Compared(operator=name, left=left, right=right) if _is_seq(left) and isinstance(right, LiteralValue):
            return right.value is not None and not _COMPARISONS[name](seq, right.value)
        case Compared(operator=name, left=left, right=right) if _is_seq(right) and isinstance(left, LiteralValue):
            return left.value is not None and not _COMPARISONS[name](left.value, seq)
        case OneOf(operand=operand, choices=choices, is_negated=is_negated) if _is_seq(operand):
            values = [each.value for each in choices if isinstance(each, LiteralValue)]
            is_known = len(values) == len(choices) and None not in values
            return is_known and (seq in values) == is_negated
        case _:
            return False


def _is_seq(tree: Typed) -> bool:
    return isinstance(tree, ColumnValue) and tree.use.name == _SEQ and tree.use.qualifier is None
