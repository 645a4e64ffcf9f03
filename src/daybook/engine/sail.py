"""Sail as the engine: a Connect server without Java, in this process."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daybook.engine.connect import open_remote
from daybook.engine.gateway import attach
from daybook.errors import DaybookError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class _SailServer:
    server: Any

    def close(self) -> None:
        self.server.stop()


def open_sail(settings: Mapping[str, str], app_name: str) -> "SparkSession":
    """Start Sail on a free port of this machine and open a session on it."""
    # Sail logs to the terminal, and reads how much when it is loaded.
    os.environ.setdefault("RUST_LOG", "error")
    try:
        from pysail.spark import SparkConnectServer
    except ImportError as missing:
        raise DaybookError("RUN_909") from missing
    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    try:
        host, port = server.listening_address
        session = open_remote(f"sc://{host}:{port}", settings, app_name)
    except BaseException:
        server.stop()
        raise
    attach(session, _SailServer(server))
    return session
