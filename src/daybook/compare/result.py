"""The results of comparing two runs: a diff of their outputs, and a bridge that explains a total."""

import math
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Annotated, Literal, TypeAlias

from pydantic import computed_field

from daybook.model.json_fields import (
    ExactNumber,
    ExactValues,
    Hidden,
    Merged,
    Notices,
    OptionalExactNumber,
    OptionalExactValues,
    ShownAs,
    UnlessEmpty,
    UnlessNone,
    is_none,
    named,
)

# Exact where the column is; a float only for columns that are floats.
Number: TypeAlias = int | Decimal | float

# Of what two sums of the same floats may differ by.
_FLOAT_PARTS = 1e-9

# More causes than these are no picture; the smallest become one bar.
MOST_BARS = 12

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

    seq_a: Annotated[int, named("a")]
    seq_b: Annotated[int, named("b")]
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

    def __bool__(self) -> bool:
        return bool(self.a or self.b)


@dataclass(frozen=True, slots=True)
class ColumnTotal:
    """`difference` is `after` less `before`; both are 0 where no row has a value."""

    column: str
    before: ExactNumber
    after: ExactNumber
    difference: ExactNumber


@dataclass(frozen=True, slots=True)
class RowsOfKey:
    """How many rows of each side have a key."""

    a: int
    b: int


@dataclass(frozen=True, slots=True)
class RowChange:
    """A row by its key; `before` is None for an added row, `after` for a removed one.

    `rows_a` and `rows_b` are how many rows have the key; with more than one, numbers are sums over them.
    """

    key: ExactValues
    before: OptionalExactValues
    after: OptionalExactValues
    rows_a: Hidden[int] = 1
    rows_b: Hidden[int] = 1

    @computed_field(exclude_if=is_none)  # type: ignore[prop-decorator]
    @property
    def rows(self) -> RowsOfKey | None:
        """How many rows have the key, where it is more than one."""
        return RowsOfKey(self.rows_a, self.rows_b) if max(self.rows_a, self.rows_b) > 1 else None

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
    type_a: Annotated[str, named("a")]
    type_b: Annotated[str, named("b")]


@dataclass(frozen=True, slots=True)
class OneSidedColumns:
    """The columns that only one side has."""

    a: tuple[str, ...] = ()
    b: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.a or self.b)


def _run_id(run: ComparedRun) -> str:
    return run.run_id


RunById = Annotated[ComparedRun, ShownAs(_run_id, str)]


@dataclass(frozen=True, slots=True)
class DiffResult:
    """What two runs wrote, row by row; `changes` are the largest, `output` is the destination."""

    a: RunById
    b: RunById
    output: str
    operation: ComparedRows
    key: tuple[str, ...]
    key_origin: KeyOrigin
    rows: DiffCounts
    totals: tuple[ColumnTotal, ...]
    changes: tuple[RowChange, ...]
    repeated: UnlessEmpty[Annotated[RepeatedRowKeys, named("repeated_keys")]] = RepeatedRowKeys()
    only_in: UnlessEmpty[OneSidedColumns] = OneSidedColumns()
    retyped: UnlessEmpty[tuple[RetypedColumn, ...]] = ()
    notices: Notices = ()

    @property
    def is_same(self) -> bool:
        """Whether the rows are the same on both sides."""
        return not (self.rows.added or self.rows.removed or self.rows.changed)


@dataclass(frozen=True, slots=True)
class CauseName:
    """What was swapped: a dataset by its id, an operation by its id; `label` is for people.

    `project` is where an operation or a parameter stands, in a bridge through several projects.
    """

    kind: CauseKind
    name: str
    label: str
    project: UnlessNone[str | None] = None

    @property
    def text(self) -> str:
        """As `--order` takes it."""
        return f"{self.kind}:{self.name}" if self.project is None else f"{self.kind}:{self.project}/{self.name}"


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

    key: ExactValues
    before: OptionalExactValues
    after: OptionalExactValues
    effect: OptionalExactNumber
    rows_a: Hidden[int] = 1
    rows_b: Hidden[int] = 1

    @computed_field(exclude_if=is_none)  # type: ignore[prop-decorator]
    @property
    def rows(self) -> RowsOfKey | None:
        """How many rows have the key, where it is more than one."""
        return RowsOfKey(self.rows_a, self.rows_b) if max(self.rows_a, self.rows_b) > 1 else None


@dataclass(frozen=True, slots=True)
class SwappedTogether:
    """Causes that were swapped in one step, and why."""

    together: tuple[CauseName, ...]
    reason: str | None


