"""SQLite tables, which have no decimals, dates or booleans: exact texts and 0 or 1, checked when they are landed."""

import datetime
import math
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from daybook.errors import DaybookError, raise_all
from daybook.io.bindings import Binding, bind_columns, missing_column_errors
from daybook.io.column_types import BadValueError, parse_texts
from daybook.io.formats.databases.dialect import SqlType, SqlTypes
from daybook.io.landing.rows import Batch, bad_value_error, row_position_from
from daybook.model.datasource import DataSource, SqliteSource
from daybook.model.definition import DatasetVersion
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
                columns[binding.name] = SQLITE_TYPES[binding.type].decode(values, binding.type)
            except BadValueError as bad:
                place = where(bad.index)
                raise bad_value_error(self.name, place, binding.stored, bad.value, binding.type) from None
        return Batch(columns, len(rows), where)


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
