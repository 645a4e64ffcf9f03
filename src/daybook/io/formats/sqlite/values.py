"""Values in SQLite, which has no decimals, dates or booleans: exact texts, and 0 or 1."""

import datetime
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, assert_never

import pyarrow as pa

from daybook.io.column_types import arrow_type
from daybook.io.text_values import BadValue, parse
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

# Any decimal of so many digits survives being stored as a double.
_SAFE_DIGITS = 15
_SAFE_INTEGER = 1 << 53


def column_type(type_: ColumnType) -> str:
    """A type name that says what is meant and that SQLite stores without converting."""
    match type_:
        case StringType():
            return "TEXT"
        case IntegerType():
            return "INTEGER"
        case DecimalType(precision, scale):
            return f"DECIMAL_TEXT({precision},{scale})"
        case FloatType():
            return "REAL"
        case BooleanType():
            return "BOOLEAN"
        case DateType():
            return "DATE_TEXT"
        case TimestampType():
            return "TIMESTAMP_TEXT"
        case NullType():
            raise TypeError("no column has the type null")
        case _:
            assert_never(type_)


def declared_type(stored: str) -> str:
    """The declared type that is stored as this one; the stored one itself when there is none."""
    names = {
        "TEXT": "string",
        "INTEGER": "integer",
        "REAL": "float",
        "BOOLEAN": "boolean",
        "DATE_TEXT": "date",
        "TIMESTAMP_TEXT": "timestamp",
    }
    if stored.startswith("DECIMAL_TEXT("):
        return stored.replace("DECIMAL_TEXT", "decimal")
    return names.get(stored, stored)


def to_sqlite(type_: ColumnType) -> Callable[[Any], Any] | None:
    """How a value is stored; None when as it is."""
    match type_:
        case DecimalType():
            return lambda value: None if value is None else format(value, "f")
        case BooleanType():
            return lambda value: None if value is None else int(value)
        case DateType():
            return lambda value: None if value is None else value.isoformat()
        case TimestampType():
            return lambda value: None if value is None else _timestamp_text(value)
        case FloatType():
            return _refuse_nan
        case StringType() | IntegerType() | NullType():
            return None
        case _:
            assert_never(type_)


def _timestamp_text(value: datetime.datetime) -> str:
    return value.replace(tzinfo=None).isoformat() + "Z"


def _refuse_nan(value: float | None) -> float | None:
    if value is not None and math.isnan(value):
        raise ValueError("SQLite stores NaN as NULL")
    return value


def from_sqlite(values: Sequence[Any], type_: ColumnType) -> pa.Array:
    """A column as the declared type; SQLite lets every row have its own, so every value is looked at."""
    match type_:
        case StringType() | DateType() | TimestampType():
            _expect(values, lambda value: isinstance(value, str))
            return parse(pa.array(values, pa.string()), type_)
        case IntegerType():
            _expect(values, lambda value: isinstance(value, int))
            return pa.array(values, pa.int64())
        case BooleanType():
            _expect(values, lambda value: isinstance(value, int) and value in (0, 1))
            return pa.array([None if value is None else bool(value) for value in values], arrow_type(type_))
        case FloatType():
            _expect(values, lambda v: isinstance(v, float) or (isinstance(v, int) and abs(v) <= _SAFE_INTEGER))
            return pa.array([None if value is None else float(value) for value in values], pa.float64())
        case DecimalType():
            texts = [_decimal_text(value, index) for index, value in enumerate(values)]
            return parse(pa.array(texts, pa.string()), type_)
        case NullType():
            raise TypeError("no column has the type null")
        case _:
            assert_never(type_)


def _expect(values: Sequence[Any], is_kind: Callable[[Any], bool]) -> None:
    for index, value in enumerate(values):
        if value is not None and not is_kind(value):
            raise BadValue(index, value)


def _decimal_text(value: Any, index: int) -> str | None:
    """A double counts as the decimal somebody wrote when it has few enough digits to be certain."""
    match value:
        case None:
            return None
        case int():
            return str(value)
        case str():
            return value
        case float() if (
            math.isfinite(value) and len(Decimal(repr(value)).normalize().as_tuple().digits) <= _SAFE_DIGITS
        ):
            return format(Decimal(repr(value)), "f")
        case _:
            raise BadValue(index, value)
