"""Pages of stored rows: filtered, in order, with their totals, or all of them as CSV text.

A first pass reads the columns that conditions, order and totals need and counts; then only the blocks that hold rows of
the page are read with all columns. There are never more rows in memory than the page needs.
"""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from daybook.errors import DaybookError
from daybook.io.column_types import arrow_type
from daybook.io.formula_text import FORMULA_START
from daybook.io.stored_rows import BATCH_ROWS, RowBlock, RowOrder, StoredRows, TypedCondition
from daybook.io.target import OutputColumn
from daybook.model.types import (
    BooleanType,
    ColumnType,
    DecimalType,
    FloatType,
    IntegerType,
    StringType,
    TimestampType,
    value_text,
)

# Sorted rows are kept up to the end of the page; this many need little memory in every output.
MOST_SORTED_ROWS = 100_000
_FIRST_ROWS = 1 << 12
_READERS = min(4, os.cpu_count() or 1)
_BLOCK, _ROW = "__block", "__row"
# Sums of this many more digits than the values have do not overflow within a batch.
_BATCH_DIGITS = 6
_ARROW_DIGITS = 38
_WIDE_DIGITS = 76
_TOTAL_DIGITS = 100

Total = int | Decimal | float


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which rows; without an order they come as they are stored."""

    conditions: tuple[TypedCondition, ...] = ()
    order: tuple[RowOrder, ...] = ()
    offset: int = 0
    limit: int = 50
    # Of which columns the sums are wanted.
    totals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RowPage:
    """The rows of a page; `count` rows fulfil the conditions, and totals are sums over all of them."""

    rows: pa.Table
    count: int
    totals: Mapping[str, Total | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Survey:
    """What the first pass finds in a block; `best` are the first rows in the order, with their positions."""

    count: int
    sums: Mapping[str, Total | None]
    best: pa.Table | None


def is_summed(column: OutputColumn) -> bool:
    return isinstance(column.type, IntegerType | DecimalType | FloatType)


def read_page(stored: StoredRows, request: PageRequest) -> RowPage:
    end = request.offset + request.limit
    if request.order and end > MOST_SORTED_ROWS:
        raise DaybookError("RUN_083", bound=MOST_SORTED_ROWS)
    if not request.limit:
        request = replace(request, order=())
    surveys = _survey_blocks(stored, request)
    count = sum(survey.count for survey in surveys)
    totals = {name: _add(survey.sums.get(name) for survey in surveys) for name in request.totals}
    if not request.order:
        return RowPage(_stored_page(stored, request, [survey.count for survey in surveys]), count, totals)
    best = _merge([survey.best for survey in surveys if survey.best is not None], request)
    if best is None:
        return RowPage(_empty_table(stored.columns), count, totals)
    page = best.slice(request.offset, request.limit)
    return RowPage(_fetch(stored, page) if stored.is_columnar else _only(page, stored.columns), count, totals)


def all_batches(stored: StoredRows, request: PageRequest) -> Iterator[pa.RecordBatch]:
    """All rows that fulfil the conditions, in batches; in an order where they are few enough to be sorted."""
    if not request.order:
        blocks = (block for block in stored.blocks if block.may_hold(request.conditions))
        return (_filtered(batch, request.conditions) for block in blocks for batch in block.batches(stored.columns))
    page = read_page(stored, PageRequest(request.conditions, request.order, 0, MOST_SORTED_ROWS))
    if page.count > MOST_SORTED_ROWS:
        raise DaybookError("RUN_083", bound=MOST_SORTED_ROWS)
    return iter(page.rows.to_batches(BATCH_ROWS))


def _survey_blocks(stored: StoredRows, request: PageRequest) -> list[_Survey]:
    """In the order of the blocks; blocks whose count is known are not read for it."""
    names = {
        *(condition.column for condition in request.conditions),
        *(order.column for order in request.order),
        *request.totals,
    }
    columns = [column for column in stored.columns if column.name in names or not stored.is_columnar]

    def survey(numbered: tuple[int, RowBlock]) -> _Survey:
        number, block = numbered
        if not names and block.rows is not None:
            return _Survey(block.rows, {}, None)
        if not block.may_hold(request.conditions):
            return _Survey(0, {}, None)
        return _survey_block(number, block, columns, request)

    with ThreadPoolExecutor(_READERS) as pool:
        return list(pool.map(survey, enumerate(stored.blocks)))


def _survey_block(number: int, block: RowBlock, columns: Sequence[OutputColumn], request: PageRequest) -> _Survey:
    count = start = 0
    sums: dict[str, Total | None] = {}
    best: pa.Table | None = None
    for batch in block.batches(columns):
        positions = pa.array(np.arange(start, start + batch.num_rows)) if request.order else None
        start += batch.num_rows
        mask = _mask(batch, request.conditions)
        kept = batch if mask is None else batch.filter(mask)
        count += kept.num_rows
        for column in columns:
            if column.name in request.totals:
                sums[column.name] = _add((sums.get(column.name), _sum(kept.column(column.name), column)))
        if positions is not None:
            places = positions if mask is None else positions.filter(mask)
            numbers = pa.repeat(pa.scalar(number, pa.int64()), kept.num_rows)
            arrays = [*kept.columns, numbers, places]
            offered = pa.Table.from_arrays(arrays, [*kept.schema.names, _BLOCK, _ROW])
            best = _merge([offered] if best is None else [best, _better(offered, best, request)], request)
    return _Survey(count, sums, best)


def _better(offered: pa.Table, best: pa.Table, request: PageRequest) -> pa.Table:
    """Without rows that come after the last of those kept already: most of them, so that little is sorted."""
    if best.num_rows < request.offset + request.limit:
        return offered
    first = request.order[0]
    last = best.column(first.column)[best.num_rows - 1]
    if not last.is_valid or (pa.types.is_floating(last.type) and math.isnan(last.as_py())):
        return offered
    compare = pc.greater_equal if first.is_descending else pc.less_equal
    return offered.filter(compare(offered.column(first.column), last))


def _merge(parts: Sequence[pa.Table], request: PageRequest) -> pa.Table | None:
    """The first rows of all parts in the order; equal ones in the order they are stored."""
    if not parts:
        return None
    whole = pa.concat_tables(parts)
    keys = [(row_order.column, "descending" if row_order.is_descending else "ascending") for row_order in request.order]
    # Arrow sorts NULL and NaN last in both directions.
    order = pc.sort_indices(whole, sort_keys=[*keys, (_BLOCK, "ascending"), (_ROW, "ascending")])
    return whole.take(order.slice(0, request.offset + request.limit)).combine_chunks()


def _stored_page(stored: StoredRows, request: PageRequest, counts: Sequence[int]) -> pa.Table:
    """The rows of a page in the order they are stored; blocks before it are passed over."""
    skipped, missing = request.offset, request.limit
    parts: list[pa.RecordBatch] = []
    for block, count in zip(stored.blocks, counts, strict=True):
        if missing <= 0:
            break
        if skipped >= count:
            skipped -= count
            continue
        # The first page needs a few rows, so it decodes a few.
        size = _FIRST_ROWS if skipped + missing <= _FIRST_ROWS else BATCH_ROWS
        for batch in block.batches(stored.columns, size):
            kept = _filtered(batch, request.conditions)
            part = kept.slice(skipped, missing)
            skipped = max(0, skipped - kept.num_rows)
            missing -= part.num_rows
            parts.append(part)
            if missing <= 0:
                break
    return pa.Table.from_batches(parts) if parts else _empty_table(stored.columns)


def _fetch(stored: StoredRows, positions: pa.Table) -> pa.Table:
    """Whole rows by their positions, in the order of these."""
    positions_by_block: dict[int, list[tuple[int, int]]] = {}
    numbers, rows = positions.column(_BLOCK).to_pylist(), positions.column(_ROW).to_pylist()
    for rank, (number, row) in enumerate(zip(numbers, rows, strict=True)):
        positions_by_block.setdefault(number, []).append((row, rank))
    if not positions_by_block:
        return _empty_table(stored.columns)

    def take(number: int) -> list[pa.RecordBatch]:
        return _take(stored.blocks[number], stored.columns, sorted(row for row, _ in positions_by_block[number]))

    with ThreadPoolExecutor(_READERS) as pool:
        parts = [part for block_parts in pool.map(take, positions_by_block) for part in block_parts]
    ranks = [rank for places in positions_by_block.values() for _, rank in sorted(places)]
    return pa.Table.from_batches(parts).take(pc.sort_indices(pa.array(ranks, pa.int64())))


def _take(block: RowBlock, columns: Sequence[OutputColumn], rows: list[int]) -> list[pa.RecordBatch]:
    """Rows of a block by their positions, which are in order; reading ends with the last one."""
    parts = []
    start = taken = 0
    for batch in block.batches(columns):
        end = start + batch.num_rows
        here = [row - start for row in rows[taken:] if row < end]
        if here:
            parts.append(batch.take(pa.array(here, pa.int64())))
            taken += len(here)
        if taken == len(rows):
            break
        start = end
    return parts


def _mask(batch: pa.RecordBatch, conditions: Sequence[TypedCondition]) -> pa.Array | None:
    whole = None
    for condition in conditions:
        mask = condition.mask(batch)
        whole = mask if whole is None else pc.and_(whole, mask)
    return whole


def _filtered(batch: pa.RecordBatch, conditions: Sequence[TypedCondition]) -> pa.RecordBatch:
    mask = _mask(batch, conditions)
    return batch if mask is None else batch.filter(mask)


def _only(table: pa.Table, columns: Sequence[OutputColumn]) -> pa.Table:
    return table.select([column.name for column in columns])


def _empty_table(columns: Sequence[OutputColumn]) -> pa.Table:
    return pa.schema([(column.name, arrow_type(column.type)) for column in columns]).empty_table()


def _sum(values: pa.Array, column: OutputColumn) -> Total | None:
    """The exact sum of a batch, None where all values are NULL; Arrow's own sums of wide numbers overflow silently."""
    match column.type:
        case IntegerType():
            integer_sum = pc.sum(values.cast(pa.decimal128(19, 0))).as_py()
            return None if integer_sum is None else int(integer_sum)
        case DecimalType(precision, scale) if precision + _BATCH_DIGITS > _ARROW_DIGITS:
            values = values.cast(pa.decimal256(_WIDE_DIGITS, scale))
    total: Total | None = pc.sum(values).as_py()
    return total


