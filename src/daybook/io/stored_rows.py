"""Stored rows that are read in batches without Spark, with conditions and an order.

A comparison is exact: 2.505 compared with a column of two decimals is not rounded first.
"""

import datetime
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Decimal, localcontext
from typing import TYPE_CHECKING, Any, Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from daybook.errors import DaybookError
from daybook.errors.error import did_you_mean
from daybook.io.column_types import BadValueError, arrow_type, parse_texts
from daybook.io.filesystem import arrow_path
from daybook.io.landing.batches import RowSource
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.io.target import OutputColumn
from daybook.model.dataset import ColumnDef, Dataset, MainTable
from daybook.model.definition import DatasetVersion
from daybook.model.types import (
    SYSTEM_COLUMNS,
    BooleanType,
    ColumnType,
    DecimalType,
    FloatType,
    IntegerType,
    StringType,
    Value,
    value_text,
)

if TYPE_CHECKING:
    import pyarrow.dataset as pads


Comparison = Literal["=", "!=", "<", "<=", ">", ">=", "contains", "starts_with", "is_null", "is_not_null"]
COMPARISONS: tuple[Comparison, ...] = get_args(Comparison)
_NULL_COMPARISONS = ("is_null", "is_not_null")
_TEXT_COMPARISONS = ("contains", "starts_with")
_ORDERED_COMPARISONS = ("<", "<=", ">", ">=")
_INTEGER_DIGITS = 19
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)")
_MAX_NUMBER_LENGTH = 100


@dataclass(frozen=True, slots=True)
class RowCondition:
    """One comparison; `value` is a value of the column, or its text. NULL fulfils no comparison but `is_null`."""

    column: str
    comparison: str
    value: Value = None


@dataclass(frozen=True, slots=True)
class RowOrder:
    """Rows by one column; NULL comes last in both directions."""

    column: str
    is_descending: bool = False


@dataclass(frozen=True, slots=True)
class TypedCondition:
    """A condition whose value has the type of the column; `scalar` is None where all or no values fulfil it."""

    column: str
    comparison: Comparison
    scalar: pa.Scalar | None = None
    # For values beyond what the column can hold.
    is_always: bool = False

    def mask(self, batch: pa.RecordBatch) -> pa.Array:
        """Which rows fulfil it; False, not NULL, for the others."""
        values = batch.column(self.column)
        if self.comparison == "is_null":
            return pc.is_null(values)
        if self.comparison == "is_not_null" or (self.scalar is None and self.is_always):
            return pc.is_valid(values)
        if self.scalar is None:
            return pa.repeat(pa.scalar(False), len(values))
        if self.comparison in _TEXT_COMPARISONS:
            matches = _TEXT_FUNCTIONS[self.comparison](values, self.scalar.as_py())
        else:
            matches = _FUNCTIONS[self.comparison](values, self.scalar)
        return pc.fill_null(matches, False)

    def expression(self) -> pc.Expression | None:
        """The same for statistics of files; None where they say nothing."""
        if self.scalar is None or self.comparison not in _FUNCTIONS:
            return None
        return _FUNCTIONS[self.comparison](pc.field(self.column), self.scalar)


# Of arrays they give arrays, of fields expressions.
_FUNCTIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}

_TEXT_FUNCTIONS: Mapping[str, Callable[[Any, str], Any]] = {
    "contains": lambda values, text: pc.match_substring(values, text, ignore_case=True),
    "starts_with": lambda values, text: pc.starts_with(values, text, ignore_case=True),
}


def type_conditions(
    conditions: Sequence[RowCondition], columns: Sequence[OutputColumn], output: str
) -> tuple[TypedCondition, ...]:
    """Every condition checked against the columns of an output."""
    types = {column.name: column.type for column in columns}
    return tuple(_type_condition(condition, _column_type(condition.column, types, output)) for condition in conditions)


def check_order(order: Sequence[RowOrder], columns: Sequence[OutputColumn], output: str) -> None:
    types = {column.name: column.type for column in columns}
    for row_order in order:
        _column_type(row_order.column, types, output)


def _column_type(name: str, types: Mapping[str, ColumnType], output: str) -> ColumnType:
    if (type_ := types.get(name)) is None:
        raise DaybookError("RUN_080", output=output, column=name, hint=did_you_mean(name, types))
    return type_


def _type_condition(condition: RowCondition, type_: ColumnType) -> TypedCondition:
    name, comparison = condition.column, _comparison_for(condition, type_)
    if comparison in _NULL_COMPARISONS:
        if condition.value is not None:
            raise _bad_value(condition, type_)
        return TypedCondition(name, comparison)
    if condition.value is None:
        raise _bad_value(condition, type_)
    match type_:
        case DecimalType(precision, scale):
            return _number_condition(condition, comparison, type_, precision, scale)
        case IntegerType():
            return _number_condition(condition, comparison, type_, _INTEGER_DIGITS, 0)
        case _:
            return TypedCondition(name, comparison, _scalar(condition, type_))


def _comparison_for(condition: RowCondition, type_: ColumnType) -> Comparison:
    """The comparison, if columns of this type have it."""
    for comparison in COMPARISONS:
        if comparison == condition.comparison and comparison in comparisons_of(type_):
            return comparison
    allowed = ", ".join(comparisons_of(type_))
    raise DaybookError(
        "RUN_081", column=condition.column, type=str(type_), comparison=condition.comparison, allowed=allowed
    )


