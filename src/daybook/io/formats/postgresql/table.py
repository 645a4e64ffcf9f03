"""PostgreSQL tables: connections, types, and landing by one streamed query with numerics as their text."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import adbc_driver_manager
import adbc_driver_postgresql.dbapi as adbc
import psycopg
import psycopg.conninfo
import pyarrow as pa
from psycopg import sql

from daybook.errors import DaybookError, raise_all
from daybook.io.bindings import Binding, bind_columns, missing_column_errors
from daybook.io.column_types import BadValueError, holds_digits, parse_texts, refuse_dates_out_of_range
from daybook.io.formats.databases.dialect import SqlType, SqlTypes, read_secret
from daybook.io.landing.batches import Batch, bad_value_error, row_position_from
from daybook.model.datasource import DataSource, PostgresqlSource
from daybook.model.definition import DatasetVersion
from daybook.model.secrets import mask_host, mask_secrets
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
from daybook.resolve.location import Location


def postgresql_source(datasource: DataSource | None) -> PostgresqlSource:
    if not isinstance(datasource, PostgresqlSource):
        raise ValueError("a PostgreSQL table needs a data source of that type")
    return datasource


def connection_parameters(source: PostgresqlSource, workspace: Path) -> dict[str, str]:
    """The connection parameters for libpq as single values, so that no value is parsed as several."""
    options = source.options
    parameters = {
        "host": options.host.removeprefix("[").removesuffix("]"),
        "port": str(options.port),
        "user": options.user,
        "password": read_secret(source.credential_ref, workspace),
    }
    return {name: value for name, value in parameters.items() if value is not None}


def connection_uri(source: PostgresqlSource, workspace: Path) -> str:
    """The same as a URI, which ADBC takes; a host among its parameters may be an address of IPv6 or a folder."""
    database = quote(source.options.database, safe="")
    return f"postgresql:///{database}?{urlencode(connection_parameters(source, workspace), quote_via=quote)}"


def connect_postgresql(source: PostgresqlSource, workspace: Path) -> psycopg.Connection:
    options = source.options
    try:
        # The name of a database goes into a text of parameters, where it cannot be read as a parameter itself.
        text = psycopg.conninfo.make_conninfo(dbname=options.database, **connection_parameters(source, workspace))
        return psycopg.connect(text)
    except psycopg.Error as failure:
        address = f"{mask_host(options.host)}:{options.port}/{options.database}"
        reason = mask_secrets(str(failure).strip())
        raise DaybookError("IO_012", location=f"{source.id} ({address})", reason=reason) from failure


Connection = psycopg.Connection[tuple[Any, ...]]


def columns_of(connection: Connection, schema: str, table: str) -> dict[str, str] | None:
    """Columns with their full types, in order; None when there is no such table or view."""
    rows = connection.execute(
        "select a.attname, format_type(a.atttypid, a.atttypmod) "
        "from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace "
        "where n.nspname = %s and c.relname = %s and c.relkind in ('r', 'p', 'v', 'm', 'f') "
        "and a.attnum > 0 and not a.attisdropped order by a.attnum",
        (schema, table),
    ).fetchall()
    return dict(rows) if rows else None


class PostgresqlRows:
    def __init__(
        self, location: Location, version: DatasetVersion, workspace: Path, slices: frozenset[str] | None
    ) -> None:
        self._source = postgresql_source(location.datasource)
        self._schema = location.schema or self._source.options.schema_name
        self._table = location.table_name
        self.name = f"{self._source.id}.{self._schema}.{self._table}"
        self.carried: frozenset[str] = frozenset()
        self.extra: frozenset[str] = frozenset()
        self._location = location
        self._version = version
        self._workspace = workspace
        self._slices = slices

    def batches(self) -> Iterator[Batch]:
        with connect_postgresql(self._source, self._workspace) as connection:
            stored = columns_of(connection, self._schema, self._table)
            if stored is None:
                raise DaybookError("IO_001", location=self.name)
            bindings = bind_columns(stored, self._version, self._location)
            raise_all([*missing_column_errors(bindings, self.name), *self._type_findings(bindings.all, stored)])
            query = self._query(bindings.all, stored).as_string(connection)
        self.carried = frozenset(binding.name for binding in bindings.carried)
        self.extra = frozenset(bindings.extra)
        first = 0
        for batch in self._fetch(query):
            where = row_position_from(first)
            first += batch.num_rows
            columns = {}
            for position, binding in enumerate(bindings.all):
                try:
                    columns[binding.name] = POSTGRESQL_TYPES[binding.type].decode(batch.column(position), binding.type)
                except BadValueError as bad:
                    place = where(bad.index)
                    raise bad_value_error(self.name, place, binding.stored, bad.value, binding.type) from None
            yield Batch(columns, batch.num_rows, where)

    def _fetch(self, query: str) -> Iterator[pa.RecordBatch]:
        try:
            with (
                adbc.connect(connection_uri(self._source, self._workspace)) as connection,
                connection.cursor() as cursor,
            ):
                cursor.execute(query)
                yield from cursor.fetch_record_batch()
        except (adbc_driver_manager.Error, pa.ArrowException, psycopg.Error) as failure:
            raise DaybookError("IO_012", location=self.name, reason=mask_secrets(str(failure))) from failure

    def _type_findings(self, bindings: tuple[Binding, ...], stored: dict[str, str]) -> list[DaybookError]:
        return [
            DaybookError("IO_003", file=self.name, column=b.stored, found=stored[b.stored], declared=str(b.type))
            for b in bindings
            if b.stored in stored and not POSTGRESQL_TYPES[b.type].fits(stored[b.stored], b.type)
        ]

    def _query(self, bindings: tuple[Binding, ...], stored: dict[str, str]) -> sql.Composed:
        selected = [
            sql.SQL(POSTGRESQL_TYPES[b.type].selected(stored[b.stored])).format(sql.Identifier(b.stored))
            for b in bindings
        ]
        query = sql.SQL("select {} from {}").format(
            sql.SQL(", ").join(selected), sql.Identifier(self._schema, self._table)
        )
        sliced = next((name for name in ("_run_period", "_period") if name in stored), None)
        if self._slices is None or sliced is None:
            return query
        periods = sql.SQL(", ").join(sql.Literal(period) for period in sorted(self._slices))
        return query + sql.SQL(" where {} in ({})").format(sql.Identifier(sliced), periods)


_NUMERIC_TYPE = re.compile(r"numeric\((\d+),(\d+)\)")


@dataclass(frozen=True, slots=True)
class PostgresqlType(SqlType):
    # Stored types whose every value is one of the declared type.
    reads: re.Pattern[str]
    # How a column is selected, `{}` being its name.
    cast: str = "{}"
    decode: Callable[[pa.Array, ColumnType], pa.Array] = lambda column, _: column

    def fits(self, stored: str, type_: ColumnType) -> bool:
        if isinstance(type_, DecimalType) and (digits := _NUMERIC_TYPE.fullmatch(stored)):
            return holds_digits(type_, int(digits[1]), int(digits[2]))
        return self.reads.fullmatch(stored) is not None

    def selected(self, stored: str) -> str:
        """Times without a zone are UTC."""
        return "({} at time zone 'UTC')" if "without time zone" in stored else self.cast


def _decimals(column: pa.Array, type_: ColumnType) -> pa.Array:
    return parse_texts(column.cast(pa.string()), type_)


def _dates(column: pa.Array, type_: ColumnType) -> pa.Array:
    refuse_dates_out_of_range(column, type_)
    return column


POSTGRESQL_TYPES = SqlTypes(
    {
        StringType: PostgresqlType(
            "text", re.compile(r"text|character varying(\(\d+\))?|character(\(\d+\))?|uuid"), "{}::text"
        ),
        IntegerType: PostgresqlType("bigint", re.compile("smallint|integer|bigint"), "{}::int8"),
        DecimalType: PostgresqlType("numeric", re.compile("numeric"), "{}::text", _decimals),
        FloatType: PostgresqlType("double precision", re.compile("real|double precision"), "{}::float8"),
        BooleanType: PostgresqlType("boolean", re.compile("boolean")),
        DateType: PostgresqlType("date", re.compile("date"), decode=_dates),
        TimestampType: PostgresqlType(
            "timestamp with time zone", re.compile(r"timestamp(\(\d\))? (with|without) time zone"), decode=_dates
        ),
    }
)
