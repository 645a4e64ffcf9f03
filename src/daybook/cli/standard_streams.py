"""Standard output and standard error, also where they are closed, full or no longer read."""

import io
import os
import sys
from typing import Any, TextIO


class _TolerantFile(io.FileIO):
    """Writes until that fails and drops the rest; `failure` is the error, unless the reader closed the pipe."""

    failure: OSError | None = None

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as failure:
            if not isinstance(failure, BrokenPipeError):
                self.failure = failure
            _redirect_to_null(self.fileno())
            return memoryview(data).nbytes


def _redirect_to_null(number: int) -> None:
    """Discard what this process, and those it starts, write there from now on."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)
    os.set_inheritable(number, True)


class StandardStreams:
    """Standard output and standard error while the program runs."""

    def __init__(self) -> None:
        sys.stdout, self._output = _open_stream(sys.stdout, 1)
        sys.stderr, _ = _open_stream(sys.stderr, 2)

    def write_failure(self) -> str | None:
        """Why standard output could not be written; a reader that closed the pipe is no failure."""
        sys.stdout.flush()
        failure = self._output.failure
        return None if failure is None else failure.strerror or str(failure)


def _open_stream(python_stream: TextIO | None, number: int) -> tuple[TextIO, _TolerantFile]:
    """The stream at a file number; Python has none where the caller closed it."""
    if python_stream is None:
        _redirect_to_null(number)
    else:
        python_stream.flush()
    outlet = _TolerantFile(number, "w", closefd=False)
    stream = io.TextIOWrapper(
        io.BufferedWriter(outlet),
        encoding=python_stream.encoding if python_stream else "utf-8",
        errors=python_stream.errors if python_stream else None,
        line_buffering=outlet.isatty() or number == 2,
    )
    return stream, outlet
