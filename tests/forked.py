"""Processes that begin as copies of one that has imported everything, so that a test can have many of them.

They have a process id, connections and signals of their own; only the second that Python takes for its imports is
shared. The process they are copied from ends with the tests.
"""

import multiprocessing
import os
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import Any

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "tests.dying",
        "tests.unit.runs.lifecycle.killed",
        "tests.unit.store.racing",
        "tests.faults.formats.commit_child",
    ]
)
_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Forked:
    """A running copy, and the connection that was its last argument."""

    process: ForkServerProcess
    connection: "Connection[Any, Any]"

    def tell(self, word: str) -> None:
        self.connection.send(word)

    def answer(self) -> Any:
        """What it says next; None when it is gone."""
        assert self.connection.poll(_SECONDS), "it says nothing"
        try:
            return self.connection.recv()
        except (EOFError, ConnectionResetError):
            return None

    def wait(self) -> int | None:
        """Its exit code, minus the signal that ended it."""
        self.process.join(_SECONDS)
        return self.process.exitcode


def _call_in_environment(environment: dict[str, str], target: Callable[..., None], *arguments: object) -> None:
    """The process that is copied has the variables of the test that began first."""
    os.environ.clear()
    os.environ.update(environment)
    target(*arguments)


def forked(target: Callable[..., None], *arguments: object) -> Forked:
    """Call a function in a process of its own."""
    own, other = _CONTEXT.Pipe()
    arguments = (dict(os.environ), target, *arguments, other)
    process = _CONTEXT.Process(target=_call_in_environment, args=arguments, daemon=True)
    process.start()
    # So that the end of the process is the end of the connection.
    other.close()
    return Forked(process, own)
