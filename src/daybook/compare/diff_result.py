"""The result of a diff: what two runs wrote, row by row."""

from dataclasses import dataclass
from typing import Annotated, Literal

from daybook.compare.compared_run import NO_REPEATED_KEYS, ComparedRows, KeyedChange, RepeatedRowKeys, RunById
from daybook.model.json_fields import (
    ExactNumber,
    Notices,
    UnlessEmpty,
    named,
)

KeyOrigin = Literal["given", "group_by", "natural_key", "row_id"]


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
class ColumnTotal:
    """`difference` is `after` less `before`; both are 0 where no row has a value."""

    column: str
    before: ExactNumber
    after: ExactNumber
    difference: ExactNumber


@dataclass(frozen=True, slots=True)
class RowChange(KeyedChange):
    """A row by its key; `before` is None for an added row, `after` for a removed one.

    `rows_a` and `rows_b` are how many rows have the key; with more than one, numbers are sums over them.
    """

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
    repeated: UnlessEmpty[Annotated[RepeatedRowKeys, named("repeated_keys")]] = NO_REPEATED_KEYS
    only_in: UnlessEmpty[OneSidedColumns] = OneSidedColumns()
    retyped: UnlessEmpty[tuple[RetypedColumn, ...]] = ()
    notices: Notices = ()

    @property
    def is_same(self) -> bool:
        """Whether the rows are the same on both sides."""
        return not (self.rows.added or self.rows.removed or self.rows.changed)
