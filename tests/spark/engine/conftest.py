from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.engine.executed import World


@pytest.fixture
def world(spark: SparkSession, tmp_path: Path) -> World:
    return World(spark, tmp_path)
