"""Catalogs of Delta and of Iceberg in the tests' Spark, where their libraries are there and fit it."""

import os
import tempfile
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path

_JARS = Path(__file__).parents[1] / "build/jars"
# The version of Spark that the libraries of `tools/jars` are made for.
_SPARK = "4.0"
MISSING = "tables of Delta and Iceberg need their libraries and Spark 4.0: make test-catalogs"
# The catalog of the session makes tables of Delta, this one of Iceberg.
DELTA, ICEBERG = "spark_catalog", "lake"


def catalog_jars() -> tuple[Path, ...]:
    """The libraries that `tools/jars` has fetched; none in a Spark that they do not fit."""
    delta, iceberg = sorted(_JARS.glob("delta/delta-*.jar")), sorted(_JARS.glob("iceberg/iceberg-*.jar"))
    return (*delta, *iceberg, *s3_jars()) if delta and iceberg and version("pyspark").startswith(f"{_SPARK}.") else ()


def s3_jars() -> tuple[Path, ...]:
    """Iceberg's own S3 client, for catalogs whose files are on an object store."""
    return tuple(_JARS.glob("iceberg-aws/iceberg-aws-bundle-*.jar"))


def catalog_conf() -> Mapping[str, str]:
    """Settings of an application that has both catalogs; none where their libraries are missing."""
    jars = catalog_jars()
    if not jars:
        return {}
    warehouse = _warehouse()
    return {
        "spark.driver.extraClassPath": os.pathsep.join(map(str, jars)),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,"
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        f"spark.sql.catalog.{DELTA}": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        f"spark.sql.catalog.{ICEBERG}": "org.apache.iceberg.spark.SparkCatalog",
        f"spark.sql.catalog.{ICEBERG}.type": "hadoop",
        f"spark.sql.catalog.{ICEBERG}.warehouse": f"{warehouse}/iceberg",
        # Delta reads the log of a table in so many tasks.
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.warehouse.dir": f"{warehouse}/delta",
    }


@cache
def _warehouse() -> str:
    return tempfile.mkdtemp(prefix="daybook-warehouse-")
