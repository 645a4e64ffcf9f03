"""Jobs of two runs in one application: stopped, waited for and reported by their tag alone."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pyspark.sql import SparkSession

from daybook.engine import jobs
from daybook.engine.java.session import separate_session
from daybook.engine.jobs import carry_tags, stop_jobs, tag_jobs, wait_until_idle, watch_progress


@pytest.fixture(autouse=True)
def classic_only(is_connect: bool) -> None:
    if is_connect:
        pytest.skip("a Connect session knows nothing but its own jobs")


def sleep_in_tasks(spark: SparkSession, tag: str, seconds: float, tasks: int = 1) -> int:
    """A job whose tasks sleep; the number of rows it gives."""
    milliseconds = int(seconds * 1000)
    with tag_jobs(spark, tag):
        rows = spark.range(tasks, numPartitions=tasks).selectExpr(
            f"reflect('java.lang.Thread', 'sleep', CAST({milliseconds} + id - id AS BIGINT)) AS slept"
        )
        return len(rows.collect())


def sleep_in_jobs(spark: SparkSession, tag: str, is_over: threading.Event) -> int:
    """One short job after the other until it is over; the number of rows of the last one."""
    rows = 0
    while not is_over.is_set():
        rows = sleep_in_tasks(spark, tag, 0.2)
    return rows


class Background:
    """A call in a thread of its own; `result` is what it gave or raised."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.result: Any = None
        self._thread = threading.Thread(target=self._run, args=(call,), daemon=True)
        self._thread.start()

    def _run(self, call: Callable[[], Any]) -> None:
        try:
            self.result = call()
        except Exception as failure:
            self.result = failure

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def join(self) -> Any:
        self._thread.join(60)
        return self.result


def stages(spark: SparkSession, tag: str) -> set[int]:
    """The stages of a tag's jobs; other tests may have jobs in the same application."""
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in spark.sparkContext._jsc.sc().statusTracker().getJobIdsForTag(tag)]
    return {stage for job in jobs if job is not None for stage in job.stageIds}


def wait_for_stage(spark: SparkSession, tag: str) -> None:
    tracker = spark.sparkContext.statusTracker()
    deadline = time.monotonic() + 30
    while not stages(spark, tag) & {*tracker.getActiveStageIds()} and time.monotonic() < deadline:
        time.sleep(0.02)


def running_tasks(spark: SparkSession, tag: str) -> int:
    """Spark reports them when a stage has ended, sooner or later before that."""
    tracker = spark.sparkContext.statusTracker()
    found = [tracker.getStageInfo(stage) for stage in stages(spark, tag)]
    return sum(stage.numActiveTasks for stage in found if stage is not None)


def test_stopping_one_run_leaves_the_other_alone_and_does_not_wait_for_it(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "_IDLE_TIMEOUT_SECONDS", 10**6)
    one, other = separate_session(spark), separate_session(spark)
    is_over = threading.Event()
    goes_on = Background(lambda: sleep_in_jobs(other, "run-other", is_over))
    wait_for_stage(spark, "run-other")
    stopped = Background(lambda: sleep_in_tasks(one, "run-one", 1))
    wait_for_stage(spark, "run-one")
    stop_jobs(one, "run-one")
    waiting = Background(lambda: wait_until_idle(one, "run-one"))
    waiting.join()
    assert not waiting.is_running
    assert running_tasks(spark, "run-one") == 0
    assert goes_on.is_running
    assert isinstance(stopped.join(), Exception)
    is_over.set()
    assert goes_on.join() == 1


def test_progress_counts_the_tasks_of_its_own_run(spark: SparkSession) -> None:
    one, other = separate_session(spark), separate_session(spark)
    reports: list[tuple[int, int]] = []
    with watch_progress(one, "small", lambda done, total: reports.append((done, total)), interval=0.02):
        large = Background(lambda: sleep_in_tasks(other, "large", 0.1, tasks=12))
        small = Background(lambda: sleep_in_tasks(one, "small", 0.4, tasks=3))
        assert (large.join(), small.join()) == (12, 3)
    assert reports
    assert max(total for _, total in reports) == 3


def test_work_for_another_thread_takes_the_tags_along(spark: SparkSession) -> None:
    def tags() -> set[str]:
        return {*spark.sparkContext.getJobTags()}

    with tag_jobs(spark, "explained"):
        carried = carry_tags(spark, tags)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(carried).result() == {"explained"}
        assert pool.submit(tags).result() == set()


def test_spark_is_not_asked_for_progress_that_nobody_wants(spark: SparkSession) -> None:
    def is_asked() -> bool:
        return "daybook-progress" in {thread.name for thread in threading.enumerate()}

    with watch_progress(spark, "unwatched", None):
        assert not is_asked()
    with watch_progress(spark, "watched", lambda done, total: None):
        assert is_asked()
