"""Batches of rows that are landed, and rows that repeat a natural key.

A natural key identifies a row within its period and slice, and in a bitemporal table from a day on. Deleted rows and
rows without a whole key, such as totals, are not counted.
"""

import reprlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from daybook.errors import DaybookError, Notice, notice
from daybook.expression import quote_identifier
from daybook.io.bindings import Binding, checked_options
from daybook.io.column_types import BadValueError, parse_texts
from daybook.io.filesystem import arrow_path
from daybook.io.storage import PROVIDER_STORAGE, ArrowPath, Storage
from daybook.model.dataset import Dataset
from daybook.model.definition import DatasetVersion
from daybook.model.types import RUN_PERIOD_COLUMN
from daybook.resolve.location import Location

if TYPE_CHECKING:
    # Rows are landed without Spark, too.
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Batch:
    """Typed columns by the name they get, and the position of its n-th row in the source, for messages.

    `cell` gives the position of a column of a row, in sources that have one for each.
    """

    columns: dict[str, pa.Array]
    rows: int
    where: Callable[[int], str]
    cell: Callable[[int, str], str] | None = None
    # The position of every row, stored with it, in sources in which people look up rows.
    positions: pa.Array | None = None

    def position(self, index: int, column: str) -> str:
        return self.cell(index, column) if self.cell is not None else self.where(index)


@dataclass(frozen=True, slots=True)
class ImpliedColumns:
    """What a file need not hold: constants its folders name, and columns its table has NULL where they are missing."""

    constants: Mapping[str, str | None]
    promised: frozenset[str] = frozenset()

    def stored(self, own: Iterable[str]) -> list[str]:
        return [*own, *self.constants, *sorted(self.promised)]

    def column(self, binding: Binding, rows: int, file: str) -> pa.Array:
        """A constant or NULL column for a binding that the file itself lacks."""
        text = pa.array([self.constants.get(binding.stored)], pa.string())
        try:
            value = parse_texts(text, binding.type)[0]
        except BadValueError as bad:
            declared = str(binding.type)
            raise DaybookError("IO_015", file=file, column=binding.stored, declared=declared, value=bad.value) from None
        return pa.repeat(value, rows)


NO_IMPLIED_COLUMNS = ImpliedColumns({})


class RowSource(Protocol):
    """One file or table being landed; `carried` and `extra` are known once it was read to its end."""

    name: str
    carried: frozenset[str]
    extra: frozenset[str]

    def batches(self) -> Iterator[Batch]: ...


class FileRows:
    """What the readers of single files have in common: the file, the declaration, and options of its format."""

    format: ClassVar[str]

    def __init__(
        self,
        path: str,
        location: Location,
        version: DatasetVersion,
        given: ImpliedColumns = NO_IMPLIED_COLUMNS,
        storage: Storage = PROVIDER_STORAGE,
    ) -> None:
        self.name = path
        self._storage = storage
        self.carried: frozenset[str] = frozenset()
        self.extra: frozenset[str] = frozenset()
        self._given = given
        self._version = version
        self._location = location
        self._options = checked_options(self.format, location.options)

    def _at(self) -> ArrowPath:
        """Where pyarrow finds the file."""
        return arrow_path(self.name, self._storage)


def check_nulls(batch: Batch, bindings: tuple[Binding, ...], file: str) -> None:
    """IO_006 for the first NULL in a column that may hold none."""
    for binding in bindings:
        if binding.is_nullable or binding.name not in batch.columns:
            continue
        column = batch.columns[binding.name]
        if column.null_count:
            index = column.is_null().index(True).as_py()
            raise DaybookError("IO_006", file=file, place=batch.position(index, binding.name), column=binding.name)


# Lists and objects of JSON may be deep.
_SHORT = reprlib.Repr()


def bad_value_error(file: str, place: str, column: str, value: object, declared: object) -> DaybookError:
    shown = repr(value) if isinstance(value, str) else _SHORT.repr(value)
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    return DaybookError("IO_004", file=file, place=place, column=column, value=shown, declared=str(declared))


