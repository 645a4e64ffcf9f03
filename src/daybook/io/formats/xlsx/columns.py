"""How columns are written into a sheet, and what their values must not be: looked at before the first cell is."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from daybook.errors import DaybookError
from daybook.io.formats.xlsx.cells import MAX_COLUMNS, MAX_ROWS
from daybook.io.formats.xlsx.values import SIGNIFICANT_DIGITS
from daybook.io.target import OutputColumn
from daybook.model.types import (
    BooleanType,
    ColumnType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    NullType,
    StringType,
    TimestampType,
)

MAX_TEXT = 32_767
# One row is the header.
MAX_DATA_ROWS = MAX_ROWS - 1
_MIN_WIDTH, _MAX_WIDTH = 8, 60
_FILTER_BUTTON = 2
_FIRST_YEAR = 1900
# Trailing zeros of more places than these would only be noise.
_SHOWN_PLACES = 4


@dataclass(frozen=True, slots=True)
class SheetColumn:
    """A column of a sheet; `is_text` when its numbers are written as text since some have more than 15 digits."""

    name: str
    type: ColumnType
    width: int
    is_text: bool = False

    @property
    def number_format(self) -> str | None:
        return None if self.is_text else number_format(self.type)


def number_format(type_: ColumnType) -> str | None:
    """As many places as the column's scale; None where the general format is right."""
    match type_:
        case DecimalType(_, 0):
            return "#,##0"
        case DecimalType(_, scale) if scale <= _SHOWN_PLACES:
            return f"#,##0.{'0' * scale}"
        case DecimalType(_, scale):
            return f"#,##0.00{'#' * (scale - 2)}"
        case IntegerType():
            return "0"
        case DateType():
            return "yyyy-mm-dd"
        case TimestampType():
            return "yyyy-mm-dd hh:mm:ss"
        case FloatType() | StringType() | BooleanType() | NullType():
            return None
        case _:
            assert_never(type_)


def examine_rows(
    batches: Iterable[pa.RecordBatch], columns: Iterable[OutputColumn], place: str, *, long_numbers_as_text: bool
) -> tuple[tuple[SheetColumn, ...], int]:
    """The columns as they are written and the number of rows; IO_029 or IO_056 for what no sheet holds."""
    found = {
        column.name: SheetColumn(column.name, column.type, len(column.name) + _FILTER_BUTTON) for column in columns
    }
    if len(found) > MAX_COLUMNS:
        raise DaybookError("IO_056", location=place, reason=f"a sheet has {MAX_COLUMNS:,} columns, not {len(found):,}")
    rows = 0
    for batch in batches:
        rows += batch.num_rows
        for name, column in found.items():
            values = batch.column(name)
            _refuse_values(values, column, place)
            if not column.is_text and has_long_numbers(values, column.type):
                if not long_numbers_as_text:
                    raise _long_number(values, column, place)
                column = replace(column, is_text=True)
            found[name] = replace(column, width=max(column.width, _text_width(values, column.type)))
    if rows > MAX_DATA_ROWS:
        hint = "write CSV, Parquet or Delta, or fewer rows: one workbook for each region or account"
        reason = f"a sheet holds {MAX_DATA_ROWS:,} rows below its header, not {rows:,}"
        raise DaybookError("IO_056", location=place, reason=reason, hint=hint)
    return tuple(replace(column, width=_bounded_width(column.width)) for column in found.values()), rows


def _bounded_width(characters: int) -> int:
    return min(max(characters + 2, _MIN_WIDTH), _MAX_WIDTH)


def _refuse_values(values: pa.Array, column: SheetColumn, place: str) -> None:
    match column.type:
        case StringType():
            reason = _long_text(values)
        case FloatType():
            is_odd = pc.any(pc.invert(pc.is_finite(values))).as_py()
            reason = "a spreadsheet has no NaN and no Infinity" if is_odd else None
        case DateType() | TimestampType():
            first = pc.min(pc.year(values)).as_py()
            is_early = first is not None and first < _FIRST_YEAR
            reason = f"a spreadsheet has no dates before {_FIRST_YEAR}, like {first}" if is_early else None
        case _:
            reason = None
    if reason is not None:
        raise DaybookError("IO_029", location=place, column=column.name, reason=reason)


def _long_text(values: pa.Array) -> str | None:
    """Spreadsheets count characters beyond the first 65,536 twice."""
    longest = pc.max(pc.utf8_length(values)).as_py() or 0
    if 2 * longest > MAX_TEXT:
        longest = max(len(text.encode("utf-16-le")) // 2 for text in values.to_pylist() if text is not None)
    return f"a cell holds {MAX_TEXT:,} characters, not {longest:,}" if longest > MAX_TEXT else None


def has_long_numbers(values: pa.Array, type_: ColumnType) -> bool:
    """Whether some number has more than 15 significant digits; those of floats are not exact anyway."""
    return next(_long_numbers(values, type_), None) is not None


def _long_numbers(values: pa.Array, type_: ColumnType) -> Iterator[Decimal]:
    match type_:
        case DecimalType(precision, scale):
            if precision <= SIGNIFICANT_DIGITS:
                return
            limit = Decimal(10) ** (SIGNIFICANT_DIGITS - scale)
        case IntegerType():
            limit = Decimal(10**SIGNIFICANT_DIGITS)
        case _:
            return
    # The rule of thumb first, since Python looks at single values only.
    for value in values.filter(_is_beyond(values, limit)).to_pylist():
        if value is not None and significant_digits(Decimal(value)) > SIGNIFICANT_DIGITS:
            yield Decimal(value)


def _is_beyond(values: pa.Array, limit: Decimal) -> pa.Array:
    """Values that may have more digits: in doubles, with a margin for what they round."""
    return pc.greater(pc.abs(pc.cast(values, pa.float64(), safe=False)), float(limit) * 0.99)


def significant_digits(value: Decimal) -> int:
    digits = "".join(map(str, value.as_tuple().digits)).strip("0")
    return len(digits)


def _long_number(values: pa.Array, column: SheetColumn, place: str) -> DaybookError:
    value = next(_long_numbers(values, column.type))
    hint = "ROUND it or give it a `type`, or write the column as text: `options: {long_numbers: text}`"
    reason = f"{value:f} has more than {SIGNIFICANT_DIGITS} significant digits"
    return DaybookError("IO_029", location=place, column=column.name, reason=reason, hint=hint)


def _text_width(values: pa.Array, type_: ColumnType) -> int:
    """How many characters the widest value takes, about."""
    match type_:
        case StringType():
            return min(pc.max(pc.utf8_length(values)).as_py() or 0, _MAX_WIDTH)
        case IntegerType() | DecimalType():
            places = min(type_.scale, _SHOWN_PLACES) if isinstance(type_, DecimalType) else 0
            bounds: Mapping[str, Any] = pc.min_max(values).as_py()
            return max((len(f"{bound:,.{places}f}") for bound in bounds.values() if bound is not None), default=0)
        case FloatType():
            return SIGNIFICANT_DIGITS
        case DateType():
            return len("2026-01-31")
        case TimestampType():
            return len("2026-01-31 12:30:00")
        case BooleanType() | NullType():
            return len("FALSE")
        case _:
            assert_never(type_)
