"""Windows: a value computed of the rows that an update picks, as they were before it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daybook.model.types import INTEGER, ColumnType
from tests.reference.grouping import Aggregate, Group
from tests.reference.tree import Column, Expression, Row, Value, comparable


@dataclass(frozen=True)
class PickedRow(Mapping[str, Any]):
    """A row with all rows that the operation picks."""

    row: Row
    picked: Sequence[Row]

    def __getitem__(self, name: str) -> Value:
        return self.row[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.row)

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True)
class Window(Expression):
    """An aggregate of the rows that are equal in `partition`; without `call` the rank of the row in `order`."""

    call: Aggregate | None
    partition: tuple[Column, ...]
    order: tuple[Column, ...] = ()
    descending: bool = False

    @property
    def children(self) -> tuple[Expression, ...]:
        return (*((self.call,) if self.call else ()), *self.partition, *self.order)

    @property
    def type(self) -> ColumnType:
        return self.call.type if self.call else INTEGER

    @property
    def type_alone(self) -> ColumnType:
        return self.call.type_alone if self.call else INTEGER

    def __str__(self) -> str:
        parts = ", ".join(map(str, self.partition))
        if self.order:
            parts += f" ORDER BY {', '.join(map(str, self.order))}{' DESC' if self.descending else ''}"
        return f"{self.call or 'RANK()'} OVER ({parts.strip()})"

    def value(self, row: Row) -> Value:
        assert isinstance(row, PickedRow)
        key = [part.value(row) for part in self.partition]
        members = [each for each in row.picked if [part.value(each) for part in self.partition] == key]
        if self.call is not None:
            return self.call.value(Group({}, members))
        (order,) = self.order
        return 1 + sum(self._is_before(order.value(each), order.value(row)) for each in members)

    def _is_before(self, one: Value, other: Value) -> bool:
        """NULL comes last, whatever the direction."""
        if one is None or other is None:
            return one is not None and other is None
        first, second = (other, one) if self.descending else (one, other)
        return bool(comparable(first) < comparable(second))
