"""Spark cuts the input into pieces that keep all threads busy."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from daybook.engine.context import even_splits
from daybook.engine.java.session_conf import read_setting

LARGEST = "spark.sql.files.maxPartitionBytes"


def test_pieces_are_even_and_the_session_is_as_before(spark: SparkSession, tmp_path: Path) -> None:
    """Opening a file counts as four megabytes: 24 files in pieces of 32 are 8, 8 and 8, which two threads cannot share.

    Pieces for a cluster are left as they are.
    """
    is_local = read_setting(spark, "spark.master") == "local[2]"
    for number in range(24):
        pq.write_table(pa.table({"n": [number]}), tmp_path / f"{number}.parquet")
    files = spark.read.parquet(str(tmp_path))
    sizes = [path.stat().st_size for path in tmp_path.glob("*.parquet")]

    def pieces() -> list[int]:
        found = files.selectExpr("spark_partition_id() AS piece").groupBy("piece").count().collect()
        return sorted(row["count"] for row in found)

    before = spark.conf.get(LARGEST)
    spark.conf.set(LARGEST, "32m")
    spark.conf.set("spark.sql.files.minPartitionNum", "1")
    try:
        assert pieces() == [8, 8, 8]
        with even_splits(spark, sizes):
            assert pieces() == ([6, 6, 6, 6] if is_local else [8, 8, 8])
        assert spark.conf.get(LARGEST) == "32m"
    finally:
        spark.conf.set(LARGEST, before or "")
        spark.conf.unset("spark.sql.files.minPartitionNum")