def row_position_from(start: int) -> Callable[[int], str]:
    """How a row of a table is named in messages, by its number in the result."""
    return lambda index: f"row {start + index + 1}"


_MAX_SHOWN_VALUE = 60


@dataclass(frozen=True, slots=True)
class RepeatedKeys:
    """How many rows repeat the natural key of another row, and one such key as text."""

    rows: int
    sample: str


def is_asked_for(dataset: Dataset) -> bool:
    """Whether repeated keys must be counted by an additional aggregate."""
    return bool(dataset.natural_key_columns) and dataset.on_duplicate_key in ("error", "warn")


def key_columns(dataset: Dataset, carried: Collection[str]) -> list[str]:
    """What no two live rows may share; none without a natural key."""
    if not dataset.natural_key_columns:
        return []
    within = ["_period", RUN_PERIOD_COLUMN]
    if dataset.main_table.temporal_mode == "bitemporal":
        within.append("_valid_from")
    return [*dataset.natural_key_columns, *(name for name in within if name in carried)]


def find_repeated(table: pa.Table, dataset: Dataset) -> RepeatedKeys | None:
    """Those of rows held in memory."""
    key = key_columns(dataset, table.column_names)
    if not key:
        return None
    is_counted = reduce(pc.and_, (pc.is_valid(table.column(name)) for name in dataset.natural_key_columns))
    if "_deleted" in table.column_names:
        is_counted = pc.and_(is_counted, pc.invert(pc.fill_null(table.column("_deleted"), False)))
    groups = table.select(key).filter(is_counted).group_by(key).aggregate([([], "count_all")])
    repeated = groups.filter(pc.greater(groups.column("count_all"), 1))
    if not repeated.num_rows:
        return None
    first = repeated.sort_by([(name, "ascending") for name in key]).slice(0, 1).select(key).to_pylist()[0]
    return RepeatedKeys(pc.sum(repeated.column("count_all")).as_py() - repeated.num_rows, _in_words(first))


def find_repeated_by_spark(
    df: "DataFrame", dataset: Dataset, carried: Collection[str], periods: tuple[str, ...] = ()
) -> RepeatedKeys | None:
    """Those of a frame, by one aggregate over the rows of the periods."""
    from pyspark.sql import functions as F

    key = key_columns(dataset, carried)
    if not key:
        return None
    columns = [F.col(quote_identifier(name)) for name in key]
    conditions = [F.col(quote_identifier(name)).isNotNull() for name in dataset.natural_key_columns]
    if "_deleted" in carried:
        conditions.append(~F.coalesce(F.col("_deleted"), F.lit(False)))
    by_period = RUN_PERIOD_COLUMN if RUN_PERIOD_COLUMN in carried else "_period"
    if periods and dataset.main_table.temporal_mode == "period" and by_period in carried:
        conditions.append(F.col(by_period).isin(*periods))
    groups = df.where(reduce(and_, conditions)).groupBy(*columns).agg(F.count(F.lit(1)).alias("__count"))
    repeated = groups.where(F.col("__count") > 1).agg(
        F.sum(F.col("__count") - 1).alias("rows"), F.min(F.struct(*columns)).alias("sample")
    )
    row = repeated.collect()[0]
    return RepeatedKeys(row["rows"], _in_words(row["sample"].asDict())) if row["rows"] else None


def report_repeated(dataset: Dataset, repeated: RepeatedKeys | None, location: str) -> tuple[Notice, ...]:
    """What the dataset wants to be done about them: an error, a notice, or nothing."""
    if repeated is None or dataset.on_duplicate_key == "allow":
        return ()
    if dataset.on_duplicate_key == "error":
        raise DaybookError("IO_039", location=location, rows=repeated.rows, key=repeated.sample)
    return (notice("IO_039", location=location, rows=repeated.rows, key=repeated.sample),)


def _in_words(key: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {_shortened(str(value))}" for name, value in key.items() if value is not None)


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN_VALUE else f"{text[: _MAX_SHOWN_VALUE - 3]}..."
