"""Landing a PostgreSQL table: one streamed query, numerics as their text."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import assert_never

import adbc_driver_manager
import adbc_driver_postgresql.dbapi as adbc
import psycopg
import pyarrow as pa
from psycopg import sql

from daybook.errors import DaybookError, raise_all
from daybook.io.formats.postgresql.connecting import address, connect, options_of_source
from daybook.io.formats.postgresql.tables import columns_of
from daybook.io.landing.rows import Batch, bad_value, row_numbers
from daybook.io.landing.values import refuse_unknown_dates
from daybook.io.tables import Binding, bind, missing_columns
from daybook.io.text_values import BadValue, parse
from daybook.model.catalog import DatasetVersion
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
from daybook.resolve.location import Location

_NUMERIC = re.compile(r"numeric\((\d+),(\d+)\)")
_TEXT = re.compile(r"text|character varying(\(\d+\))?|character(\(\d+\))?|uuid")
_TIME = re.compile(r"timestamp(\(\d\))? (with|without) time zone")


class PostgresqlRows:
    def __init__(
        self, location: Location, version: DatasetVersion, workspace: Path, slices: frozenset[str] | None
    ) -> None:
        self._source = options_of_source(location.datasource)
        self._schema = location.schema or self._source.options.schema_name
        self._table = location.table or ""
        self.name = f"{self._source.id}.{self._schema}.{self._table}"
        self.carried: frozenset[str] = frozenset()
        self.extra: frozenset[str] = frozenset()
        self._location = location
        self._version = version
        self._workspace = workspace
        self._slices = slices

    def batches(self) -> Iterator[Batch]:
        with connect(self._source, self._workspace) as connection:
            stored = columns_of(connection, self._schema, self._table)
            if stored is None:
                raise DaybookError("IO_001", location=self.name)
            bindings = bind(stored, self._version, self._location)
            raise_all([*missing_columns(bindings, self.name), *self._type_findings(bindings.all, stored)])
            query = self._query(bindings.all, stored).as_string(connection)
        self.carried = frozenset(binding.name for binding in bindings.carried)
        self.extra = frozenset(bindings.extra)
        first = 0
        for batch in self._fetch(query):
            where = row_numbers(first)
            first += batch.num_rows
            columns = {}
            for position, binding in enumerate(bindings.all):
                try:
                    columns[binding.name] = _typed(batch.column(position), binding.type)
                except BadValue as bad:
                    place = where(bad.index)
                    raise bad_value(self.name, place, binding.stored, bad.value, binding.type) from None
            yield Batch(columns, batch.num_rows, where)

    def _fetch(self, query: str) -> Iterator[pa.RecordBatch]:
        try:
            with adbc.connect(address(self._source, self._workspace)) as connection, connection.cursor() as cursor:
                cursor.execute(query)
                yield from cursor.fetch_record_batch()
        except (adbc_driver_manager.Error, pa.ArrowException, psycopg.Error) as failure:
            raise DaybookError("IO_012", location=self.name, reason=str(failure)) from failure

    def _type_findings(self, bindings: tuple[Binding, ...], stored: dict[str, str]) -> list[DaybookError]:
        return [
            DaybookError("IO_003", file=self.name, column=b.stored, found=stored[b.stored], declared=str(b.type))
            for b in bindings
            if b.stored in stored and not _fits(stored[b.stored], b.type)
        ]

    def _query(self, bindings: tuple[Binding, ...], stored: dict[str, str]) -> sql.Composed:
        selected = [sql.SQL(_CASTS[_kind(b.type, stored[b.stored])]).format(sql.Identifier(b.stored)) for b in bindings]
        query = sql.SQL("select {} from {}").format(
            sql.SQL(", ").join(selected), sql.Identifier(self._schema, self._table)
        )
        sliced = next((name for name in ("_run_period", "_period") if name in stored), None)
        if self._slices is None or sliced is None:
            return query
        periods = sql.SQL(", ").join(sql.Literal(period) for period in sorted(self._slices))
        return query + sql.SQL(" where {} in ({})").format(sql.Identifier(sliced), periods)


_CASTS = {
    "text": "{}::text",
    "integer": "{}::int8",
    "float": "{}::float8",
    "plain": "{}",
    "utc": "({} at time zone 'UTC')",
}


def _kind(type_: ColumnType, stored: str) -> str:
    match type_:
        case StringType() | DecimalType():
            return "text"
        case IntegerType():
            return "integer"
        case FloatType():
            return "float"
        case TimestampType():
            return "utc" if "without" in stored else "plain"
        case BooleanType() | DateType() | NullType():
            return "plain"
        case _:
            assert_never(type_)


def _fits(stored: str, type_: ColumnType) -> bool:
    match type_:
        case StringType():
            return _TEXT.fullmatch(stored) is not None
        case IntegerType():
            return stored in ("smallint", "integer", "bigint")
        case DecimalType(precision, scale):
            if stored == "numeric":
                return True
            match = _NUMERIC.fullmatch(stored)
            return match is not None and int(match[2]) <= scale and int(match[1]) - int(match[2]) <= precision - scale
        case FloatType():
            return stored in ("real", "double precision")
        case BooleanType():
            return stored == "boolean"
        case DateType():
            return stored == "date"
        case TimestampType():
            return _TIME.fullmatch(stored) is not None
        case NullType():
            return False
        case _:
            assert_never(type_)


def _typed(column: pa.Array, type_: ColumnType) -> pa.Array:
    if isinstance(type_, DecimalType):
        return parse(column.cast(pa.string()), type_)
    refuse_unknown_dates(column, type_)
    return column
