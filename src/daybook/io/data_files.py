"""The Parquet files that hold the rows of a table, or the rows that a session gave, and the columns that are read."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from daybook.io.bindings import Binding
from daybook.io.filesystem import arrow_path
from daybook.io.storage import Storage


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file by its absolute path or URI, with the partition values of its rows as text."""

    path: str
    partitions: Mapping[str, str | None] = field(default_factory=dict)
    size: int = 0
    # What all rows have in the column `_period`, where the file's statistics prove it.
    only_period: str | None = None
    # The names of the stored columns in this file, None for those that it lacks; None where all are as in the table.
    stored_names: Mapping[str, str | None] | None = None
    # The positions of rows that are no longer part of the table.
    deleted: pa.Array | None = None

    def name_of(self, column: str) -> str | None:
        return column if self.stored_names is None else self.stored_names[column]

    def holds_same_rows(self, other: "DataFile") -> bool:
        """Whether the same rows of one file belong to a table, under the same names."""
        if self.stored_names != other.stored_names or self.partitions != other.partitions:
            return False
        if self.deleted is None or other.deleted is None:
            return self.deleted is other.deleted
        return bool(self.deleted.equals(other.deleted))

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


@dataclass(frozen=True, slots=True)
class FetchedRows:
    """All rows of a table that only a session reads, in the columns of the bindings; they have no place in a file."""

    rows: pa.Table
    bindings: tuple[Binding, ...]
    may_repeat_ids: bool


_BATCH_ROWS = 1 << 14


def parquet_batches(path: str, storage: Storage) -> Iterator[pa.RecordBatch]:
    at = arrow_path(path, storage)
    with at.system.open_input_file(at.path) as stream:
        # Old 96-bit timestamps have nanoseconds of their own; as microseconds they have the range of all others.
        file = pq.ParquetFile(stream, coerce_int96_timestamp_unit="us")
        yield from file.iter_batches(_BATCH_ROWS, use_threads=False)
