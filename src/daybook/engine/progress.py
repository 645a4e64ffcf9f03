"""How far Spark is, for whoever waits: tasks done and tasks known so far."""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from daybook.engine.connect import is_connect

if TYPE_CHECKING:
    from pyspark import StatusTracker
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.shell.progress import ProgressHandler

OnProgress = Callable[[int, int], None]


@dataclass(slots=True)
class _Tally:
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
    tally = _Tally(on_progress)
    watching = _handling(spark, tally) if is_connect(spark) else _polling(spark, tally, interval)
    with watching:
        yield


@contextlib.contextmanager
def _handling(spark: "SparkSession", tally: _Tally) -> Iterator[None]:
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
def _polling(spark: "SparkSession", tally: _Tally, interval: float) -> Iterator[None]:
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
