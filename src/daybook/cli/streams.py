"""The program's standard streams, so that what becomes of their other end is no failure of the command."""

import io
import os
import sys
from typing import Any, TextIO


class _Outlet(io.FileIO):
    """Writes as long as somebody takes it and forgets the rest; `failure` is what a full disk or the like said."""

    failure: OSError | None = None

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as failure:
            if not isinstance(failure, BrokenPipeError):
                self.failure = failure
            _close(self.fileno())
            return memoryview(data).nbytes


def _close(number: int) -> None:
    """From now on nothing is written there, by this process and those it starts."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)
    os.set_inheritable(number, True)


class Streams:
    """Standard output and standard error while the program runs."""

    def __init__(self) -> None:
        sys.stdout, self._output = _stream(sys.stdout, 1)
        sys.stderr, _ = _stream(sys.stderr, 2)

    def unsaid(self) -> str | None:
        """Why standard output could not take everything; a reader who went away had enough."""
        sys.stdout.flush()
        failure = self._output.failure
        return None if failure is None else failure.strerror or str(failure)


def _stream(given: TextIO | None, number: int) -> tuple[TextIO, _Outlet]:
    """The stream at a file number; Python has none where the caller closed it."""
    if given is None:
        _close(number)
    else:
        given.flush()
    outlet = _Outlet(number, "w", closefd=False)
    stream = io.TextIOWrapper(
        io.BufferedWriter(outlet),
        encoding=given.encoding if given else "utf-8",
        errors=given.errors if given else None,
        line_buffering=outlet.isatty() or number == 2,
    )
    return stream, outlet
