"""Aggregate functions: one value for the rows of a group, or for the rows up to each row of an order."""

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, reduce
from operator import itemgetter
from typing import Any

from daybook.model.types import FLOAT, INTEGER, NULL, ColumnType, DecimalType
from daybook.recompute.arithmetic import (
    EXACT,
    as_type,
    average_column_type,
    average_type,
    exact,
    total_type,
)
from daybook.recompute.tree import Layout, Node, Row, RowFunction, Value, comparable

GroupFunction = Callable[[Sequence[Row]], Value]


@dataclass(frozen=True)
class Aggregate(Node):
    """`COUNT(*)` has no argument; `result` is another type of its value, to which it is rounded once."""

    name: str
    argument: Node | None = None
    result: ColumnType | None = None

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.argument,) if self.argument else ()

    @cached_property
    def type(self) -> ColumnType:
        if self.result is not None:
            return self.result
        if self.argument is None or self.name in ("COUNT", "COUNT_ALL"):
            return INTEGER
        match self.name:
            case "SUM":
                return total_type(self._summand)
            case "AVG":
                return average_type(self._summand)
            case _:
                return self.argument.type

    @cached_property
    def _summand(self) -> ColumnType:
        return INTEGER if self.argument is None or self.argument.type == NULL else self.argument.type

    @property
    def type_alone(self) -> ColumnType:
        return average_column_type(self._summand) if self.name == "AVG" else self.type

    def for_column(self, type_: ColumnType) -> "Aggregate":
        """An average is rounded once, to the places of its column where those are fewer than its own."""
        own = self.type
        is_rounded = isinstance(own, DecimalType) and isinstance(type_, DecimalType) and type_.scale < own.scale
        return replace(self, result=type_) if self.name == "AVG" and is_rounded else self

    def __str__(self) -> str:
        if self.argument is None:
            return "COUNT_ALL()" if self.name == "COUNT_ALL" else "COUNT(*)"
        return f"{self.name}({self.argument})"

    def function(self, layout: Layout) -> RowFunction:
        """Of a row that holds the value, computed before."""
        return itemgetter(layout[self])

    def of_group(self, layout: Layout) -> GroupFunction:
        """The value of all rows of a group; NULLs are left out."""
        if self.argument is None or self.name == "COUNT_ALL":
            return len
        argument = self.argument.function(layout)

        def compute(rows: Sequence[Row]) -> Value:
            values = [value for row in rows if (value := argument(row)) is not None]
            return self._of_values(values)

        return compute

    def running(self, rows: Sequence[Row], layout: Layout) -> Iterator[Value]:
        """For every row the value of the rows up to it and with it."""
        if self.argument is None or self.name == "COUNT_ALL":
            yield from range(1, len(rows) + 1)
            return
        argument = self.argument.function(layout)
        count, total, extreme = 0, self._nothing, None
        choose = min if self.name == "MIN_AGG" else max
        for row in rows:
            if (value := argument(row)) is not None:
                count += 1
                if self.name in ("SUM", "AVG"):
                    total = self._added(total, value)
                elif self.name != "COUNT":
                    extreme = value if extreme is None else choose(extreme, value, key=comparable)
            yield self._finished(count, total, extreme)

    def _of_values(self, values: Sequence[Value]) -> Value:
        match self.name:
            case "COUNT":
                return len(values)
            case "SUM" | "AVG":
                add: Callable[[Any, Any], Any] = operator.add if self._summand == FLOAT else EXACT.add
                total = reduce(add, values, self._nothing)
                return self._finished(len(values), total, None)
            case "MIN_AGG":
                return min(values, key=comparable) if values else None
            case _:
                return max(values, key=comparable) if values else None

    @property
    def _nothing(self) -> Decimal | float:
        return 0.0 if self._summand == FLOAT else Decimal(0)

    def _added(self, total: Decimal | float, value: Value) -> Decimal | float:
        return total + value if isinstance(total, float) else EXACT.add(total, exact(value))

    def _finished(self, count: int, total: Decimal | float, extreme: Value) -> Value:
        if self.name == "COUNT":
            return count
        if not count:
            return None
        match self.name, total:
            case "SUM", _:
                return as_type(total, self.type)
            case "AVG", float(amount):
                return amount / count
            case "AVG", Decimal() as amount:
                return as_type(EXACT.divide(amount, Decimal(count)), self.type)
            case _:
                return extreme


def groups_of(rows: Sequence[Row], positions: Sequence[int]) -> dict[Row, list[Row]]:
    """The rows by their group, in the order in which groups appear; NULL is a group of its own."""
    groups: dict[Row, list[Row]] = {}
    key_of: Callable[[Row], Row] = (
        itemgetter(*positions) if len(positions) > 1 else lambda row: tuple(row[position] for position in positions)
    )
    for row in rows:
        groups.setdefault(key_of(row), []).append(row)
    return groups
