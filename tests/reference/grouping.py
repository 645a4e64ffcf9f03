"""Aggregates, evaluated over the rows of one group."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from daybook.model.types import FLOAT, INTEGER, MAX_DIGITS, ColumnType, DecimalType
from tests.reference.numbers import EXACT, arithmetic_type, as_type, decimal_of, exact
from tests.reference.tree import Expression, Row, Value, comparable


@dataclass(frozen=True)
class Group(Mapping[str, Any]):
    """The key columns of a group, and its rows for the aggregates."""

    key: Mapping[str, Value]
    rows: Sequence[Row]

    def __getitem__(self, name: str) -> Value:
        return self.key[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.key)

    def __len__(self) -> int:
        return len(self.key)


def total_type(type_: ColumnType) -> ColumnType:
    return FLOAT if type_ == FLOAT else DecimalType(MAX_DIGITS, decimal_of(type_).scale)


def average_type(type_: ColumnType) -> ColumnType:
    """That of SUM / COUNT."""
    return arithmetic_type("/", total_type(type_), INTEGER, (None, None))


def average_column_type(type_: ColumnType) -> ColumnType:
    """Of a new column that is an average alone."""
    counted = decimal_of(type_)
    if type_ == FLOAT or counted.scale + 4 > MAX_DIGITS:
        return average_type(type_)
    return DecimalType(min(MAX_DIGITS, counted.precision + 4), counted.scale + 4)


@dataclass(frozen=True)
class Aggregate(Expression):
    """`COUNT(*)` has no argument."""

    function: str
    argument: Expression | None = None

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.argument,) if self.argument else ()

    @cached_property
    def type(self) -> ColumnType:
        if self.argument is None or self.function in ("COUNT", "COUNT_ALL"):
            return INTEGER
        match self.function:
            case "SUM":
                return total_type(self.argument.type)
            case "AVG":
                return average_type(self.argument.type)
            case _:
                return self.argument.type

    @property
    def type_alone(self) -> ColumnType:
        if self.function == "AVG" and self.argument is not None:
            return average_column_type(self.argument.type)
        return self.type

    def __str__(self) -> str:
        if self.argument is None:
            return "COUNT_ALL()" if self.function == "COUNT_ALL" else "COUNT(*)"
        return f"{self.function}({self.argument})"

    def value(self, row: Row) -> Value:
        assert isinstance(row, Group)
        if self.argument is None or self.function == "COUNT_ALL":
            return len(row.rows)
        values = [value for member in row.rows if (value := self.argument.value(member)) is not None]
        match self.function:
            case "COUNT":
                return len(values)
            case "SUM":
                return as_type(self._total(values), self.type) if values else None
            case "AVG":
                return self._average(values) if values else None
            case "MIN_AGG":
                return min(values, key=comparable) if values else None
            case _:
                return max(values, key=comparable) if values else None

    def _total(self, values: Sequence[Value]) -> Decimal | float:
        if self.type == FLOAT:
            return float(sum(values))
        total = Decimal(0)
        for value in values:
            total = EXACT.add(total, exact(value))
        return total

    def _average(self, values: Sequence[Value]) -> Value:
        total = self._total(values)
        if isinstance(total, float):
            return total / len(values)
        return as_type(EXACT.divide(total, Decimal(len(values))), self.type)


def groups_of(rows: Sequence[Row], columns: Sequence[str]) -> list[Group]:
    """NULL is a group of its own."""
    found: dict[tuple[Value, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[column] for column in columns), []).append(row)
    return [Group(dict(zip(columns, key, strict=True)), members) for key, members in found.items()]
