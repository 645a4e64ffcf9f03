"""The results of comparing two runs: a diff of their outputs, and a bridge that explains a total."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Literal, TypeAlias

from daybook.errors import Notice
from daybook.model.types import Value

# Exact where the column is; a float only for columns that are floats.
Number: TypeAlias = int | Decimal | float

# Of what two sums of the same floats may differ by.
_FLOAT_PARTS = 1e-9

# No sum of columns, which have at most 38 digits, needs more digits.
_WIDE = Context(prec=100)

KeyOrigin = Literal["given", "group_by", "natural_key", "row_id"]
CauseKind = Literal["data", "as_of", "dataset", "parameter", "timestamp", "period", "definition"]
OperationChange = Literal["changed", "added", "removed", "moved"]


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One side of a comparison; `is_computed` when its rows were computed again instead of read from its table."""

    run_id: str
    project_id: str
    project_version: int
    period: str
    is_draft: bool = False
    is_computed: bool = False


@dataclass(frozen=True, slots=True)
class ComparedRows:
    """Which rows of an output are compared: those that one operation made, 0 being the loaded rows.

    `name` is the operation's name; the two seqs differ where the operation was moved.
    """

    seq_a: int
    seq_b: int
    name: str


@dataclass(frozen=True, slots=True)
class DiffCounts:
    """Rows on each side, and how they compare: `a` = removed + changed + same, `b` = added + changed + same."""

    a: int
    b: int
    added: int
    removed: int
    changed: int
    same: int


@dataclass(frozen=True, slots=True)
class RepeatedRowKeys:
    """How many keys occur more than once on each side; their rows are compared as a whole, never as pairs."""

    a: int = 0
    b: int = 0


@dataclass(frozen=True, slots=True)
class ColumnTotal:
    """`difference` is `after` less `before`; both are 0 where no row has a value."""

    column: str
    before: Number
    after: Number
    difference: Number


@dataclass(frozen=True, slots=True)
class RowChange:
    """A row by its key; `before` is None for an added row, `after` for a removed one.

    `rows_a` and `rows_b` are how many rows have the key; with more than one, numbers are sums over them.
    """

    key: Mapping[str, Value]
    before: Mapping[str, Value] | None
    after: Mapping[str, Value] | None
    rows_a: int = 1
    rows_b: int = 1

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns whose values differ; all columns for an added or removed row."""
        before, after = self.before, self.after
        if before is None or after is None:
            return tuple((before or after) or {})
        return tuple(name for name in before if before[name] != after.get(name))


@dataclass(frozen=True, slots=True)
class RetypedColumn:
    column: str
    type_a: str
    type_b: str


@dataclass(frozen=True, slots=True)
class DiffResult:
    """What two runs wrote, row by row; `changes` are the largest, `output` is the destination."""

    a: ComparedRun
    b: ComparedRun
    output: str
    operation: ComparedRows
    key: tuple[str, ...]
    key_origin: KeyOrigin
    rows: DiffCounts
    totals: tuple[ColumnTotal, ...]
    changes: tuple[RowChange, ...]
    repeated: RepeatedRowKeys = RepeatedRowKeys()
    only_in_a: tuple[str, ...] = ()
    only_in_b: tuple[str, ...] = ()
    retyped: tuple[RetypedColumn, ...] = ()
    notices: tuple[Notice, ...] = ()

    @property
    def is_same(self) -> bool:
        """Whether the rows are the same on both sides."""
        return not (self.rows.added or self.rows.removed or self.rows.changed)


@dataclass(frozen=True, slots=True)
class CauseName:
    """What was swapped: a dataset by its id, an operation by its id; `label` is for people."""

    kind: CauseKind
    name: str
    label: str

    @property
    def text(self) -> str:
        """As `--order` takes it."""
        return f"{self.kind}:{self.name}"


@dataclass(frozen=True, slots=True)
class RowCounts:
    added: int
    removed: int
    changed: int


@dataclass(frozen=True, slots=True)
class RowEffect:
    """A row of a dataset that changed, and what it did to the measure; `effect` is None where that is not known.

    `rows_a` and `rows_b` are how many rows have the key; with more than one, numbers and the effect are sums over them.
    """

    key: Mapping[str, Value]
    before: Mapping[str, Value] | None
    after: Mapping[str, Value] | None
    effect: Number | None
    rows_a: int = 1
    rows_b: int = 1


@dataclass(frozen=True, slots=True)
class Cause:
    """One step of a bridge: the causes that were swapped, alone or `together` with the `reason`, and their share.

    `explained_by` is an operation of B that explains single rows of the data, as `daybook explain` takes them.
    """

    members: tuple[CauseName, ...]
    share: Number
    rows: RowCounts | None = None
    largest: tuple[RowEffect, ...] = ()
    reason: str | None = None
    explained_by: int | None = None
    repeated: RepeatedRowKeys = RepeatedRowKeys()

    @property
    def kind(self) -> CauseKind:
        return self.members[0].kind

    @property
    def name(self) -> str:
        return " + ".join(member.name for member in self.members)

    @property
    def label(self) -> str:
        return " + ".join(member.label for member in self.members)

    @property
    def is_together(self) -> bool:
        return len(self.members) > 1


@dataclass(frozen=True, slots=True)
class GroupBridge:
    """The bridge of one group; `shares` are in the order of the causes."""

    key: Mapping[str, Value]
    before: Number
    after: Number
    shares: tuple[Number, ...]


@dataclass(frozen=True, slots=True)
class BridgeResult:
    """Why a total moved: `before` plus the shares of the causes plus `residual` is `after`.

    `order` lists every cause that was looked at, in the order of swapping; `causes` those whose swap changed something.
    `by` is None unless groups were asked for.
    """

    a: ComparedRun
    b: ComparedRun
    output: str
    operation: ComparedRows
    measure: str
    before: Number
    after: Number
    residual: Number
    order: tuple[CauseName, ...]
    causes: tuple[Cause, ...]
    by: tuple[GroupBridge, ...] | None = None
    notices: tuple[Notice, ...] = field(default=())
    # How many times the project was computed.
    computations: int = 0

    @property
    def difference(self) -> Number:
        return subtract(self.after, self.before)

    @property
    def is_same(self) -> bool:
        """Whether nothing that the two runs were made of differs."""
        return not self.order and not self.causes


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
