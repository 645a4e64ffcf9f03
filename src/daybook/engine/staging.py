"""Intermediate results that are written down once and read back, so that a plan begins anew from there."""

from pyspark.sql import DataFrame, SparkSession

from daybook.engine.path_pattern import literal


class Staging:
    """Parquet below one folder that belongs to the run; whoever gave the folder removes it."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self._spark = spark
        self._folder = folder.rstrip("/")
        self._count = 0

    def keep(self, df: DataFrame, label: str) -> DataFrame:
        """The same rows, from storage."""
        self._count += 1
        path = f"{self._folder}/{self._count:03d}-{label}"
        df.write.mode("overwrite").parquet(path)
        return self._spark.read.schema(df.schema).parquet(literal(path))
