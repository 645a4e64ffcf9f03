"""Fingerprints take floats by their first twelve digits, and stay what they were."""

import math

import pytest
from pyspark.sql import SparkSession

from daybook.io.target import OutputColumn
from daybook.io.writer import FingerprintObserver, fingerprint
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


def test_other_values_differ(spark: SparkSession) -> None:
    """Every one of them from every other."""
    values = (1.0, 1.00000000001, 5e-324, 1e-323, 0.0, 10.0, -1.0, 1e-310, 1e310)
    assert len({of(spark, value) for value in values}) == len(values)


def test_recorded_fingerprints_of_ordinary_values_stay(spark: SparkSession) -> None:
    values = (0.0, 1.0, -2.5, 1234.5678, 1e300, 1e-200, math.pi, None, math.nan, math.inf, -math.inf, 1000.0, 0.1)
    assert of(spark, *values) == "5ee250d0331ce3bb6c967eda059d957e"


def test_what_spark_lost_while_it_wrote_is_counted_again(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark leaves out what it observes where the rows come to nothing, and drops events when it is busy."""
    df = spark.createDataFrame([(1.0,), (2.5,)], "ratio double")
    watch = FingerprintObserver(COLUMNS)
    watch.on(df).collect()
    monkeypatch.setattr("daybook.io.writer.read_observation", lambda observation: {})
    assert (watch.rows, watch.fingerprint) == (2, of(spark, 1.0, 2.5))
