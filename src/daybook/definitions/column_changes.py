"""How the columns of a dataset differ between two of its versions."""

from dataclasses import dataclass
from typing import Literal

from daybook.model.dataset import ColumnDef, Dataset
from daybook.model.definition import DatasetVersion
from daybook.model.types import DecimalType

ColumnChangeKind = Literal["added", "removed", "retyped", "narrowed", "widened"]

BREAKING_KINDS: frozenset[ColumnChangeKind] = frozenset({"removed", "retyped", "narrowed"})


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """`before` and `after` are the column's type, with `not null` where NULL is not allowed."""

    column: str
    kind: ColumnChangeKind
    before: str | None
    after: str | None

    @property
    def is_breaking(self) -> bool:
        return self.kind in BREAKING_KINDS

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


def find_column_changes(before: Dataset, after: Dataset) -> tuple[ColumnChange, ...]:
    """In the order of the columns before, then the new ones."""
    old = {column.name: column for column in before.main_table.columns}
    new = {column.name: column for column in after.main_table.columns}
    changes = [_compare_column(column, new.get(name)) for name, column in old.items()]
    added = [
        ColumnChange(name, "added", None, _describe_column(column)) for name, column in new.items() if name not in old
    ]
    return (*(change for change in changes if change), *added)


def added_columns(validated: DatasetVersion, latest: DatasetVersion) -> tuple[str, ...]:
    """Columns a newer version has on top."""
    changes = find_column_changes(validated.dataset, latest.dataset)
    return tuple(change.column for change in changes if change.kind == "added")


def _compare_column(old: ColumnDef, new: ColumnDef | None) -> ColumnChange | None:
    if new is None:
        return ColumnChange(old.name, "removed", _describe_column(old), None)
    kind = _column_change_kind(old, new)
    return ColumnChange(old.name, kind, _describe_column(old), _describe_column(new)) if kind else None


def _column_change_kind(old: ColumnDef, new: ColumnDef) -> ColumnChangeKind | None:
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


def _describe_column(column: ColumnDef) -> str:
    return str(column.type) if column.nullable else f"{column.type} not null"
