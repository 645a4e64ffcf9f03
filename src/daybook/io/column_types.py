"""A column's type in Arrow and in Spark."""

from typing import assert_never

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


def arrow_type(type_: ColumnType) -> pa.DataType:
    match type_:
        case StringType():
            return pa.string()
        case IntegerType():
            return pa.int64()
        case DecimalType(precision, scale):
            return pa.decimal128(precision, scale)
        case FloatType():
            return pa.float64()
        case BooleanType():
            return pa.bool_()
        case DateType():
            return pa.date32()
        case TimestampType():
            return pa.timestamp("us", tz="UTC")
        case NullType():
            return pa.null()
        case _:
            assert_never(type_)


def spark_data_type(type_: ColumnType) -> spark.DataType:
    match type_:
        case StringType():
            return spark.StringType()
        case IntegerType():
            return spark.LongType()
        case DecimalType(precision, scale):
            return spark.DecimalType(precision, scale)
        case FloatType():
            return spark.DoubleType()
        case BooleanType():
            return spark.BooleanType()
        case DateType():
            return spark.DateType()
        case TimestampType():
            return spark.TimestampType()
        case NullType():
            return spark.NullType()
        case _:
            assert_never(type_)


def stored_type_fits(stored: pa.DataType, declared: ColumnType) -> bool:
    """Whether every value of the stored type is a value of the declared one; times without a zone are UTC."""
    kind = stored.value_type if pa.types.is_dictionary(stored) else stored
    match declared:
        case StringType():
            fits = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
        case IntegerType():
            fits = pa.types.is_integer(kind) and kind != pa.uint64()
        case DecimalType(precision, scale):
            fits = (
                pa.types.is_decimal(kind) and kind.scale <= scale and kind.precision - kind.scale <= precision - scale
            )
        case FloatType():
            fits = pa.types.is_float64(kind) or pa.types.is_float32(kind)
        case BooleanType():
            fits = pa.types.is_boolean(kind)
        case DateType():
            fits = pa.types.is_date32(kind)
        case TimestampType():
            fits = pa.types.is_timestamp(kind) and kind.unit in ("us", "ms")
        case NullType():
            fits = False
        case _:
            assert_never(declared)
    return bool(fits)