def _add(values: Iterator[Total | None] | Sequence[Total | None]) -> Total | None:
    """Exactly, in decimals and whole numbers of any length."""
    numbers = [value for value in values if value is not None]
    if not numbers:
        return None
    if any(isinstance(value, float) for value in numbers):
        is_finite = all(map(math.isfinite, numbers))
        return math.fsum(numbers) if is_finite else float(sum(numbers))
    with localcontext() as context:
        context.prec = _TOTAL_DIGITS
        return sum(numbers[1:], start=numbers[0])


_NEEDS_QUOTES = r'[",\r\n]|^\s|\s$'


def csv_texts(columns: Sequence[OutputColumn], batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """A header and the rows: exact numbers, ISO dates, NULL an empty field and the empty text `""`.

    With one column NULL is `""`, too: many readers take an empty line for no row.
    Texts that a spreadsheet would take for formulas get an apostrophe in front.
    """
    header = pa.array([column.name for column in columns], pa.string())
    yield (",".join(_quoted(header).to_pylist()) + "\n").encode()
    for batch in batches:
        if batch.num_rows:
            null = '""' if len(columns) == 1 else ""
            texts = [pc.fill_null(_texts(batch.column(column.name), column.type), null) for column in columns]
            lines = pc.binary_join_element_wise(*texts, ",")
            yield ("\n".join(lines.to_pylist()) + "\n").encode()


def _texts(values: pa.Array, type_: ColumnType) -> pa.Array:
    match type_:
        case StringType():
            texts = _quoted(values)
        case DecimalType():
            texts = _decimal_texts(values)
        case BooleanType():
            texts = pc.if_else(values, "true", "false")
        case TimestampType():
            texts = pc.replace_substring(values.cast(pa.string()), " ", "T")
            texts = pc.replace_substring(texts, ".000000Z", "Z")
        case _:
            texts = values.cast(pa.string())
    return texts


def _quoted(values: pa.Array) -> pa.Array:
    is_formula = pc.match_substring_regex(values, FORMULA_START)
    safe = pc.if_else(is_formula, pc.binary_join_element_wise("'", values, ""), values)
    is_special = pc.or_(pc.match_substring_regex(safe, _NEEDS_QUOTES), pc.equal(safe, ""))
    doubled = pc.replace_substring(safe, '"', '""')
    return pc.if_else(is_special, pc.binary_join_element_wise('"', doubled, '"', ""), safe)


def _decimal_texts(values: pa.Array) -> pa.Array:
    """Arrow writes small numbers with an exponent; these are written out."""
    texts = values.cast(pa.string())
    has_exponent = pc.fill_null(pc.match_substring(texts, "E"), False)
    if not pc.any(has_exponent).as_py():
        return texts
    plain = [value_text(value.as_py()) for value in values.filter(has_exponent)]
    return pc.replace_with_mask(texts, has_exponent, pa.array(plain, pa.string()))
