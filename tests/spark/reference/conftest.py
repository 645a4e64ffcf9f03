"""A session that spends little on each of many tiny projects."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

# These projects are many and tiny: compiling code for each of them would take longer than running them.
QUICK = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@pytest.fixture
def quick(spark: SparkSession) -> Iterator[SparkSession]:
    before = {key: spark.conf.get(key, None) for key in QUICK}
    for key, value in QUICK.items():
        spark.conf.set(key, value)
    yield spark
    for key, former in before.items():
        if former is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, former)
