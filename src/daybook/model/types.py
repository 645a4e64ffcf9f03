"""The types of columns, the system columns, and values as text."""

import datetime
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from daybook.errors import DaybookError, Span

MAX_DIGITS = 38


@dataclass(frozen=True, slots=True)
class StringType:
    def __str__(self) -> str:
        return "string"


@dataclass(frozen=True, slots=True)
class IntegerType:
    """64 bits."""

    def __str__(self) -> str:
        return "integer"


@dataclass(frozen=True, slots=True)
class DecimalType:
    precision: int = MAX_DIGITS
    scale: int = 10

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class FloatType:
    def __str__(self) -> str:
        return "float"


@dataclass(frozen=True, slots=True)
class BooleanType:
    def __str__(self) -> str:
        return "boolean"


@dataclass(frozen=True, slots=True)
class DateType:
    def __str__(self) -> str:
        return "date"


@dataclass(frozen=True, slots=True)
class TimestampType:
    """UTC, microseconds."""

    def __str__(self) -> str:
        return "timestamp"


@dataclass(frozen=True, slots=True)
class NullType:
    """The type of the literal NULL; it fits every other type and no column has it."""

    def __str__(self) -> str:
        return "null"


ColumnType: TypeAlias = (
    StringType | IntegerType | DecimalType | FloatType | BooleanType | DateType | TimestampType | NullType
)

STRING = StringType()
INTEGER = IntegerType()
FLOAT = FloatType()
BOOLEAN = BooleanType()
DATE = DateType()
TIMESTAMP = TimestampType()
NULL = NullType()

_TYPES_BY_NAME: dict[str, ColumnType] = {
    "string": STRING,
    "integer": INTEGER,
    "decimal": DecimalType(),
    "float": FLOAT,
    "boolean": BOOLEAN,
    "date": DATE,
    "timestamp": TIMESTAMP,
}
_DECIMAL_PATTERN = re.compile(r"decimal\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)")

TYPE_NAMES = (*_TYPES_BY_NAME, "decimal(p,s)")


def parse_type(text: str) -> ColumnType:
    """The type a user wrote; ValueError says what is wrong with it."""
    if simple := _TYPES_BY_NAME.get(text):
        return simple
    if not (match := _DECIMAL_PATTERN.fullmatch(text)):
        raise ValueError(f"unknown type {text!r}; types are {', '.join(TYPE_NAMES)}")
    precision, scale = int(match[1]), int(match[2])
    if not (1 <= precision <= MAX_DIGITS and scale <= precision):
        raise ValueError(f"{text}: precision goes from 1 to {MAX_DIGITS}, scale from 0 to the precision")
    return DecimalType(precision, scale)


SYSTEM_COLUMNS: dict[str, ColumnType] = {
    "_row_id": STRING,
    "_deleted": BOOLEAN,
    "_period": STRING,
    "_valid_from": DATE,
    "_valid_to": DATE,
    "_source_dataset_id": STRING,
    "_source_table": STRING,
    "_operation_seq": INTEGER,
    "_origin_seq": INTEGER,
    "_created_at": TIMESTAMP,
    "_updated_at": TIMESTAMP,
    "_labels": STRING,
}

# Written beside an output's columns by tables that collect periods; never a column of the working dataset.
RUN_PERIOD_COLUMN = "_run_period"
# When a row was made says nothing about what it is.
TIME_COLUMNS = frozenset({"_created_at", "_updated_at"})

RESERVED_COLUMNS = frozenset({*SYSTEM_COLUMNS, RUN_PERIOD_COLUMN, "_source_dataset"})

# What one seed calls the column, accepted in expressions.
COLUMN_SYNONYMS = {"_source_dataset": "_source_dataset_id"}

ASSIGNABLE_SYSTEM_COLUMNS = frozenset({"_labels"})
GROUPABLE_SYSTEM_COLUMNS = frozenset({"_period", "_labels"})


_COLUMN_PATTERN = re.compile(
    r"\s*(?:`(?P<quoted>[^`]+)`|(?P<plain>[^\s,`]+))\s*:?\s+(?P<type>[a-z]+\s*(?:\([^)]*\))?)\s*(?:,|$)"
)


def parse_columns(text: str) -> dict[str, ColumnType]:
    """Names and types in the order they were written."""
    columns: dict[str, ColumnType] = {}
    position = 0
    while text[position:].strip():
        match_ = _COLUMN_PATTERN.match(text, position)
        if match_ is None:
            raise DaybookError("EXPR_060", span=Span(text, position, len(text)))
        name = match_["quoted"] or match_["plain"]
        try:
            columns[name] = parse_type(match_["type"].replace(" ", ""))
        except ValueError as error:
            raise DaybookError("EXPR_061", span=Span(text, *match_.span("type")), reason=str(error)) from None
        position = match_.end()
    return columns


Value = str | int | Decimal | float | bool | datetime.date | datetime.datetime | None

_WRITTEN_OUT_DIGITS = 100


def value_text(value: Value, *, null: str = "NULL") -> str:
    """A value as text, as in files: exact decimals, ISO 8601 dates, times in UTC with Z."""
    match value:
        case None:
            return null
        case bool():
            return "true" if value else "false"
        case Decimal():
            # Written out, the zeros of 1e999999999 would fill the memory.
            return f"{value:f}" if abs(value.adjusted()) < _WRITTEN_OUT_DIGITS else str(value)
        case datetime.datetime():
            return value.isoformat().replace("+00:00", "Z")
        case datetime.date():
            return value.isoformat()
        case _:
            return str(value)
