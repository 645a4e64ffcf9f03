"""Looking at the settings of a running session, and changing them for a while."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def setting(spark: "SparkSession", key: str) -> str | None:
    """The value in force; asking with a default would hide Spark's own."""
    from pyspark.errors import PySparkException

    try:
        return spark.conf.get(key)
    except PySparkException:
        return None


@contextlib.contextmanager
def set_meanwhile(spark: "SparkSession", values: Mapping[str, str]) -> Iterator[None]:
    before = {key: setting(spark, key) for key in values}
    for key, value in values.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        # A session that is gone has no settings.
        with contextlib.suppress(Exception):
            for key, earlier in before.items():
                if earlier is None:
                    spark.conf.unset(key)
                else:
                    spark.conf.set(key, earlier)
