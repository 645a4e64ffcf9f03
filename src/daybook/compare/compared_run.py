"""What the results of a diff and a bridge have in common: the runs, and rows by their keys."""

from dataclasses import dataclass, field
from typing import Annotated

from pydantic import computed_field

from daybook.model.json_fields import (
    ExactValues,
    Hidden,
    OptionalExactValues,
    ShownAs,
    is_none,
    named,
)


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
class RepeatedRowKeys:
    """How many keys occur more than once on each side; their rows are compared as a whole, never as pairs."""

    a: int = 0
    b: int = 0

    def __bool__(self) -> bool:
        return bool(self.a or self.b)


NO_REPEATED_KEYS = RepeatedRowKeys()


@dataclass(frozen=True, slots=True)
class RowsOfKey:
    """How many rows of each side have a key."""

    a: int
    b: int


def _run_id(run: ComparedRun) -> str:
    return run.run_id


RunById = Annotated[ComparedRun, ShownAs(_run_id, str)]


@dataclass(frozen=True, slots=True)
class KeyedChange:
    """What one key has on each side; `before` is None for an added row, `after` for a removed one.

    `rows_a` and `rows_b` are how many rows have the key; with more than one, numbers are sums over them.
    """

    key: ExactValues
    before: OptionalExactValues
    after: OptionalExactValues
    rows_a: Hidden[int] = field(default=1, kw_only=True)
    rows_b: Hidden[int] = field(default=1, kw_only=True)

    @computed_field(exclude_if=is_none)  # type: ignore[prop-decorator]
    @property
    def rows(self) -> RowsOfKey | None:
        """How many rows have the key, where it is more than one."""
        return RowsOfKey(self.rows_a, self.rows_b) if max(self.rows_a, self.rows_b) > 1 else None
