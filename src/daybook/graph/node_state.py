"""The state of a node, with the reasons why it is out of date."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from daybook.store.records import RunRecord

# `unknown`: a source changed, and nobody has looked yet whether in the rows that this node loads.
NodeState: TypeAlias = Literal["fresh", "stale", "unknown", "never", "failed", "running", "blocked"]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a node is out of date, or may be; `cause` is what all nodes share that are so for the same reason."""

    text: str
    cause: str
    is_unknown: bool = False


@dataclass(frozen=True, slots=True)
class NodeFreshness:
    """`details`: what changed since the run, why there is no run, or what nobody has looked at."""

    state: NodeState
    run: RunRecord | None
    details: tuple[Reason, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(reason.text for reason in self.details))
