"""Windows: a value computed of the rows that an update picks, as they were before it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, cmp_to_key
from typing import Any

from daybook.model.types import INTEGER, MAX_DIGITS, ColumnType, DecimalType
from tests.reference.grouping import Aggregate, Group
from tests.reference.numbers import EXACT, FailedRunError, ValueFailureError, decimal_of, exact
from tests.reference.tree import Expression, Row, Value, comparable

ROW_ID = "_row_id"


class BadAllocationError(FailedRunError):
    """An amount that cannot be divided among the rows of a group."""


class UndecidedOrderError(ValueFailureError):
    """An order that ids decide which only a run makes; such projects are not compared."""


@dataclass(frozen=True)
class NewId:
    """Stands for an id the run makes: every one is different, none is known beforehand."""

    number: int


@dataclass(frozen=True)
class PickedRow(Mapping[str, Any]):
    """A row with all rows that the operation picks, and what decides between those equal in an order."""

    row: Row
    picked: Sequence[Row]
    natural_key: Sequence[str] = ()

    def __getitem__(self, name: str) -> Value:
        return self.row[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.row)

    def __len__(self) -> int:
        return len(self.row)


def compare_values(one: Value, other: Value, *, descending: bool = False) -> int:
    """NULL comes last, whatever the direction."""
    if one is None or other is None:
        return (one is None) - (other is None)
    first, second = (other, one) if descending else (one, other)
    a, b = comparable(first), comparable(second)
    return int(a > b) - int(a < b)


def compare_ids(one: Row, other: Row) -> int:
    """Ids that are known decide; rows that differ in nothing else may come in any order."""
    first, second = one[ROW_ID], other[ROW_ID]
    if isinstance(first, str) and isinstance(second, str):
        return int(first > second) - int(first < second)
    if first == second:
        return 0
    if {**one, ROW_ID: None} != {**other, ROW_ID: None}:
        raise UndecidedOrderError
    return first.number - second.number if isinstance(first, NewId) and isinstance(second, NewId) else 0


@dataclass(frozen=True)
class Window(Expression):
    """A function over the rows that are equal in `partition`, in the order of expressions, each perhaps descending.

    `call` is an aggregate, or one of the functions that only windows have, with its arguments.
    """

    call: Aggregate | str
    partition: tuple[Expression, ...]
    order: tuple[tuple[Expression, bool], ...] = ()
    arguments: tuple[Expression, ...] = ()

    @property
    def children(self) -> tuple[Expression, ...]:
        called = (self.call,) if isinstance(self.call, Aggregate) else self.arguments
        return (*called, *self.partition, *(each for each, _ in self.order))

    @property
    def type(self) -> ColumnType:
        if isinstance(self.call, Aggregate):
            return self.call.type
        return self.arguments[0].type if self.arguments else INTEGER

    @property
    def type_alone(self) -> ColumnType:
        return self.call.type_alone if isinstance(self.call, Aggregate) else self.type

    @property
    def is_too_wide(self) -> bool:
        """Whether an allocation may need more than 38 digits."""
        if self.call != "ALLOCATE":
            return False
        amount, weight = (decimal_of(each.type, each.digits) for each in self.arguments)
        return amount.precision + weight.precision > MAX_DIGITS or amount.precision + amount.scale > MAX_DIGITS

    def __str__(self) -> str:
        given = ", ".join(map(str, self.arguments))
        called = self.call if isinstance(self.call, Aggregate) else f"{self.call}({given})"
        parts = [", ".join(map(str, self.partition))] if self.partition else []
        if self.order:
            listed = (f"{each}{' DESC' if is_descending else ''}" for each, is_descending in self.order)
            parts.append(f"ORDER BY {', '.join(listed)}")
        return f"{called} OVER ({' '.join(parts)})"

    def value(self, row: Row) -> Value:
        assert isinstance(row, PickedRow)
        members = self._members(row)
        if isinstance(self.call, Aggregate):
            rows = self._up_to(row, members) if self.order else members
            return self.call.value(Group({}, rows))
        match self.call:
            case "RANK":
                return 1 + sum(self._compare_written(each, row.row) < 0 for each in members)
            case "ROW_NUMBER":
                return len(self._up_to(row, members))
            case "PREVIOUS":
                return self._beside(row, members, -1)
            case "NEXT":
                return self._beside(row, members, 1)
            case _:
                return Allocation(self, members, row.natural_key).share_of(row.row)

    def _members(self, row: PickedRow) -> list[Row]:
        key = [part.value(row) for part in self.partition]
        return [each for each in row.picked if [part.value(each) for part in self.partition] == key]

    def _sorted(self, members: Sequence[Row], natural_key: Sequence[str]) -> list[Row]:
        def compare(one: Row, other: Row) -> int:
            written = self._compare_written(one, other)
            return written or compare_ties(one, other, natural_key)

        return sorted(members, key=cmp_to_key(compare))

    def _compare_written(self, one: Row, other: Row) -> int:
        found = (
            compare_values(each.value(one), each.value(other), descending=is_descending)
            for each, is_descending in self.order
        )
        return next((each for each in found if each), 0)

    def _place(self, row: PickedRow, ordered: Sequence[Row]) -> int:
        return next(place for place, each in enumerate(ordered) if each is row.row)

    def _up_to(self, row: PickedRow, members: Sequence[Row]) -> list[Row]:
        ordered = self._sorted(members, row.natural_key)
        return ordered[: self._place(row, ordered) + 1]

    def _beside(self, row: PickedRow, members: Sequence[Row], step: int) -> Value:
        ordered = self._sorted(members, row.natural_key)
        place = self._place(row, ordered) + step
        return self.arguments[0].value(ordered[place]) if 0 <= place < len(ordered) else None


def compare_ties(one: Row, other: Row, natural_key: Sequence[str]) -> int:
    found = (compare_values(one[name], other[name]) for name in natural_key)
    return next((each for each in found if each), 0) or compare_ids(one, other)


@dataclass(frozen=True)
class Allocation:
    """An amount divided among the rows of a group, in exact fractions."""

    window: Window
    members: Sequence[Row]
    natural_key: Sequence[str]

    @cached_property
    def amount(self) -> Value:
        """The same on all rows, or the run fails."""
        values = [self.window.arguments[0].value(each) for each in self.members]
        known = {exact(value) for value in values if value is not None}
        if len(known) > 1 or (known and None in values):
            raise BadAllocationError(str(self.window))
        return values[0]

    @cached_property
    def weights(self) -> list[Fraction]:
        found = [self.window.arguments[1].value(each) for each in self.members]
        weights = [Fraction(0) if value is None else Fraction(exact(value)) for value in found]
        if min(weights) < 0:
            raise BadAllocationError(str(self.window))
        return weights

    def share_of(self, row: Row) -> Value:
        total = sum(self.weights)
        if self.amount is None:
            return None
        kind = self.window.type
        scale = kind.scale if isinstance(kind, DecimalType) else 0
        units = abs(int(exact(self.amount).scaleb(scale, EXACT)))
        if units and not total:
            raise BadAllocationError(str(self.window))
        place = next(place for place, each in enumerate(self.members) if each is row)
        share = self._units(units)[place] if units else 0
        signed = -share if self.amount < 0 else share
        return Decimal(signed).scaleb(-scale, EXACT) if isinstance(kind, DecimalType) else signed

    def _units(self, units: int) -> list[int]:
        total = sum(self.weights)
        exactly = [units * weight / total for weight in self.weights]
        whole = [share.numerator // share.denominator for share in exactly]
        left = units - sum(whole)
        remainders = [share - part for share, part in zip(exactly, whole, strict=True)]
        for place in self._favoured(remainders, left):
            whole[place] += 1
        return whole

    def _favoured(self, remainders: Sequence[Fraction], left: int) -> list[int]:
        """The rows that get one of the units left over; ids only matter where they decide who does."""
        if not left:
            return []
        places = sorted(range(len(remainders)), key=lambda place: -remainders[place])
        last = remainders[places[left - 1]]
        certain = [place for place in places if remainders[place] > last]
        equal = [place for place in places if remainders[place] == last]
        if len(certain) + len(equal) == left:
            return certain + equal

        def compare(one: int, other: int) -> int:
            return compare_ties(self.members[one], self.members[other], self.natural_key)

        return certain + sorted(equal, key=cmp_to_key(compare))[: left - len(certain)]
