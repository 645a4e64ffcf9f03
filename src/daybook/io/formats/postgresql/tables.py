"""Tables of PostgreSQL: their columns, the ledger of commits, the types of declared columns."""

from typing import Any, assert_never

import psycopg
from psycopg import sql

from daybook.io.ledger import LEDGER
from daybook.io.writing import OutputColumn, Target
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


_DECLARED = {
    "text": "string",
    "bigint": "integer",
    "double precision": "float",
    "boolean": "boolean",
    "date": "date",
    "timestamp with time zone": "timestamp",
}


def declared_type(stored: str) -> str:
    """The declared type that is stored as this one; the stored one itself when there is none."""
    return stored.replace("numeric(", "decimal(") if stored.startswith("numeric(") else _DECLARED.get(stored, stored)


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


def schema_of(target: Target) -> str:
    from daybook.io.formats.postgresql.connecting import options_of_source

    return target.schema or options_of_source(target.datasource).options.schema_name


def named(target: Target, name: str | None = None) -> sql.Identifier:
    return sql.Identifier(schema_of(target), name or target.table or "")


def column_list(columns: tuple[OutputColumn, ...]) -> sql.Composed:
    return sql.SQL(", ").join(
        sql.SQL("{} {}").format(sql.Identifier(column.name), column_type(column.type)) for column in columns
    )


def create_ledger(connection: Connection, target: Target) -> None:
    """The ledger of the target's schema; two who make it at once are both content."""
    if columns_of(connection, schema_of(target), LEDGER) is not None:
        return
    try:
        with connection.transaction():
            connection.execute(
                sql.SQL(
                    "create table if not exists {} (id bigserial primary key, run_id text not null, "
                    "operation_seq integer not null, target text not null, mode text not null, run_period text, "
                    "rows bigint not null, project_id text not null, operation_id text not null, "
                    "committed_at timestamptz not null default now(), unique (run_id, operation_seq))"
                ).format(named(target, LEDGER))
            )
    except (psycopg.errors.UniqueViolation, psycopg.errors.DuplicateTable):
        pass
