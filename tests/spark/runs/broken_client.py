"""The program with a fault at one point: `broken_client.py POINT ACTION WORDS…`.

Points: `landing`, when two of several pieces have been sent; `statement`, before the one that replaces a slice;
`committed`, right after it. Actions: `die`, `server:PID` kills the processes of a server, `cut:PORT` cuts a line.
"""

import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from daybook.cli.app import main
from daybook.io.formats.spark_catalog import writer
from daybook.io.landing import area, table_area


def act(action: str) -> None:
    kind, _, number = action.partition(":")
    if kind == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif kind == "server":
        os.killpg(int(number), signal.SIGKILL)
    else:
        with socket.create_connection(("127.0.0.1", int(number))) as control:
            control.recv(1)


class Once:
    """A function with a fault before or after the call with a number."""

    def __init__(self, function: Callable[..., Any], action: str, *, at: int = 1, is_before: bool = False) -> None:
        self._function = function
        self._action = action
        self._at = at
        self._is_before = is_before
        self._calls = 0

    def method(self) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            self._calls += 1
            if self._is_before and self._calls == self._at:
                act(self._action)
            result = self._function(*given, **named)
            if not self._is_before and self._calls == self._at:
                act(self._action)
            return result

        return call


def break_at(point: str, action: str) -> None:
    if point == "landing":
        patch.object(table_area, "_PIECE_BYTES", 2_000).start()
        patch.object(area, "IN_MEMORY_BYTES", 2_000).start()
        sink = table_area.PieceSink
        patch.object(sink, "_write", Once(sink._write, action, at=2).method()).start()
    else:
        write = writer._Write
        is_before = point == "statement"
        patch.object(write, "into", Once(write.into, action, is_before=is_before).method()).start()


if __name__ == "__main__":
    break_at(sys.argv[1], sys.argv[2])
    sys.argv = ["daybook", *sys.argv[3:]]
    sys.exit(main())
