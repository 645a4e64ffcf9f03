"""Work for Spark that overlaps: while one job is executed the next is planned."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
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

    def belonging_to_the_run(work: Callable[[], Done]) -> Done:
        with tagged(active(spark), run_id):
            return work()

    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="daybook-writing") as pool:
        futures = [pool.submit(belonging_to_the_run, work) for work in works]
        try:
            ended, _ = wait(futures, return_when=FIRST_EXCEPTION)
            _raise_first(ended)
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            # A job that had not begun a moment ago may have begun since.
            while running := [future for future in futures if not future.done()]:
                interrupt(spark, run_id)
                wait(running, timeout=0.1)
            raise


def _raise_first(ended: "set[Future[Done]]") -> None:
    for future in ended:
        if (failure := future.exception()) is not None:
            raise failure
