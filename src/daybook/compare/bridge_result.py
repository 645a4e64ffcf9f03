"""The result of a bridge: why a total moved from one run to another."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import computed_field

from daybook.compare.compared_run import NO_REPEATED_KEYS, ComparedRows, KeyedChange, RepeatedRowKeys, RunById
from daybook.compare.exact_numbers import Number, add, subtract
from daybook.model.json_fields import (
    ExactNumber,
    ExactValues,
    Hidden,
    Merged,
    Notices,
    OptionalExactNumber,
    ShownAs,
    UnlessEmpty,
    UnlessNone,
    named,
)

# More causes than these are no picture; the smallest become one bar.
MOST_BARS = 12
CauseKind = Literal["data", "as_of", "dataset", "parameter", "timestamp", "period", "definition"]
OperationChange = Literal["changed", "added", "removed", "moved"]


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
class RowEffect(KeyedChange):
    """A row of a dataset that changed, and what it did to the measure; `effect` is None where that is not known.

    `rows_a` and `rows_b` are how many rows have the key; with more than one, numbers and the effect are sums over them.
    """

    effect: OptionalExactNumber


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
    repeated: UnlessEmpty[Annotated[RepeatedRowKeys, named("repeated_keys")]] = NO_REPEATED_KEYS
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
