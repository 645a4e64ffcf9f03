"""A limit on the time that a search of Spark may take: what is running is stopped when it is over."""

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from daybook.engine.jobs import stop_jobs, tag_jobs

_STOP_AGAIN_SECONDS = 0.5


class TimeLimit:
    """Begins when it is created; `share` of it is a limit of its own for a first part of the work."""

    def __init__(self, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._begin = clock()

    def remaining(self) -> float:
        return max(0.0, self._begin + self.seconds - self._clock())

    def is_over(self) -> bool:
        return self.remaining() == 0.0

    def share(self, part: float) -> "TimeLimit":
        """A limit with the same begin and a part of the time."""
        shorter = TimeLimit(self.seconds * part, clock=self._clock)
        shorter._begin = self._begin
        return shorter

    @contextmanager
    def stopping(self, spark: SparkSession) -> Iterator[None]:
        """Stops the jobs that this thread, and those that carry its tags, start inside, once the limit is over."""
        tag, done = f"daybook-limit-{secrets.token_hex(4)}", threading.Event()

        def stop_when_over() -> None:
            # Again and again: a job may begin while others are stopped.
            wait_seconds = self.remaining()
            while not done.wait(wait_seconds):
                stop_jobs(spark, tag)
                wait_seconds = _STOP_AGAIN_SECONDS

        watcher = threading.Thread(target=stop_when_over, name="daybook-limit", daemon=True)
        watcher.start()
        try:
            with tag_jobs(spark, tag):
                yield
        finally:
            done.set()
            watcher.join()