def _joined(members: tuple[CauseName, ...]) -> CauseName:
    """The name of a step that swapped several causes; its kind is that of the first."""
    names, labels = (member.name for member in members), (member.label for member in members)
    projects = {member.project for member in members}
    project = projects.pop() if len(projects) == 1 else None
    return CauseName(members[0].kind, " + ".join(names), " + ".join(labels), project)


@dataclass(frozen=True, slots=True)
class Cause:
    """One step of a bridge: the causes that were swapped, alone or `together` with the `reason`, and their share.

    `explained_by` is an operation of B that explains single rows of the data, as `daybook explain` takes them.
    """

    members: Merged[Annotated[tuple[CauseName, ...], ShownAs(_joined, CauseName)]]
    share: ExactNumber
    # The changes of data by their number, and the largest.
    rows: UnlessNone[RowCounts | None] = None
    largest: UnlessNone[tuple[RowEffect, ...] | None] = None
    repeated: UnlessEmpty[Annotated[RepeatedRowKeys, named("repeated_keys")]] = RepeatedRowKeys()
    explained_by: UnlessNone[int | None] = None
    reason: Hidden[str | None] = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def swapped(self) -> Merged[SwappedTogether | None]:
        return SwappedTogether(self.members, self.reason) if self.is_together else None

    @property
    def kind(self) -> CauseKind:
        return self.members[0].kind

    @property
    def name(self) -> str:
        return _joined(self.members).name

    @property
    def label(self) -> str:
        return _joined(self.members).label

    @property
    def project(self) -> str | None:
        return _joined(self.members).project

    @property
    def is_together(self) -> bool:
        return len(self.members) > 1


@dataclass(frozen=True, slots=True)
class CauseShare:
    """What a cause moved in one group."""

    kind: CauseKind
    name: str
    share: ExactNumber
    project: UnlessNone[str | None] = None

    @classmethod
    def of(cls, members: tuple[CauseName, ...], share: Number) -> "CauseShare":
        cause = _joined(members)
        return cls(cause.kind, cause.name, share, cause.project)


@dataclass(frozen=True, slots=True)
class GroupBridge:
    """The bridge of one group, with the causes in the order of the whole bridge."""

    key: ExactValues
    before: ExactNumber
    after: ExactNumber
    causes: tuple[CauseShare, ...]

    @property
    def shares(self) -> tuple[Number, ...]:
        return tuple(cause.share for cause in self.causes)


def _texts(names: tuple[CauseName, ...]) -> list[str]:
    return [name.text for name in names]


@dataclass(frozen=True, slots=True)
class BridgeResult:
    """Why a total moved: `before` plus the shares of the causes plus `residual` is `after`.

    `order` lists every cause that was looked at, in the order of swapping; `causes` those whose swap changed something.
    `by` is None unless groups were asked for.
    """

    a: RunById
    b: RunById
    output: str
    operation: ComparedRows
    measure: str
    before: ExactNumber
    after: ExactNumber
    difference: ExactNumber = field(init=False, default=0)
    residual: ExactNumber
    order: Annotated[tuple[CauseName, ...], ShownAs(_texts, list[str])]
    causes: tuple[Cause, ...]
    by: UnlessNone[tuple[GroupBridge, ...] | None] = None
    notices: Notices = ()
    # How many times the project was computed.
    computations: Hidden[int] = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "difference", subtract(self.after, self.before))

    @property
    def is_same(self) -> bool:
        """Whether nothing that the two runs were made of differs."""
        return not self.order and not self.causes

    @property
    def small_causes(self) -> tuple[Cause, ...]:
        """The causes that a picture shows as one bar: the smallest ones, where there are more than a person reads."""
        if len(self.causes) <= MOST_BARS:
            return ()
        by_size = sorted(self.causes, key=lambda cause: abs(float(cause.share)), reverse=True)
        small = {id(cause) for cause in by_size[MOST_BARS - 1 :]}
        return tuple(cause for cause in self.causes if id(cause) in small)

    @property
    def bars(self) -> tuple[tuple[str, Number, Cause | None], ...]:
        """The label and the share of every bar of a picture, with its cause unless it stands for several."""
        small = self.small_causes
        single = tuple((cause.label, cause.share, cause) for cause in self.causes if cause not in small)
        if not small:
            return single
        return (*single, (f"{len(small)} smaller causes", add(*(cause.share for cause in small)), None))


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
