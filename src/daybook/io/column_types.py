"""A column's type in Arrow and in Spark, and tables of types in general: one entry per declared type."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, get_args

import pyarrow as pa
from pyspark.sql import types as spark

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

EntryT = TypeVar("EntryT")
_DECLARED_TYPES = frozenset(get_args(ColumnType)) - {NullType}


class TypeTable(Generic[EntryT]):
    """What a format knows of every declared type; a type that is missing fails when the table is made."""

    def __init__(self, entries: Mapping[type, EntryT]) -> None:
        if missing := _DECLARED_TYPES.difference(entries):
            raise TypeError(f"no entry for {', '.join(sorted(type_.__name__ for type_ in missing))}")
        self._entries = dict(entries)

    def __getitem__(self, type_: ColumnType) -> EntryT:
        try:
            return self._entries[type(type_)]
        except KeyError:
            raise TypeError(f"no column has the type {type_}") from None


@dataclass(frozen=True, slots=True)
class _PhysicalType:
    arrow: Callable[[Any], pa.DataType]
    spark: Callable[[Any], spark.DataType]
    # Whether every value of an Arrow type is one of the declared type.
    holds: Callable[[pa.DataType, Any], bool]


_TYPES = TypeTable(
    {
        StringType: _PhysicalType(
            lambda _: pa.string(),
            lambda _: spark.StringType(),
            lambda kind, _: pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind),
        ),
        IntegerType: _PhysicalType(
            lambda _: pa.int64(),
            lambda _: spark.LongType(),
            lambda kind, _: pa.types.is_integer(kind) and kind != pa.uint64(),
        ),
        DecimalType: _PhysicalType(
            lambda type_: pa.decimal128(type_.precision, type_.scale),
            lambda type_: spark.DecimalType(type_.precision, type_.scale),
            lambda kind, type_: pa.types.is_decimal(kind) and holds_digits(type_, kind.precision, kind.scale),
        ),
        FloatType: _PhysicalType(
            lambda _: pa.float64(),
            lambda _: spark.DoubleType(),
            lambda kind, _: pa.types.is_float64(kind) or pa.types.is_float32(kind),
        ),
        BooleanType: _PhysicalType(
            lambda _: pa.bool_(), lambda _: spark.BooleanType(), lambda kind, _: pa.types.is_boolean(kind)
        ),
        DateType: _PhysicalType(
            lambda _: pa.date32(), lambda _: spark.DateType(), lambda kind, _: pa.types.is_date32(kind)
        ),
        TimestampType: _PhysicalType(
            lambda _: pa.timestamp("us", tz="UTC"),
            lambda _: spark.TimestampType(),
            lambda kind, _: pa.types.is_timestamp(kind) and kind.unit in ("us", "ms"),
        ),
        NullType: _PhysicalType(lambda _: pa.null(), lambda _: spark.NullType(), lambda kind, _: False),
    }
)


def arrow_type(type_: ColumnType) -> pa.DataType:
    return _TYPES[type_].arrow(type_)


def spark_data_type(type_: ColumnType) -> spark.DataType:
    return _TYPES[type_].spark(type_)


def stored_type_fits(stored: pa.DataType, declared: ColumnType) -> bool:
    """Whether every value of the stored type is a value of the declared one; times without a zone are UTC."""
    kind = stored.value_type if pa.types.is_dictionary(stored) else stored
    return bool(_TYPES[declared].holds(kind, declared))


def holds_digits(type_: DecimalType, precision: int, scale: int) -> bool:
    """Whether a decimal type has the digits of another on both sides of the point."""
    return scale <= type_.scale and precision - scale <= type_.precision - type_.scale
