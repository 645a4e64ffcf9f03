"""Changes of datasets that break projects which follow the latest version."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from daybook.definitions.column_changes import ColumnChange, find_column_changes
from daybook.definitions.column_usage import StoredColumnUsage
from daybook.errors import DaybookError
from daybook.model.definition import DatasetVersion


@dataclass(frozen=True, slots=True)
class BreakingChange:
    """A column that operations use is no longer what they were validated against."""

    dataset_id: str
    validated_version: int
    version: int
    change: ColumnChange
    operations: tuple[int, ...]

    def as_data(self) -> dict[str, Any]:
        return {
            "dataset_id": self.dataset_id,
            "validated_version": self.validated_version,
            "version": self.version,
            "column": self.change.column,
            "change": self.change.kind,
            "before": self.change.before,
            "after": self.change.after,
            "operations": list(self.operations),
        }

    def as_error(self) -> DaybookError:
        plural = "s" if len(self.operations) > 1 else ""
        return DaybookError(
            "STORE_025",
            operations=f"Operation{plural} {', '.join(str(seq) for seq in self.operations)}",
            column=self.change.column,
            dataset_id=self.dataset_id,
            change=str(self.change),
            version=self.version,
            hint=f"adapt the project, or pin `dataset_version: {self.validated_version}`",
        )


def find_breaking_changes(
    validated: DatasetVersion, latest: DatasetVersion, usage: Iterable[StoredColumnUsage]
) -> tuple[BreakingChange, ...]:
    """Breaking changes of columns that are used through references which follow the latest version."""
    users: dict[str, set[int]] = {}
    for use in usage:
        if use.dataset_id == validated.dataset.id and not use.is_pinned:
            users.setdefault(use.column, set()).add(use.operation_seq)
    return tuple(
        BreakingChange(
            validated.dataset.id, validated.version, latest.version, change, tuple(sorted(users[change.column]))
        )
        for change in find_column_changes(validated.dataset, latest.dataset)
        if change.is_breaking and change.column in users
    )
