"""Stopping what Spark does for a run, and turning signals into an orderly end."""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

from pyspark.sql import SparkSession

from daybook.engine.connect import is_connect
from daybook.engine.progress import has_running_tasks

_PATIENCE_SECONDS = 10.0
# Spark tells what its tasks do every tenth of a second.
_IDLE_LOOKS = 4
_BRIDGES = ("pyspark", "py4j", "grpc")


def tag_of(run_id: str) -> str:
    return f"daybook-{run_id}"


@contextlib.contextmanager
def tagged(spark: SparkSession, run_id: str) -> Iterator[None]:
    """Jobs started inside belong to the run and can be stopped from anywhere.

    A classic session finds jobs by its own tags only from the thread that started them, so its context's are used.
    """
    tag, is_remote = tag_of(run_id), is_connect(spark)
    (spark.addTag if is_remote else spark.sparkContext.addJobTag)(tag)
    try:
        yield
    finally:
        with contextlib.suppress(Exception):
            (spark.removeTag if is_remote else spark.sparkContext.removeJobTag)(tag)


def interrupt(spark: SparkSession, run_id: str) -> None:
    """Stop the run's jobs; a session that is gone has none."""
    with contextlib.suppress(Exception):
        if is_connect(spark):
            spark.interruptTag(tag_of(run_id))
        else:
            spark.sparkContext.cancelJobsWithTag(tag_of(run_id))


def wait_until_idle(spark: SparkSession) -> None:
    """Until cancelled tasks no longer write, so that what they staged can be removed for good."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    idle = 0
    with contextlib.suppress(Exception):
        while idle < _IDLE_LOOKS and time.monotonic() < deadline:
            idle = 0 if has_running_tasks(spark) else idle + 1
            time.sleep(0.05)


@contextlib.contextmanager
def signals_to(stop: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C and SIGTERM call `stop`, then interrupt what the main thread does, which alone receives signals.

    Not while it talks to Spark: the conversation would be out of step ever after. There `stop` has to be enough. Who
    asks a second time is interrupted in any case.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = 0

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal heard
        heard += 1
        stop()
        if heard > 1 or not _talks_to_spark(frame):
            raise KeyboardInterrupt

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _talks_to_spark(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] in _BRIDGES:
            return True
        frame = frame.f_back
    return False
