"""The columns that an expression reads, and how its value comes from each."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from daybook.expression.typed_tree import ColumnUse, ColumnValue, TypedCall, TypedCase, TypedNode, TypedWindow

DirectHow: TypeAlias = Literal["identity", "transformation", "aggregation"]
IndirectHow: TypeAlias = Literal["selector", "join", "group_by", "order_by", "condition", "window"]
How: TypeAlias = DirectHow | IndirectHow


@dataclass(frozen=True, slots=True)
class ColumnRead:
    """A column that an expression reads; in a window it is read on all rows that the operation picks."""

    use: ColumnUse
    how: How
    is_windowed: bool


def columns_read(tree: TypedNode) -> tuple[ColumnRead, ...]:
    """The columns of an expression and how its value comes from them, each once."""
    if isinstance(tree, ColumnValue):
        return (ColumnRead(tree.use, "identity", False),)
    return tuple(dict.fromkeys(_reads_below(tree, "transformation", is_windowed=False)))


def _reads_below(tree: TypedNode, how: How, *, is_windowed: bool) -> Iterator[ColumnRead]:
    match tree:
        case ColumnValue(use=use):
            yield ColumnRead(use, how, is_windowed)
        case TypedWindow(call=call, partition=partition, order=order):
            yield from _reads_below(call, how, is_windowed=True)
            for part in (*partition, *(key for key, _ in order)):
                yield from _reads_below(part, _within(how, "window"), is_windowed=True)
        case TypedCall(function=function, arguments=(condition, *values)) if function.name == "IF":
            yield from _reads_below(condition, _within(how, "condition"), is_windowed=is_windowed)
            for value in values:
                yield from _reads_below(value, how, is_windowed=is_windowed)
        case TypedCall(function=function, arguments=(amount, weight)) if function.name == "ALLOCATE":
            yield from _reads_below(amount, how, is_windowed=is_windowed)
            yield from _reads_below(weight, _within(how, "window"), is_windowed=is_windowed)
        case TypedCase(branches=branches, otherwise=otherwise):
            for condition, value in branches:
                yield from _reads_below(condition, _within(how, "condition"), is_windowed=is_windowed)
                yield from _reads_below(value, how, is_windowed=is_windowed)
            if otherwise is not None:
                yield from _reads_below(otherwise, how, is_windowed=is_windowed)
        case _:
            is_aggregate = isinstance(tree, TypedCall) and tree.function.is_aggregate
            inside = _within(how, "aggregation") if is_aggregate else how
            for child in tree.children():
                yield from _reads_below(child, inside, is_windowed=is_windowed)


def _within(outer: How, inner: How) -> How:
    """How a value comes from a column through two steps, the first being the one nearer to the value."""
    return combine(outer, inner) or inner


_DIRECT: tuple[How, ...] = ("identity", "transformation", "aggregation")


def combine(nearer: How | None, farther: How | None) -> How | None:
    """Indirect is what is indirect anywhere, by the step nearest to the output; the strongest of direct steps."""
    if nearer is None or farther is None:
        return nearer or farther
    if nearer not in _DIRECT:
        return nearer
    return farther if farther not in _DIRECT else max(nearer, farther, key=_DIRECT.index)
