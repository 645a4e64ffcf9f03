"""Work for Spark that overlaps: while one job is executed the next is planned."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

from pyspark.sql import SparkSession

from daybook.engine.classic import active
from daybook.runs.interrupting import interrupt, tagged

Done = TypeVar("Done")

# Spark serves jobs in the order they come, so a third would only take memory.
_AT_ONCE = 2


def side_by_side(works: Sequence[Callable[[], Done]], spark: SparkSession, run_id: str) -> list[Done]:
    """What each work gives, in order; where one fails or the run is interrupted, none goes on."""
    if len(works) == 1:
        return [works[0]()]
    gate = _Gate()

    def belonging_to_the_run(work: Callable[[], Done]) -> Done:
        with gate.passed(), tagged(active(spark), run_id):
            return work()

    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="daybook-writing") as pool:
        try:
            futures = [pool.submit(belonging_to_the_run, work) for work in works]
            ended, _ = wait(futures, return_when=FIRST_EXCEPTION)
            _raise_first(ended)
            return [future.result() for future in futures]
        except BaseException:
            gate.close()
            pool.shutdown(wait=False, cancel_futures=True)
            # A job that had not begun a moment ago may have begun since.
            while not gate.is_left(within=0.1):
                interrupt(spark, run_id)
            raise


def _raise_first(ended: "set[Future[Done]]") -> None:
    for future in ended:
        if (failure := future.exception()) is not None:
            raise failure


class _Gate:
    """Knows who is inside, also where an interrupt struck while a thread was being started."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._is_closed = False

    @contextmanager
    def passed(self) -> Iterator[None]:
        with self._changed:
            if self._is_closed:
                raise CancelledError
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._is_closed = True

    def is_left(self, *, within: float) -> bool:
        """Whether nobody is inside any more, waiting for it so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._inside == 0, within)
