"""Pauses Python's search for cycles of objects while a close is read."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Pauses:
    """Several threads may pause it at once; the last one to end resumes it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._was_enabled = True

    def begin(self) -> None:
        with self._lock:
            if self._count == 0:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._count += 1

    def end(self) -> None:
        with self._lock:
            self._count -= 1
            if self._count == 0 and self._was_enabled:
                gc.enable()


# One, as the collector is that of the process.
_PAUSES = _Pauses()


@contextmanager
def collection_paused() -> Iterator[None]:
    """For reading a close: it makes millions of objects without cycles, and each search looks at all of them."""
    _PAUSES.begin()
    try:
        yield
    finally:
        _PAUSES.end()
