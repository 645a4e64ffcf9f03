"""Windows: a value computed of the rows that an update picks, as they were before it; and ALLOCATE."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from operator import itemgetter

from daybook.model.types import INTEGER, ColumnType, DecimalType
from daybook.recompute.aggregates import Aggregate
from daybook.recompute.arithmetic import EXACT, exact
from daybook.recompute.tree import Layout, Node, Row, RowFunction, Value, comparable

Group = list[int]


class BadAllocationError(Exception):
    """An amount that cannot be divided among the rows of a group."""

    def __init__(self, window: "Window", problem: str, group: str) -> None:
        super().__init__(problem)
        self.window = window
        self.problem = problem
        self.group = group


@dataclass(frozen=True)
class Window(Node):
    """A function over the rows that are equal in `partition`, in the order of expressions, each perhaps descending.

    `call` is an aggregate, or one of the functions that only windows have, with its arguments.
    """

    call: Aggregate | str
    partition: tuple[Node, ...]
    order: tuple[tuple[Node, bool], ...] = ()
    arguments: tuple[Node, ...] = ()

    @property
    def children(self) -> tuple[Node, ...]:
        called = (self.call,) if isinstance(self.call, Aggregate) else self.arguments
        return (*called, *self.partition, *(node for node, _ in self.order))

    @property
    def type(self) -> ColumnType:
        if isinstance(self.call, Aggregate):
            return self.call.type
        return self.arguments[0].type if self.arguments else INTEGER

    @property
    def type_alone(self) -> ColumnType:
        return self.call.type_alone if isinstance(self.call, Aggregate) else self.type

    def for_column(self, type_: ColumnType) -> Node:
        return replace(self, call=self.call.for_column(type_)) if isinstance(self.call, Aggregate) else self

    def __str__(self) -> str:
        listed_arguments = ", ".join(map(str, self.arguments))
        called = self.call if isinstance(self.call, Aggregate) else f"{self.call}({listed_arguments})"
        parts = [", ".join(map(str, self.partition))] if self.partition else []
        if self.order:
            listed = (f"{node}{' DESC' if is_descending else ''}" for node, is_descending in self.order)
            parts.append(f"ORDER BY {', '.join(listed)}")
        return f"{called} OVER ({' '.join(parts)})"

    def function(self, layout: Layout) -> RowFunction:
        """Of a row that holds the value, computed before."""
        return itemgetter(layout[self])


def window_values(window: Window, rows: Sequence[Row], layout: Layout, ties: Sequence[int]) -> list[Value]:
    """The value of a window for every row; `ties` are the positions that decide between rows equal in its order."""
    values: list[Value] = [None] * len(rows)
    for group in _groups(window.partition, rows, layout):
        for index, value in _group_values(window, group, rows, layout, ties):
            values[index] = value
    return values


def _groups(partition: Sequence[Node], rows: Sequence[Row], layout: Layout) -> Iterator[Group]:
    """The rows that are equal in all keys, NULL being equal to NULL, by their index."""
    keys = [key.function(layout) for key in partition]
    groups: dict[tuple[Value, ...], Group] = {}
    for index, row in enumerate(rows):
        groups.setdefault(tuple(comparable(key(row)) for key in keys), []).append(index)
    yield from groups.values()


def _group_values(
    window: Window, group: Group, rows: Sequence[Row], layout: Layout, ties: Sequence[int]
) -> Iterator[tuple[int, Value]]:
    if isinstance(window.call, Aggregate):
        if not window.order:
            value = window.call.of_group(layout)([rows[index] for index in group])
            yield from ((index, value) for index in group)
            return
        ordered = _sorted(window, group, rows, layout, ties)
        yield from zip(ordered, window.call.running([rows[index] for index in ordered], layout), strict=True)
        return
    match window.call:
        case "ALLOCATE":
            yield from zip(group, allocated(window, [rows[index] for index in group], layout, ties), strict=True)
        case "RANK":
            yield from _ranks(window, group, rows, layout)
        case "ROW_NUMBER":
            ordered = _sorted(window, group, rows, layout, ties)
            yield from ((index, number) for number, index in enumerate(ordered, start=1))
        case _:
            yield from _neighbours(window, _sorted(window, group, rows, layout, ties), rows, layout)


def _ranks(window: Window, group: Group, rows: Sequence[Row], layout: Layout) -> Iterator[tuple[int, int]]:
    """Rows that are equal in what is written have the same rank."""
    written = [node.function(layout) for node, _ in window.order]
    rank, before = 0, None
    for position, index in enumerate(_sorted(window, group, rows, layout, ()), start=1):
        values = tuple(comparable(value(rows[index])) for value in written)
        if values != before:
            rank, before = position, values
        yield index, rank


def _neighbours(window: Window, ordered: Group, rows: Sequence[Row], layout: Layout) -> Iterator[tuple[int, Value]]:
    """PREVIOUS and NEXT: the value on the row before or after."""
    step = -1 if window.call == "PREVIOUS" else 1
    value = window.arguments[0].function(layout)
    for place, index in enumerate(ordered):
        neighbour = place + step
        yield index, value(rows[ordered[neighbour]]) if 0 <= neighbour < len(ordered) else None


def _sorted(window: Window, group: Group, rows: Sequence[Row], layout: Layout, ties: Sequence[int]) -> Group:
    """By what is written, then by the ties, ascending."""
    written: list[tuple[RowFunction, bool]] = [
        (node.function(layout), is_descending) for node, is_descending in window.order
    ]
    return sorted_by((*written, *((itemgetter(position), False) for position in ties)), group, rows)


def sorted_by(keys: Sequence[tuple[RowFunction, bool]], group: Group, rows: Sequence[Row]) -> Group:
    """Indexes in the order of keys, each perhaps descending; NULL comes last, whatever the direction.

    Sorting keeps the order of equals, so that the last key is sorted by first.
    """
    ordered = list(group)
    for key, is_descending in reversed(keys):
        ordered.sort(key=_sort_key(key, rows, is_descending=is_descending), reverse=is_descending)
    return ordered


def _sort_key(key: RowFunction, rows: Sequence[Row], *, is_descending: bool) -> Callable[[int], tuple[bool, Value]]:
    def compute_ascending(index: int) -> tuple[bool, Value]:
        value = key(rows[index])
        return (False, comparable(value)) if value is not None else (True, 0)

    def compute_descending(index: int) -> tuple[bool, Value]:
        value = key(rows[index])
        return (True, comparable(value)) if value is not None else (False, 0)

    return compute_descending if is_descending else compute_ascending


def allocated(window: Window, rows: Sequence[Row], layout: Layout, ties: Sequence[int]) -> list[Value]:
    """The shares of one group: whole units in proportion to the weights, in exact integers.

    The units left over go to the rows with the largest remainders, then by the ties.
    """
    amount_of, weight_of = (argument.function(layout) for argument in window.arguments)
    amounts = [amount_of(row) for row in rows]
    weights = [_in_units(weight_of(row) or 0, _scale(window.arguments[1].type)) for row in rows]
    if problem := _allocation_problem(amounts, weights):
        raise BadAllocationError(window, problem, _group_label(window, rows[0], layout))
    if amounts[0] is None:
        return [None] * len(rows)
    scale = _scale(window.type)
    units, total = abs(_in_units(amounts[0], scale)), sum(weights)
    shares = [0] * len(rows)
    if units:
        divided = [divmod(units * weight, total) for weight in weights]
        shares = [share for share, _ in divided]
        remainders = [(remainder,) for _, remainder in divided]
        indexed = [(*row, *remainder) for row, remainder in zip(rows, remainders, strict=True)]
        keys: list[tuple[RowFunction, bool]] = [(itemgetter(-1), True)]
        keys += [(itemgetter(position), False) for position in ties]
        for index in sorted_by(keys, list(range(len(rows))), indexed)[: units - sum(shares)]:
            shares[index] += 1
    signed = [-share if amounts[0] < 0 else share for share in shares]
    if not isinstance(window.type, DecimalType):
        return list(signed)
    return [Decimal(share).scaleb(-scale, EXACT) for share in signed]


def _allocation_problem(amounts: Sequence[Value], weights: Sequence[int]) -> str | None:
    if min(weights) < 0:
        return "a weight is negative"
    present = {amount for amount in amounts if amount is not None}
    if len(present) > 1:
        return "the amount is not the same in all rows"
    if present and None in amounts:
        return "the amount is NULL in some rows"
    if present and not sum(weights) and any(present):
        return "all weights are zero"
    return None


def _scale(type_: ColumnType) -> int:
    return type_.scale if isinstance(type_, DecimalType) else 0


def _in_units(value: Value, scale: int) -> int:
    return int(exact(value).scaleb(scale, EXACT))


def _group_label(window: Window, row: Row, layout: Layout) -> str:
    keys = (f"{key} = {key.function(layout)(row)}" for key in window.partition)
    return ", ".join(keys) or "all rows"
