"""Spark's jobs that belong together: named by a tag, stopped by it, and waited for."""

import contextlib
import time
from collections.abc import Iterator

from pyspark.sql import SparkSession

from daybook.engine.connect import is_connect

_PATIENCE_SECONDS = 10.0
# Spark tells what its tasks do every tenth of a second.
_IDLE_LOOKS = 4


@contextlib.contextmanager
def tagged(spark: SparkSession, tag: str) -> Iterator[None]:
    """Jobs started inside can be stopped from anywhere.

    A classic session finds jobs by its own tags only from the thread that started them, so its context's are used.
    """
    is_remote = is_connect(spark)
    (spark.addTag if is_remote else spark.sparkContext.addJobTag)(tag)
    try:
        yield
    finally:
        with contextlib.suppress(Exception):
            (spark.removeTag if is_remote else spark.sparkContext.removeJobTag)(tag)


def stop_jobs(spark: SparkSession, tag: str) -> None:
    """Stop the jobs of a tag; a session that is gone has none."""
    with contextlib.suppress(Exception):
        if is_connect(spark):
            spark.interruptTag(tag)
        else:
            spark.sparkContext.cancelJobsWithTag(tag)


def wait_until_idle(spark: SparkSession) -> None:
    """Until stopped tasks no longer write, so that what they staged can be removed for good."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    idle = 0
    with contextlib.suppress(Exception):
        while idle < _IDLE_LOOKS and time.monotonic() < deadline:
            idle = 0 if _has_running_tasks(spark) else idle + 1
            time.sleep(0.05)


def _has_running_tasks(spark: SparkSession) -> bool:
    """Whether the classic session still works on something; a Connect server does not tell.

    A stage that is cancelled has ended, for Spark, before its tasks have.
    """
    if is_connect(spark):
        return False
    if spark.sparkContext.statusTracker().getActiveStageIds():
        return True
    executors = spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    return any(executor.numRunningTasks() for executor in executors)
