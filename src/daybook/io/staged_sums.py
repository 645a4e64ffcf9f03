"""Sums of columns over staged Parquet files, read back without Spark: evidence of what was written."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from daybook.io.filesystem import arrow_path, join_uri
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.io.writer import StagedOutput
from daybook.model.measures import Amount, plus

_INTEGERS = pa.decimal128(19, 0)
# A sum of ten billion numbers of so many digits fits into 38. Of longer ones pyarrow would give a wrong sum, silently.
_MOST_DIGITS = 28


@dataclass(frozen=True, slots=True)
class StagedRows:
    """The rows that an operation made, and whether they are deleted."""

    maker: int | None
    is_deleted: bool


def sums_of_staged(
    staged: StagedOutput,
    columns: Sequence[str],
    *,
    maker: str | None,
    deleted: str | None,
    storage: Storage = PROVIDER_STORAGE,
) -> dict[tuple[str, StagedRows], Amount]:
    """The sum of each column by the rows' maker and state; `maker` and `deleted` are columns, None where all are alike.

    NULL counts as zero.
    """
    sums: dict[tuple[str, StagedRows], Amount] = {}
    paths = (join_uri(staged.staging, file.path) for file in staged.files)
    names = (*columns, *(name for name in (maker, deleted) if name is not None))
    for table in _tables(paths, names, storage):
        for rows, part in _divided(table, maker, deleted):
            for column in columns:
                key = (column, rows)
                amount = sum_of(part.column(column))
                sums[key] = plus(sums[key], amount) if key in sums else amount
    return sums


def _tables(paths: Iterable[str], columns: Sequence[str], storage: Storage) -> Iterator[pa.Table]:
    for path in paths:
        place = arrow_path(path, storage)
        with place.system.open_input_file(place.path) as stream:
            for batch in pq.ParquetFile(stream).iter_batches(1 << 20, columns=list(dict.fromkeys(columns))):
                yield pa.Table.from_batches([batch])


def _divided(table: pa.Table, maker: str | None, deleted: str | None) -> Iterator[tuple[StagedRows, pa.Table]]:
    makers = pc.unique(table.column(maker)).to_pylist() if maker is not None else [None]
    states = pc.unique(table.column(deleted)).to_pylist() if deleted is not None else [False]
    for number in makers:
        for is_deleted in states:
            part = table
            if len(makers) > 1:
                part = part.filter(pc.equal(part.column(maker), number))
            if len(states) > 1:
                part = part.filter(pc.equal(part.column(deleted), is_deleted))
            yield StagedRows(number, bool(is_deleted)), part


def sum_of(values: pa.ChunkedArray) -> Amount:
    """The exact sum of numbers; of floats, as close as floats are."""
    if pa.types.is_floating(values.type):
        return float(pc.sum(values).as_py() or 0.0)
    if pa.types.is_integer(values.type):
        values = values.cast(_INTEGERS)
    if pa.types.is_null(values.type):
        return Decimal(0)
    scale = values.type.scale
    is_wide = values.type.precision > _MOST_DIGITS
    total = pc.sum(values.cast(pa.decimal256(76, scale) if is_wide else pa.decimal128(38, scale))).as_py()
    return Decimal(0).scaleb(-scale) if total is None else Decimal(total)
