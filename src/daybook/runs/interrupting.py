"""Stopping what Spark does for a run, and turning signals into an orderly end."""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

from pyspark.sql import SparkSession

from daybook.engine.progress import has_running_tasks

_PATIENCE_SECONDS = 10.0
# Spark tells what its tasks do every tenth of a second.
_IDLE_LOOKS = 4


def tag_of(run_id: str) -> str:
    return f"daybook-{run_id}"


@contextlib.contextmanager
def tagged(spark: SparkSession, run_id: str) -> Iterator[None]:
    """Jobs started inside belong to the run and can be stopped from anywhere."""
    spark.addTag(tag_of(run_id))
    try:
        yield
    finally:
        with contextlib.suppress(Exception):
            spark.removeTag(tag_of(run_id))


def interrupt(spark: SparkSession, run_id: str) -> None:
    """Stop the run's jobs; a session that is gone has none."""
    with contextlib.suppress(Exception):
        spark.interruptTag(tag_of(run_id))


def wait_until_idle(spark: SparkSession) -> None:
    """Until cancelled tasks no longer write, so that what they staged can be removed for good."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    idle = 0
    with contextlib.suppress(Exception):
        while idle < _IDLE_LOOKS and time.monotonic() < deadline:
            idle = 0 if has_running_tasks(spark) else idle + 1
            time.sleep(0.05)


@contextlib.contextmanager
def termination_as_interrupt() -> Iterator[None]:
    """SIGTERM ends a run as Ctrl-C does; only the main thread may receive signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
