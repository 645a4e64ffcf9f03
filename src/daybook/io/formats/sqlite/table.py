"""Opening SQLite databases.

Values in SQLite, which has no decimals, dates or booleans: exact texts, and 0 or 1.

Landing a SQLite table: every value checked, since a column's type binds nobody there.
"""

import datetime
import math
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, assert_never
from urllib.parse import quote

import pyarrow as pa

from daybook.errors import DaybookError, raise_all
from daybook.io.bindings import Binding, bind_columns, missing_column_errors
from daybook.io.column_types import arrow_type
from daybook.io.landing.rows import Batch, bad_value_error, row_position_from
from daybook.io.text_values import BadValueError, parse_texts
from daybook.model.datasource import DataSource, SqliteSource
from daybook.model.definition import DatasetVersion
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
from daybook.resolve.locations.location import Location

_BUSY_SECONDS = 60.0


def database_path(datasource: DataSource | None, workspace: Path) -> Path:
    if not isinstance(datasource, SqliteSource):
        raise ValueError("a SQLite table needs a data source of that type")
    return (workspace / datasource.options.path).absolute()


def open_for_reading(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise DaybookError("IO_001", location=str(path))
    try:
        return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=_BUSY_SECONDS)
    except sqlite3.Error as failure:
        raise DaybookError("IO_012", location=str(path), reason=str(failure)) from failure


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Transactions begin and end where the code says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    except sqlite3.Error as failure:
        raise DaybookError("IO_012", location=str(path), reason=str(failure)) from failure


def quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def columns_of(connection: sqlite3.Connection, table: str) -> dict[str, str] | None:
    """Columns with the types they were declared with; None when there is no such table."""
    found = connection.execute("select name, type from pragma_table_info(?)", (table,)).fetchall()
    return dict(found) if found else None


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


def value_encoder(type_: ColumnType) -> Callable[[Any], Any] | None:
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


def decode_values(values: Sequence[Any], type_: ColumnType) -> pa.Array:
    """A column as the declared type; SQLite lets every row have its own, so every value is looked at."""
    match type_:
        case StringType() | DateType() | TimestampType():
            _refuse_other_types(values, lambda value: isinstance(value, str))
            return parse_texts(pa.array(values, pa.string()), type_)
        case IntegerType():
            _refuse_other_types(values, lambda value: isinstance(value, int))
            return pa.array(values, pa.int64())
        case BooleanType():
            _refuse_other_types(values, lambda value: isinstance(value, int) and value in (0, 1))
            return pa.array([None if value is None else bool(value) for value in values], arrow_type(type_))
        case FloatType():
            _refuse_other_types(
                values, lambda v: isinstance(v, float) or (isinstance(v, int) and abs(v) <= _SAFE_INTEGER)
            )
            return pa.array([None if value is None else float(value) for value in values], pa.float64())
        case DecimalType():
            texts = [_decimal_text(value, index) for index, value in enumerate(values)]
            return parse_texts(pa.array(texts, pa.string()), type_)
        case NullType():
            raise TypeError("no column has the type null")
        case _:
            assert_never(type_)


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


_BATCH_ROWS = 20_000


class SqliteRows:
    def __init__(
        self, location: Location, version: DatasetVersion, workspace: Path, slices: frozenset[str] | None
    ) -> None:
        self._path = database_path(location.datasource, workspace)
        self._table = location.table_name
        self.name = f"{self._path.name}:{self._table}"
        self.carried: frozenset[str] = frozenset()
        self.extra: frozenset[str] = frozenset()
        self._location = location
        self._version = version
        self._slices = slices

    def batches(self) -> Iterator[Batch]:
        connection = open_for_reading(self._path)
        try:
            stored = columns_of(connection, self._table)
            if stored is None:
                raise DaybookError("IO_001", location=self.name)
            bindings = bind_columns(stored, self._version, self._location)
            raise_all(missing_column_errors(bindings, self.name))
            self.carried = frozenset(binding.name for binding in bindings.carried)
            self.extra = frozenset(bindings.extra)
            cursor = connection.execute(*self._query(bindings.all, stored))
            start = 0
            while rows := cursor.fetchmany(_BATCH_ROWS):
                yield self._batch(rows, bindings.all, start)
                start += len(rows)
        except sqlite3.Error as failure:
            raise DaybookError("IO_012", location=self.name, reason=str(failure)) from failure
        finally:
            connection.close()

    def _query(self, bindings: tuple[Binding, ...], stored: dict[str, str]) -> tuple[str, tuple[str, ...]]:
        query = f"select {', '.join(quote_name(b.stored) for b in bindings)} from {quote_name(self._table)}"
        sliced = next((name for name in ("_run_period", "_period") if name in stored), None)
        if self._slices is None or sliced is None:
            return query, ()
        periods = tuple(sorted(self._slices))
        return f"{query} where {quote_name(sliced)} in ({', '.join('?' * len(periods))})", periods

    def _batch(self, rows: list[tuple[object, ...]], bindings: tuple[Binding, ...], start: int) -> Batch:
        where = row_position_from(start)
        columns = {}
        for binding, values in zip(bindings, zip(*rows, strict=True), strict=True):
            try:
                columns[binding.name] = decode_values(values, binding.type)
            except BadValueError as bad:
                place = where(bad.index)
                raise bad_value_error(self.name, place, binding.stored, bad.value, binding.type) from None
        return Batch(columns, len(rows), where)
