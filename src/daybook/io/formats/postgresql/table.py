"""Connections to PostgreSQL: psycopg for statements, the same address as a URI for ADBC.

Tables of PostgreSQL: their columns, the ledger of commits, the types of declared columns.

Landing a PostgreSQL table: one streamed query, numerics as their text.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, assert_never
from urllib.parse import quote

import adbc_driver_manager
import adbc_driver_postgresql.dbapi as adbc
import psycopg
import pyarrow as pa
from psycopg import sql

from daybook.errors import DaybookError, raise_all
from daybook.io.bindings import Binding, bind_columns, missing_column_errors
from daybook.io.formats.database import LEDGER_TABLE, read_secret
from daybook.io.landing.rows import Batch, bad_value_error, row_position_from
from daybook.io.target import OutputColumn, TableTarget
from daybook.io.text_values import BadValueError, parse_texts, refuse_dates_out_of_range
from daybook.model.addresses import mask_host
from daybook.model.datasource import DataSource, PostgresqlSource
from daybook.model.definition import DatasetVersion
from daybook.model.secrets import mask_secrets
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


def postgresql_source(datasource: DataSource | None) -> PostgresqlSource:
    if not isinstance(datasource, PostgresqlSource):
        raise ValueError("a PostgreSQL table needs a data source of that type")
    return datasource


def connection_uri(source: PostgresqlSource, workspace: Path) -> str:
    """A libpq URI; a host that begins with a slash is the folder of a socket."""
    options = source.options
    password = read_secret(source.credential_ref, workspace)
    user = quote(options.user or "", safe="")
    login = f"{user}:{quote(password, safe='')}@" if password is not None else (f"{user}@" if user else "")
    database = quote(options.database, safe="")
    if options.host.startswith("/"):
        return f"postgresql://{login}/{database}?host={quote(options.host, safe='')}&port={options.port}"
    return f"postgresql://{login}{options.host}:{options.port}/{database}"


def connect_postgresql(source: PostgresqlSource, workspace: Path) -> psycopg.Connection:
    try:
        return psycopg.connect(connection_uri(source, workspace))
    except psycopg.Error as failure:
        place = f"{mask_host(source.options.host)}:{source.options.port}/{source.options.database}"
        raise DaybookError(
            "IO_012", location=f"{source.id} ({place})", reason=mask_secrets(str(failure).strip())
        ) from failure


Connection = psycopg.Connection[tuple[Any, ...]]


def column_type(type_: ColumnType) -> sql.SQL:
    match type_:
        case StringType():
            return sql.SQL("text")
        case IntegerType():
            return sql.SQL("bigint")
        case DecimalType(precision, scale):
            return sql.SQL(f"numeric({precision},{scale})")
        case FloatType():
            return sql.SQL("double precision")
        case BooleanType():
            return sql.SQL("boolean")
        case DateType():
            return sql.SQL("date")
        case TimestampType():
            return sql.SQL("timestamp with time zone")
        case NullType():
            raise TypeError("no column has the type null")
        case _:
            assert_never(type_)


_DECLARED_TYPES = {
    "text": "string",
    "bigint": "integer",
    "double precision": "float",
    "boolean": "boolean",
    "date": "date",
    "timestamp with time zone": "timestamp",
}


def declared_type(stored: str) -> str:
    """The declared type that is stored as this one; the stored one itself when there is none."""
    return (
        stored.replace("numeric(", "decimal(") if stored.startswith("numeric(") else _DECLARED_TYPES.get(stored, stored)
    )


def columns_of(connection: Connection, schema: str, table: str) -> dict[str, str] | None:
    """Columns with their full types, in order; None when there is no such table or view."""
    found = connection.execute(
        "select a.attname, format_type(a.atttypid, a.atttypmod) "
        "from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace "
        "where n.nspname = %s and c.relname = %s and c.relkind in ('r', 'p', 'v', 'm', 'f') "
        "and a.attnum > 0 and not a.attisdropped order by a.attnum",
        (schema, table),
    ).fetchall()
    return dict(found) if found else None


def target_schema(target: TableTarget) -> str:

    return target.schema or postgresql_source(target.datasource).options.schema_name


def qualified_name(target: TableTarget, name: str | None = None) -> sql.Identifier:
    return sql.Identifier(target_schema(target), name or target.table)


def column_definitions(columns: tuple[OutputColumn, ...]) -> sql.Composed:
    return sql.SQL(", ").join(
        sql.SQL("{} {}").format(sql.Identifier(column.name), column_type(column.type)) for column in columns
    )


def create_ledger(connection: Connection, target: TableTarget) -> None:
    """The ledger of the target's schema; two who make it at once are both content."""
    if columns_of(connection, target_schema(target), LEDGER_TABLE) is not None:
        return
    try:
        with connection.transaction():
            connection.execute(
                sql.SQL(
                    "create table if not exists {} (id bigserial primary key, run_id text not null, "
                    "operation_seq integer not null, target text not null, mode text not null, run_period text, "
                    "rows bigint not null, project_id text not null, operation_id text not null, "
                    "committed_at timestamptz not null default now(), unique (run_id, operation_seq))"
                ).format(qualified_name(target, LEDGER_TABLE))
            )
    except (psycopg.errors.UniqueViolation, psycopg.errors.DuplicateTable):
        pass


_NUMERIC_TYPE = re.compile(r"numeric\((\d+),(\d+)\)")
_TEXT_TYPE = re.compile(r"text|character varying(\(\d+\))?|character(\(\d+\))?|uuid")
_TIMESTAMP_TYPE = re.compile(r"timestamp(\(\d\))? (with|without) time zone")


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
                    columns[binding.name] = _typed_column(batch.column(position), binding.type)
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
            if b.stored in stored and not _fits_declared(stored[b.stored], b.type)
        ]

    def _query(self, bindings: tuple[Binding, ...], stored: dict[str, str]) -> sql.Composed:
        selected = [
            sql.SQL(_CASTS[_cast_kind(b.type, stored[b.stored])]).format(sql.Identifier(b.stored)) for b in bindings
        ]
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


def _cast_kind(type_: ColumnType, stored: str) -> str:
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


def _fits_declared(stored: str, type_: ColumnType) -> bool:
    match type_:
        case StringType():
            return _TEXT_TYPE.fullmatch(stored) is not None
        case IntegerType():
            return stored in ("smallint", "integer", "bigint")
        case DecimalType(precision, scale):
            if stored == "numeric":
                return True
            match = _NUMERIC_TYPE.fullmatch(stored)
            return match is not None and int(match[2]) <= scale and int(match[1]) - int(match[2]) <= precision - scale
        case FloatType():
            return stored in ("real", "double precision")
        case BooleanType():
            return stored == "boolean"
        case DateType():
            return stored == "date"
        case TimestampType():
            return _TIMESTAMP_TYPE.fullmatch(stored) is not None
        case NullType():
            return False
        case _:
            assert_never(type_)


def _typed_column(column: pa.Array, type_: ColumnType) -> pa.Array:
    if isinstance(type_, DecimalType):
        return parse_texts(column.cast(pa.string()), type_)
    refuse_dates_out_of_range(column, type_)
    return column
