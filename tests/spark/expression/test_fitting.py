"""Values in columns of another type: widened, rounded half away from zero, or failing with what was converted."""

import math
from decimal import Decimal

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from daybook.expression import cast_sql, quote_literal, spark_type
from daybook.model.types import FLOAT, INTEGER, NULL, STRING, ColumnType, DecimalType

D = Decimal
MONEY = DecimalType(5, 2)
FITTED: list[tuple[object, ColumnType, ColumnType, object]] = [
    (D("1.005"), DecimalType(4, 3), MONEY, D("1.01")),
    (D("-1.005"), DecimalType(4, 3), MONEY, D("-1.01")),
    (D("1.0049"), DecimalType(5, 4), MONEY, D("1.00")),
    (D("999.994"), DecimalType(6, 3), MONEY, D("999.99")),
    (7, INTEGER, MONEY, D("7.00")),
    (7, INTEGER, FLOAT, 7.0),
    (D("2.5"), DecimalType(2, 1), INTEGER, 3),
    (D("-2.5"), DecimalType(2, 1), INTEGER, -3),
    (D("2.49"), DecimalType(3, 2), INTEGER, 2),
    (D("0.1"), DecimalType(1, 1), FLOAT, 0.1),
    (1.005, FLOAT, MONEY, D("1.01")),
    (-2.5, FLOAT, INTEGER, -3),
    (1e-10, FLOAT, MONEY, D("0.00")),
    (None, NULL, MONEY, None),
    (None, FLOAT, MONEY, None),
    (None, DecimalType(4, 3), INTEGER, None),
    ("a", STRING, STRING, "a"),
]
UNFIT: list[tuple[object, ColumnType, ColumnType]] = [
    (D("1000"), DecimalType(4, 0), MONEY),
    (D("999.995"), DecimalType(6, 3), MONEY),
    (1000, INTEGER, MONEY),
    (D("9223372036854775808"), DecimalType(19, 0), INTEGER),
    (1e6, FLOAT, MONEY),
    (1e19, FLOAT, INTEGER),
    (math.nan, FLOAT, MONEY),
    (math.inf, FLOAT, MONEY),
    (math.nan, FLOAT, INTEGER),
]


@pytest.mark.parametrize(("value", "source", "target", "expected"), FITTED)
def test_a_value_is_fitted(
    spark: SparkSession, value: object, source: ColumnType, target: ColumnType, expected: object
) -> None:
    sql = cast_sql(quote_literal(value, source), source, target)  # type: ignore[arg-type]
    df = spark.range(1).selectExpr(f"{sql} AS v")
    assert df.schema["v"].dataType.simpleString() == spark_type(target).lower()
    found = df.collect()[0].v
    assert (str(found), type(found)) == (str(expected), type(expected))


@pytest.mark.parametrize(("value", "source", "target"), UNFIT)
def test_a_value_that_does_not_fit_fails_with_what_was_converted(
    spark: SparkSession, value: object, source: ColumnType, target: ColumnType
) -> None:
    sql = cast_sql("v", source, target)
    df = spark.range(1).selectExpr(f"{quote_literal(value, source)} AS v")  # type: ignore[arg-type]
    with pytest.raises(PySparkException) as failure:
        df.selectExpr(f"CASE WHEN TRUE THEN {sql} END AS v").collect()
    (context,) = failure.value.getQueryContext()
    assert context.fragment() in sql
