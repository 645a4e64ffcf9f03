"""Results of other threads, and Ctrl-C while they are waited for."""

import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from daybook.engine.jobs import wait_for


def test_the_result_or_the_failure_of_another_thread_is_passed_on() -> None:
    with ThreadPoolExecutor(2) as pool:
        assert wait_for(pool.submit(lambda: 42)) == 42
        with pytest.raises(TimeoutError, match="its own"):
            wait_for(pool.submit(_fail))


def _fail() -> None:
    raise TimeoutError("its own")


def test_a_signal_that_another_thread_gets_is_handled_while_its_result_is_waited_for() -> None:
    """Linux may give Ctrl-C to any thread."""
    begin, handled = threading.Event(), threading.Event()
    waited: list[bool] = []

    def interrupted() -> None:
        begin.wait(10)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        waited.append(handled.wait(10))

    def wait() -> None:
        begin.set()
        wait_for(future)

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(interrupted)
        with pytest.raises(KeyboardInterrupt):
            wait()
        handled.set()
    assert waited == [True]
