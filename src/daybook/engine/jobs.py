"""The Spark jobs of one run: tagged, stopped by their tag, waited for, and their progress in tasks."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql import SparkSession

from daybook.engine.java.connect import is_connect

if TYPE_CHECKING:
    from pyspark import StatusTracker
    from pyspark.sql.connect.shell.progress import ProgressHandler


_IDLE_TIMEOUT_SECONDS = 10.0
# Spark reports what its tasks do every tenth of a second.
_IDLE_POLLS = 4


@contextlib.contextmanager
def tag_jobs(spark: SparkSession, tag: str) -> Iterator[None]:
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
    deadline = time.monotonic() + _IDLE_TIMEOUT_SECONDS
    idle = 0
    with contextlib.suppress(Exception):
        while idle < _IDLE_POLLS and time.monotonic() < deadline:
            idle = 0 if _has_running_tasks(spark) else idle + 1
            time.sleep(0.05)


def _has_running_tasks(spark: SparkSession) -> bool:
    """Whether the classic session still works on something; a Connect server does not say.

    A stage that is cancelled has ended, for Spark, before its tasks have.
    """
    if is_connect(spark):
        return False
    if spark.sparkContext.statusTracker().getActiveStageIds():
        return True
    executors = spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    return any(executor.numRunningTasks() for executor in executors)


OnProgress = Callable[[int, int], None]


@dataclass(slots=True)
class _TaskTally:
    """Tasks by stage; a stage that is no longer reported has ended, so its tasks count as done."""

    report: OnProgress
    stages: dict[int, tuple[int, int]] = field(default_factory=dict)
    last: tuple[int, int] = (0, 0)

    def update(self, running: Iterable[tuple[int, int, int]]) -> None:
        now = {stage: (done, total) for stage, done, total in running}
        ended = {stage: (total, total) for stage, (_, total) in self.stages.items() if stage not in now}
        self.stages |= ended | now
        current = (sum(done for done, _ in self.stages.values()), sum(total for _, total in self.stages.values()))
        if current != self.last:
            self.last = current
            self.report(*current)


@contextlib.contextmanager
def watch_progress(spark: "SparkSession", on_progress: OnProgress, *, interval: float = 0.2) -> Iterator[None]:
    """Call `on_progress(done, total)` from another thread whenever either changes, while the block runs."""
    tally = _TaskTally(on_progress)
    watching = _report_by_handler(spark, tally) if is_connect(spark) else _report_by_polling(spark, tally, interval)
    with watching:
        yield


@contextlib.contextmanager
def _report_by_handler(spark: "SparkSession", tally: _TaskTally) -> Iterator[None]:
    def handle(stages: Iterable[Any] | None, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        tally.update((stage.stage_id, stage.num_completed_tasks, stage.num_tasks) for stage in stages or ())

    # PySpark declares a class and documents functions.
    handler = cast("ProgressHandler", handle)
    spark.registerProgressHandler(handler)
    try:
        yield
    finally:
        spark.removeProgressHandler(handler)


@contextlib.contextmanager
def _report_by_polling(spark: "SparkSession", tally: _TaskTally, interval: float) -> Iterator[None]:
    tracker = spark.sparkContext.statusTracker()
    ended = threading.Event()

    def poll() -> None:
        # A session that is stopped meanwhile ends the watching, not the program.
        with contextlib.suppress(Exception):
            while not ended.wait(interval):
                tally.update(list(_active_stages(tracker)))

    thread = threading.Thread(target=poll, name="daybook-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _active_stages(tracker: "StatusTracker") -> Iterator[tuple[int, int, int]]:
    for stage in tracker.getActiveStageIds():
        info = tracker.getStageInfo(stage)
        if info is not None:
            yield stage, info.numCompletedTasks, info.numTasks
