"""The Spark jobs of one run: tagged, stopped by their tag, waited for, and their progress in tasks."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from daybook.engine.java.connect import is_connect

if TYPE_CHECKING:
    from pyspark import StatusTracker
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.shell.progress import ProgressHandler


_Result = TypeVar("_Result")
_Arguments = ParamSpec("_Arguments")

_WAKE_SECONDS = 0.2


def wait_for(future: Future[_Result]) -> _Result:
    """The result of another thread.

    Linux may give Ctrl-C to any thread, and Python handles it in the main thread only, when that wakes.
    """
    while not wait([future], timeout=_WAKE_SECONDS).done:
        pass
    return future.result()


_IDLE_TIMEOUT_SECONDS = 10.0
# Spark reports what its tasks do every tenth of a second.
_IDLE_POLLS = 4


def carry_tags(spark: "SparkSession", work: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """The same work for another thread, whose jobs then have the tags of this one."""
    is_remote = is_connect(spark)
    tags = tuple(spark.getTags() if is_remote else spark.sparkContext.getJobTags())

    def tagged(*arguments: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
        with contextlib.ExitStack() as stack:
            for tag in tags:
                stack.enter_context(tag_jobs(spark, tag))
            return work(*arguments, **options)

    return tagged


@contextlib.contextmanager
def tag_jobs(spark: "SparkSession", tag: str) -> Iterator[None]:
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


def stop_jobs(spark: "SparkSession", tag: str) -> None:
    """Stop the jobs of a tag; a session that is gone has none."""
    with contextlib.suppress(Exception):
        if is_connect(spark):
            spark.interruptTag(tag)
        else:
            spark.sparkContext.cancelJobsWithTag(tag)


def wait_until_idle(spark: "SparkSession", tag: str) -> None:
    """Until stopped tasks of a tag no longer write, so that what they staged can be removed completely.

    What other runs of the application do is not waited for. A Connect server does not say what its tasks do.
    """
    if is_connect(spark):
        return
    deadline = time.monotonic() + _IDLE_TIMEOUT_SECONDS
    idle = 0
    with contextlib.suppress(Exception):
        tracker = spark.sparkContext.statusTracker()
        while idle < _IDLE_POLLS and time.monotonic() < deadline:
            idle = 0 if _has_running_tasks(spark, tracker, tag) else idle + 1
            time.sleep(0.05)


def _has_running_tasks(spark: "SparkSession", tracker: "StatusTracker", tag: str) -> bool:
    """A stage that is cancelled has ended, for Spark, before its tasks have: those are counted."""
    stages = {stage for job in _tagged_jobs(spark, tag) for stage in _stages_of(tracker, job)}
    return any(info.numActiveTasks for stage in stages if (info := tracker.getStageInfo(stage)) is not None)


def _tagged_jobs(spark: "SparkSession", tag: str) -> set[int]:
    """The jobs of a tag, running or ended; PySpark's own tracker knows groups only."""
    return set(spark.sparkContext._jsc.sc().statusTracker().getJobIdsForTag(tag))


def _stages_of(tracker: "StatusTracker", job: int) -> Iterable[int]:
    info = tracker.getJobInfo(job)
    return info.stageIds if info is not None else ()


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
def watch_progress(
    spark: "SparkSession", tag: str, on_progress: OnProgress | None, *, interval: float = 0.2
) -> Iterator[None]:
    """Call `on_progress(done, total)` from another thread whenever either changes, while the block runs.

    Without `on_progress` Spark is not asked. Only jobs of the tag count; a Connect session reports its own jobs alone.
    """
    if on_progress is None:
        yield
        return
    tally = _TaskTally(on_progress)
    by_handler = is_connect(spark)
    watching = _report_by_handler(spark, tally) if by_handler else _report_by_polling(spark, tag, tally, interval)
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
def _report_by_polling(spark: "SparkSession", tag: str, tally: _TaskTally, interval: float) -> Iterator[None]:
    tracker = spark.sparkContext.statusTracker()
    ended = threading.Event()

    def poll() -> None:
        # A session that is stopped meanwhile ends the watching, not the program.
        with contextlib.suppress(Exception):
            while not ended.wait(interval):
                tally.update(list(_active_stages(spark, tracker, tag)))

    thread = threading.Thread(target=poll, name="daybook-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _active_stages(spark: "SparkSession", tracker: "StatusTracker", tag: str) -> Iterator[tuple[int, int, int]]:
    active = set(tracker.getActiveStageIds())
    jobs = _tagged_jobs(spark, tag).intersection(tracker.getActiveJobsIds()) if active else ()
    for stage in sorted(active & {stage_id for job in jobs for stage_id in _stages_of(tracker, job)}):
        info = tracker.getStageInfo(stage)
        if info is not None:
            yield stage, info.numCompletedTasks, info.numTasks
