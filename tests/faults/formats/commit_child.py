"""Commits what another process staged, and dies where the test says."""

import os
import signal
import time
from multiprocessing.connection import Connection
from typing import Any

from daybook.io.registry import writer_for
from daybook.io.target import Target
from daybook.io.writer import StagedOutput, no_fence

# A copy of this process need not import them again.
for _format in ("csv", "delta", "iceberg", "json", "parquet", "postgresql", "sqlite", "xlsx"):
    writer_for(_format)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


def commit(staged: StagedOutput, target: Target, point: str, connection: "Connection[Any, Any]") -> None:
    writer = writer_for(target.format)
    connection.send("ready")
    if point == "random":
        connection.recv()
    writer.commit(staged, target, (lambda _: die()) if point == "fence" else no_fence)
    if point == "after":
        die()
