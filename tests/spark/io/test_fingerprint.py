"""Fingerprints take floats by their first twelve digits, and stay what they were."""

import math

import pytest
from pyspark.sql import SparkSession

from daybook.io.target import OutputColumn
from daybook.io.writer import fingerprint
from daybook.model.types import FLOAT

COLUMNS = (OutputColumn("ratio", FLOAT),)


def of(spark: SparkSession, *values: float | None) -> str:
    return fingerprint(spark.createDataFrame([(value,) for value in values], "ratio double"), COLUMNS)


EQUAL = {
    0.9999999999999999: 1.0,
    -0.9999999999999999: -1.0,
    99.99999999999999: 100.0,
    9.999999999999999e22: 1e23,
    9.999999999999998e-301: 1e-300,
    0.1 + 0.2: 0.3,
    0.0: -0.0,
}


def test_equal_to_twelve_digits_is_equal(spark: SparkSession) -> None:
    assert of(spark, *EQUAL) == of(spark, *EQUAL.values())


@pytest.mark.parametrize(
    ("one", "other"), [(1.0, 1.00000000001), (5e-324, 1e-323), (5e-324, 0.0), (1.0, 10.0), (1.0, -1.0), (1e-310, 1e310)]
)
def test_other_values_differ(spark: SparkSession, one: float, other: float) -> None:
    assert of(spark, one) != of(spark, other)


def test_recorded_fingerprints_of_ordinary_values_stay(spark: SparkSession) -> None:
    values = (0.0, 1.0, -2.5, 1234.5678, 1e300, 1e-200, math.pi, None, math.nan, math.inf, -math.inf, 1000.0, 0.1)
    assert of(spark, *values) == "5ee250d0331ce3bb6c967eda059d957e"
