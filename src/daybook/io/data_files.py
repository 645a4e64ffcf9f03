"""The Parquet files that hold the rows of a table, and the columns that are read of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from daybook.io.bindings import Binding


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file by its absolute path or URI, with the partition values of its rows as text."""

    path: str
    partitions: Mapping[str, str | None] = field(default_factory=dict)
    size: int = 0
    # What all rows have in the column `_period`, where the file's statistics prove it.
    only_period: str | None = None

    def period(self, column: str) -> str | None:
        """The period of all rows in a column, if it is known."""
        if column in self.partitions:
            return self.partitions[column]
        return self.only_period if column == "_period" else None


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The files of a table at a version, found and checked, with the folder that their paths are relative to."""

    files: tuple[DataFile, ...]
    bindings: tuple[Binding, ...]
    # Stored columns whose values are those of the files' partitions.
    partitions: frozenset[str]
    root: str
    may_repeat_ids: bool
