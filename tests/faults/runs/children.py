"""Processes that run a workspace, for tests that kill and interrupt them."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.workspaces import Folder

_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Child:
    process: subprocess.Popen[str]

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def wait_for(self, *words: str) -> list[str]:
        """The rest of the next line that begins with the words; nothing when the process is gone, or has to go."""
        assert self.process.stdout is not None
        patience = threading.Timer(_SECONDS, self.process.kill)
        patience.start()
        try:
            for line in self.process.stdout:
                if line.split()[: len(words)] == list(words):
                    return line.split()[len(words) :]
            return []
        finally:
            patience.cancel()

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        return self.process.wait(_SECONDS)


@contextmanager
def child(folder: Folder) -> Iterator[Child]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.faults.runs.run_child", str(folder.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        try:
            started = Child(process)
            started.wait_for("ready")
            yield started
        finally:
            process.kill()
