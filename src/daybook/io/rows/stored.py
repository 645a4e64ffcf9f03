"""Stored rows that are read in batches without Spark."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from daybook.errors import DaybookError
from daybook.io.column_types import arrow_type
from daybook.io.filesystem import arrow_path
from daybook.io.landing.rows import RowSource
from daybook.io.rows.conditions import TypedCondition
from daybook.io.target import OutputColumn
from daybook.model.dataset import ColumnDef, Dataset, MainTable
from daybook.model.definition import DatasetVersion
from daybook.model.types import SYSTEM_COLUMNS

if TYPE_CHECKING:
    import pyarrow.dataset as pads

BATCH_ROWS = 1 << 17
_FOOTER_READERS = 8


class RowBlock(ABC):
    """Rows that lie together, in their order; they can be read more than once."""

    @property
    def rows(self) -> int | None:
        """How many, where that is known without reading them."""
        return None

    @abstractmethod
    def batches(self, columns: Sequence[OutputColumn], size: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The columns by name and in the types that are asked for."""
        ...

    def may_hold(self, conditions: Sequence[TypedCondition]) -> bool:
        """False where no row can fulfil all conditions."""
        return True


@dataclass(frozen=True, slots=True)
class StoredRows:
    """All rows of one output, one block after the other; of columnar blocks the columns can be read one by one."""

    columns: tuple[OutputColumn, ...]
    blocks: tuple[RowBlock, ...]
    is_columnar: bool = True


@dataclass(frozen=True, slots=True)
class ParquetPart:
    """A Parquet file and the columns it does not hold itself, as text; columns that are nowhere are NULL."""

    path: str
    constants: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class _ParquetBlock(RowBlock):
    """One row group of a file."""

    part: ParquetPart
    metadata: pq.FileMetaData
    group: int
    fragment: "pads.ParquetFileFragment"

    @property
    def rows(self) -> int:
        count: int = self.metadata.row_group(self.group).num_rows
        return count

    def batches(self, columns: Sequence[OutputColumn], size: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        place = arrow_path(self.part.path)
        stored = set(self.metadata.schema.to_arrow_schema().names)
        wanted = [column.name for column in columns if column.name in stored]
        with place.system.open_input_file(place.path) as source:
            file = pq.ParquetFile(source, metadata=self.metadata, pre_buffer=False)
            if not wanted:
                yield from self._without_stored(columns, size)
                return
            groups = file.iter_batches(size, row_groups=[self.group], columns=wanted, use_threads=False)
            for batch in groups:
                yield self._with_types(batch, columns)

    def _without_stored(self, columns: Sequence[OutputColumn], size: int) -> Iterator[pa.RecordBatch]:
        for start in range(0, self.rows, size):
            rows = min(size, self.rows - start)
            counted = pa.RecordBatch.from_arrays([pa.nulls(rows)], ["rows"])
            yield self._with_types(counted, columns)

    def _with_types(self, batch: pa.RecordBatch, columns: Sequence[OutputColumn]) -> pa.RecordBatch:
        if not columns:
            return batch
        arrays = []
        for column in columns:
            type_ = arrow_type(column.type)
            if column.name in batch.schema.names:
                values = batch.column(column.name)
                arrays.append(values if values.type == type_ else values.cast(type_))
            else:
                constant = pa.scalar(self.part.constants.get(column.name), pa.string()).cast(type_)
                arrays.append(pa.repeat(constant, batch.num_rows))
        return pa.RecordBatch.from_arrays(arrays, [column.name for column in columns])

    def may_hold(self, conditions: Sequence[TypedCondition]) -> bool:
        schema = self.fragment.physical_schema
        found = [
            expression
            for each in conditions
            if each.column in schema.names and (expression := each.expression()) is not None
        ]
        if not found:
            return True
        whole: pc.Expression = found[0]
        for other in found[1:]:
            whole = whole & other
        try:
            return bool(self.fragment.subset(filter=whole, schema=schema).row_groups)
        except pa.ArrowInvalid:
            # Statistics of another type than the column's say nothing.
            return True


def parquet_rows(columns: Sequence[OutputColumn], parts: Sequence[ParquetPart], location: str) -> StoredRows:
    """The rows of Parquet files, one block for every row group; IO_009 for files that have been removed."""
    with ThreadPoolExecutor(_FOOTER_READERS) as pool:
        blocks = [block for found in pool.map(lambda part: _open_blocks(part, location), parts) for block in found]
    return StoredRows(tuple(columns), tuple(blocks))


def _open_blocks(part: ParquetPart, location: str) -> list[_ParquetBlock]:
    place = arrow_path(part.path)
    try:
        with place.system.open_input_file(place.path) as source:
            metadata = pq.read_metadata(source)
    except FileNotFoundError as failure:
        raise DaybookError("IO_009", location=location, reason=f"{part.path} has been removed") from failure
    except (OSError, pa.ArrowInvalid) as failure:
        raise DaybookError("IO_012", location=part.path, reason=str(failure)) from failure
    # It brings pandas along, which takes longer to import than most commands run.
    import pyarrow.dataset as pads

    whole = pads.ParquetFileFormat().make_fragment(place.path, filesystem=place.system)
    groups = range(metadata.num_row_groups)
    return [_ParquetBlock(part, metadata, group, whole.subset(row_group_ids=[group])) for group in groups]


@dataclass(frozen=True, slots=True, eq=False)
class SourceBlock(RowBlock):
    """A file or table that is read as a whole, as landing reads it."""

    source: RowSource

    def batches(self, columns: Sequence[OutputColumn], size: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        for batch in self.source.batches():
            arrays = [
                batch.columns[column.name].cast(arrow_type(column.type))
                if column.name in batch.columns
                else pa.nulls(batch.rows, arrow_type(column.type))
                for column in columns
            ]
            whole = pa.RecordBatch.from_arrays(arrays, [column.name for column in columns])
            yield from (whole.slice(start, size) for start in range(0, whole.num_rows, size))


def dataset_of(columns: Sequence[OutputColumn]) -> DatasetVersion:
    """The columns of an output as a dataset, by which its files and tables are read."""
    declared = tuple(ColumnDef(name=each.name, type=each.type) for each in columns if each.name not in SYSTEM_COLUMNS)
    return DatasetVersion(Dataset(id="output", name="output", main_table=MainTable(name="output", columns=declared)), 1)
