"""Types in PostgreSQL: what a declared type is stored as, and which stored types it can be read from."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from daybook.io.column_types import holds_digits
from daybook.io.formats.databases.types import SqlType, SqlTypes
from daybook.io.text_values import parse_texts, refuse_dates_out_of_range
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
