"""What changed between two versions of a dataset, column by column."""

from dataclasses import dataclass
from typing import Literal

from daybook.model.dataset import ColumnDef, Dataset
from daybook.model.types import DecimalType

ChangeKind = Literal["added", "removed", "retyped", "narrowed", "widened"]

BREAKING: frozenset[ChangeKind] = frozenset({"removed", "retyped", "narrowed"})


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """`before` and `after` are the column's type, with `not null` where NULL is not allowed."""

    column: str
    kind: ChangeKind
    before: str | None
    after: str | None

    @property
    def is_breaking(self) -> bool:
        return self.kind in BREAKING

    def __str__(self) -> str:
        match self.kind:
            case "added":
                return f"is new as {self.after}"
            case "removed":
                return "is removed"
            case "retyped":
                return f"becomes {self.after} instead of {self.before}"
            case "narrowed":
                return f"is narrowed from {self.before} to {self.after}"
            case "widened":
                return f"is widened from {self.before} to {self.after}"


def column_changes(before: Dataset, after: Dataset) -> tuple[ColumnChange, ...]:
    """In the order of the columns before, then the new ones."""
    old = {column.name: column for column in before.main_table.columns}
    new = {column.name: column for column in after.main_table.columns}
    changes = [_compare(column, new.get(name)) for name, column in old.items()]
    added = [ColumnChange(name, "added", None, _describe(column)) for name, column in new.items() if name not in old]
    return (*(change for change in changes if change), *added)


def _compare(old: ColumnDef, new: ColumnDef | None) -> ColumnChange | None:
    if new is None:
        return ColumnChange(old.name, "removed", _describe(old), None)
    kind = _kind(old, new)
    return ColumnChange(old.name, kind, _describe(old), _describe(new)) if kind else None


def _kind(old: ColumnDef, new: ColumnDef) -> ChangeKind | None:
    match old.type, new.type:
        case DecimalType() as before, DecimalType() as after:
            loses_digits = after.precision - after.scale < before.precision - before.scale
            is_narrower, is_wider = loses_digits or after.scale < before.scale, after != before
        case before, after if before != after:
            return "retyped"
        case _:
            is_narrower = is_wider = False
    if is_narrower or (old.nullable and not new.nullable):
        return "narrowed"
    if is_wider or (new.nullable and not old.nullable):
        return "widened"
    return None


def _describe(column: ColumnDef) -> str:
    return str(column.type) if column.nullable else f"{column.type} not null"
