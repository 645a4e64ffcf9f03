"""A failed COPY ends its query, however many rows are still to come."""

import threading

import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

from daybook.engine.jobs import stop_jobs, tag_jobs
from daybook.io.formats.postgresql import ingest
from daybook.io.formats.postgresql.format import register_copy_source

# So many that no test waits for the last.
_ENDLESS = 10**13
_PATIENCE_SECONDS = 240.0
_TAG = "endless-copy"


def test_the_rest_of_a_partition_is_not_computed(spark: SparkSession) -> None:
    register_copy_source(spark)
    options = {ingest.ADDRESS: "postgresql://127.0.0.1:1/none", ingest.SCHEMA: "s", ingest.TABLE: "t"}
    rows = spark.range(0, _ENDLESS, 1, 1).selectExpr("id", "md5(CAST(id AS STRING)) AS text")
    # Where all is computed, the query is ended, with another error.
    timer = threading.Timer(_PATIENCE_SECONDS, stop_jobs, (spark, _TAG))
    timer.start()
    try:
        with tag_jobs(spark, _TAG), pytest.raises(PythonException, match="Is the server running on that host"):
            rows.write.format(ingest.FORMAT).options(**options, **{ingest.ACKNOWLEDGED: "a"}).mode("append").save()
    finally:
        timer.cancel()
