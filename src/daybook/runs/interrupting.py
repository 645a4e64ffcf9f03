"""Turning signals into an orderly end of a run."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

_BRIDGES = ("pyspark", "py4j", "grpc")


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
