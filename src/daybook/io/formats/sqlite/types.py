"""Values in SQLite, which has no decimals, dates or booleans: exact texts, and 0 or 1."""

import datetime
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from daybook.io.formats.databases.types import SqlType, SqlTypes
from daybook.io.text_values import BadValueError, parse_texts
from daybook.model.types import (
    BooleanType,
    ColumnType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    StringType,
    TimestampType,
)

# Any decimal of so many digits survives being stored as a double.
_SAFE_DIGITS = 15
_SAFE_INTEGER = 1 << 53


@dataclass(frozen=True, slots=True)
class SqliteType(SqlType):
    """How a declared type is stored: a type name that says what is meant and that SQLite does not convert."""

    # SQLite lets every row have its own type, so every value is looked at.
    decode: Callable[[Sequence[Any], ColumnType], pa.Array]
    # How a value that is not NULL is stored; None when as it is.
    encode: Callable[[Any], Any] | None = None


def _texts(values: Sequence[Any], type_: ColumnType) -> pa.Array:
    _refuse_other_types(values, lambda value: isinstance(value, str))
    return parse_texts(pa.array(values, pa.string()), type_)


def _integers(values: Sequence[Any], type_: ColumnType) -> pa.Array:
    _refuse_other_types(values, lambda value: isinstance(value, int))
    return pa.array(values, pa.int64())


def _booleans(values: Sequence[Any], type_: ColumnType) -> pa.Array:
    _refuse_other_types(values, lambda value: isinstance(value, int) and value in (0, 1))
    return pa.array([None if value is None else bool(value) for value in values], pa.bool_())


def _floats(values: Sequence[Any], type_: ColumnType) -> pa.Array:
    _refuse_other_types(values, lambda v: isinstance(v, float) or (isinstance(v, int) and abs(v) <= _SAFE_INTEGER))
    return pa.array([None if value is None else float(value) for value in values], pa.float64())


def _decimals(values: Sequence[Any], type_: ColumnType) -> pa.Array:
    texts = [_decimal_text(value, index) for index, value in enumerate(values)]
    return parse_texts(pa.array(texts, pa.string()), type_)


def _refuse_other_types(values: Sequence[Any], is_kind: Callable[[Any], bool]) -> None:
    for index, value in enumerate(values):
        if value is not None and not is_kind(value):
            raise BadValueError(index, value)


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
            raise BadValueError(index, value)


def _timestamp_text(value: datetime.datetime) -> str:
    return value.replace(tzinfo=None).isoformat() + "Z"


def _refuse_nan(value: float) -> float:
    if math.isnan(value):
        raise ValueError("SQLite stores NaN as NULL")
    return value


SQLITE_TYPES = SqlTypes(
    {
        StringType: SqliteType("TEXT", _texts),
        IntegerType: SqliteType("INTEGER", _integers),
        DecimalType: SqliteType("DECIMAL_TEXT", _decimals, lambda value: format(value, "f")),
        FloatType: SqliteType("REAL", _floats, _refuse_nan),
        BooleanType: SqliteType("BOOLEAN", _booleans, int),
        DateType: SqliteType("DATE_TEXT", _texts, lambda value: value.isoformat()),
        TimestampType: SqliteType("TIMESTAMP_TEXT", _texts, _timestamp_text),
    }
)
