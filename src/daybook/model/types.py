"""The types a column can have."""

import re
from dataclasses import dataclass
from typing import TypeAlias

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

_SIMPLE: dict[str, ColumnType] = {
    "string": STRING,
    "integer": INTEGER,
    "decimal": DecimalType(),
    "float": FLOAT,
    "boolean": BOOLEAN,
    "date": DATE,
    "timestamp": TIMESTAMP,
}
_DECIMAL = re.compile(r"decimal\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)")

TYPE_NAMES = (*_SIMPLE, "decimal(p,s)")


def parse_type(text: str) -> ColumnType:
    """The type a user wrote; ValueError says what is wrong with it."""
    if simple := _SIMPLE.get(text):
        return simple
    if not (match := _DECIMAL.fullmatch(text)):
        raise ValueError(f"unknown type {text!r}; types are {', '.join(TYPE_NAMES)}")
    precision, scale = int(match[1]), int(match[2])
    if not (1 <= precision <= MAX_DIGITS and scale <= precision):
        raise ValueError(f"{text}: precision goes from 1 to {MAX_DIGITS}, scale from 0 to the precision")
    return DecimalType(precision, scale)
