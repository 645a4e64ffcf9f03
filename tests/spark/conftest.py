"""One Spark session for the whole test run, classic or through Connect."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

_CONF = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.variable.substitute": "false",
    "spark.sql.shuffle.partitions": "3",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.catalogImplementation": "in-memory",
}


@pytest.fixture(scope="session")
def is_connect(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--connect") or os.environ.get("DAYBOOK_TEST_CONNECT"))


@pytest.fixture(scope="session")
def spark(is_connect: bool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    warehouse: Path = tmp_path_factory.mktemp("warehouse")
    builder = SparkSession.builder.appName("daybook-tests").config("spark.sql.warehouse.dir", str(warehouse))
    for key, value in _CONF.items():
        builder = builder.config(key, value)
    session = (builder.remote("local[2]") if is_connect else builder.master("local[2]")).getOrCreate()
    yield session
    session.stop()
