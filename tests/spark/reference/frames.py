"""Rows of the reference as Spark has them, and back."""

import datetime
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark_types

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


def arrow_type(type_: ColumnType) -> pyarrow.DataType:
    match type_:
        case StringType():
            return pyarrow.string()
        case IntegerType():
            return pyarrow.int64()
        case DecimalType(precision, scale):
            return pyarrow.decimal128(precision, scale)
        case FloatType():
            return pyarrow.float64()
        case BooleanType():
            return pyarrow.bool_()
        case DateType():
            return pyarrow.date32()
        case TimestampType():
            return pyarrow.timestamp("us", "UTC")
        case NullType():
            return pyarrow.null()


def spark_type(type_: ColumnType) -> spark_types.DataType:
    match type_:
        case StringType():
            return spark_types.StringType()
        case IntegerType():
            return spark_types.LongType()
        case DecimalType(precision, scale):
            return spark_types.DecimalType(precision, scale)
        case FloatType():
            return spark_types.DoubleType()
        case BooleanType():
            return spark_types.BooleanType()
        case DateType():
            return spark_types.DateType()
        case TimestampType():
            return spark_types.TimestampType()
        case NullType():
            return spark_types.NullType()


def frame(spark: SparkSession, rows: Sequence[Mapping[str, Any]], types: Mapping[str, ColumnType]) -> DataFrame:
    """A frame of exactly these types."""
    table = pyarrow.table(
        {name: pyarrow.array([row[name] for row in rows], arrow_type(type_)) for name, type_ in types.items()}
    )
    return spark.createDataFrame(table)


def same(actual: Any, expected: Any) -> bool:
    """Equal in value and in kind; floats to twelve digits."""
    if actual is None or expected is None:
        return actual is expected
    match expected:
        case float():
            if math.isnan(expected) or math.isnan(actual):
                return math.isnan(expected) and math.isnan(actual)
            return isinstance(actual, float) and math.isclose(actual, expected, rel_tol=1e-12)
        case Decimal():
            return isinstance(actual, Decimal) and actual == expected
        case datetime.datetime():
            return isinstance(actual, datetime.datetime) and actual == expected
        case _:
            return type(actual) is type(expected) and bool(actual == expected)