def comparisons_of(type_: ColumnType) -> tuple[Comparison, ...]:
    """The comparisons that a column of a type has."""
    left_out = {
        *(() if isinstance(type_, StringType) else _TEXT_COMPARISONS),
        *(_ORDERED_COMPARISONS if isinstance(type_, BooleanType) else ()),
    }
    return tuple(comparison for comparison in COMPARISONS if comparison not in left_out)


def _bad_value(condition: RowCondition, type_: ColumnType) -> DaybookError:
    value = "nothing" if condition.value is None else repr(value_text(condition.value))
    return DaybookError(
        "RUN_082", column=condition.column, type=str(type_), comparison=condition.comparison, value=value
    )


def _scalar(condition: RowCondition, type_: ColumnType) -> pa.Scalar:
    value = condition.value
    if isinstance(type_, FloatType) and isinstance(value, int | float) and not isinstance(value, bool):
        return pa.scalar(float(value), pa.float64())
    if isinstance(value, bool) != isinstance(type_, BooleanType) and not isinstance(value, str):
        raise _bad_value(condition, type_)
    text = value if isinstance(value, str) else value_text(value)
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        text = f"{text}Z"
    try:
        return parse_texts(pa.array([text], pa.string()), type_)[0]
    except BadValueError:
        raise _bad_value(condition, type_) from None


def _number_condition(
    condition: RowCondition, comparison: Comparison, type_: ColumnType, precision: int, scale: int
) -> TypedCondition:
    """A number with more digits than the column is compared by the next smaller one that the column can hold."""
    number = _exact_number(condition, type_)
    with localcontext() as context:
        context.prec = _MAX_NUMBER_LENGTH * 2
        floor = number.quantize(Decimal(1).scaleb(-scale), ROUND_FLOOR)
        is_exact = floor == number
        limit = Decimal(10) ** (precision - scale)
    low, high = (Decimal(-(2**63)), Decimal(2**63)) if isinstance(type_, IntegerType) else (-limit, limit)
    if floor >= high or floor < low or (floor == low and isinstance(type_, DecimalType)):
        is_above = floor >= high
        is_always = comparison == "!=" or comparison in (("<", "<=") if is_above else (">", ">="))
        return TypedCondition(condition.column, comparison, is_always=is_always)
    if not is_exact:
        if comparison in ("=", "!="):
            return TypedCondition(condition.column, comparison, is_always=comparison == "!=")
        comparison = "<=" if comparison in ("<", "<=") else ">"
    value = int(floor) if isinstance(type_, IntegerType) else floor
    return TypedCondition(condition.column, comparison, pa.scalar(value, arrow_type(type_)))


def _exact_number(condition: RowCondition, type_: ColumnType) -> Decimal:
    value = condition.value
    if isinstance(value, bool | float | datetime.date):
        raise _bad_value(condition, type_)
    text = value.strip() if isinstance(value, str) else value_text(value)
    if len(text) > _MAX_NUMBER_LENGTH or not _NUMBER.fullmatch(text):
        raise _bad_value(condition, type_)
    return Decimal(text)


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
    storage: Storage = PROVIDER_STORAGE
    # What columns are named in the file, where that is another name.
    names: Mapping[str, str] = field(default_factory=dict)

    def name_of(self, column: OutputColumn) -> str:
        return self.names.get(column.name, column.name)


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
        place = arrow_path(self.part.path, self.part.storage)
        stored = set(self.metadata.schema.to_arrow_schema().names)
        stored_columns = [name for column in columns if (name := self.part.name_of(column)) in stored]
        with place.system.open_input_file(place.path) as source:
            file = pq.ParquetFile(source, metadata=self.metadata, pre_buffer=False)
            if not stored_columns:
                yield from self._without_stored(columns, size)
                return
            groups = file.iter_batches(size, row_groups=[self.group], columns=stored_columns, use_threads=False)
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
            if (name := self.part.name_of(column)) in batch.schema.names:
                values = batch.column(name)
                arrays.append(values if values.type == type_ else values.cast(type_))
            else:
                constant = pa.scalar(self.part.constants.get(column.name), pa.string()).cast(type_)
                arrays.append(pa.repeat(constant, batch.num_rows))
        return pa.RecordBatch.from_arrays(arrays, [column.name for column in columns])

    def may_hold(self, conditions: Sequence[TypedCondition]) -> bool:
        schema = self.fragment.physical_schema
        expressions = [
            expression
            for condition in conditions
            if condition.column in schema.names and (expression := condition.expression()) is not None
        ]
        if not expressions:
            return True
        whole: pc.Expression = expressions[0]
        for other in expressions[1:]:
            whole = whole & other
        try:
            return bool(self.fragment.subset(filter=whole, schema=schema).row_groups)
        except pa.ArrowInvalid:
            # Statistics of another type than the column's say nothing.
            return True


def parquet_rows(columns: Sequence[OutputColumn], parts: Sequence[ParquetPart], location: str) -> StoredRows:
    """The rows of Parquet files, one block for every row group; IO_009 for files that have been removed."""
    with ThreadPoolExecutor(_FOOTER_READERS) as pool:
        blocks = [
            block
            for blocks_of_part in pool.map(lambda part: _open_blocks(part, location), parts)
            for block in blocks_of_part
        ]
    return StoredRows(tuple(columns), tuple(blocks))


def _open_blocks(part: ParquetPart, location: str) -> list[_ParquetBlock]:
    place = arrow_path(part.path, part.storage)
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
    # Users may write a reserved name that they may not declare.
    declared = tuple(
        ColumnDef.model_construct(name=column.name, type=column.type)
        for column in columns
        if column.name not in SYSTEM_COLUMNS
    )
    return DatasetVersion(Dataset(id="output", name="output", main_table=MainTable(name="output", columns=declared)), 1)
