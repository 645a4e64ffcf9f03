"""Sail as the engine: a Connect server without Java, in this process."""

import os
import tempfile
from collections.abc import Callable, Mapping
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


def require_engine(session: "SparkSession") -> None:
    """Refuse a server that lacks what every run uses, rather than fail in the middle of one."""
    missing = [name for name, is_there in _NEEDS.items() if not is_there(session)]
    if missing:
        raise DaybookError("RUN_911", missing=", ".join(missing))


def _counts(session: "SparkSession") -> bool:
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    counted = Observation()
    return _succeeds(lambda: session.range(2).observe(counted, F.expr("COUNT(1)").alias("rows")).collect()) and (
        _succeeds(lambda: counted.get["rows"])
    )


def _knows_places(session: "SparkSession") -> bool:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/rows"
        return _succeeds(lambda: session.range(1).write.parquet(path)) and _succeeds(
            lambda: session.read.parquet(path).selectExpr("_metadata.file_path", "_metadata.row_index").collect()
        )


def _overflows(session: "SparkSession") -> bool:
    return not _succeeds(lambda: session.range(1).selectExpr("id + 9223372036854775807L + 1L").collect())


def _succeeds(action: Callable[[], object]) -> bool:
    try:
        action()
    except Exception:
        return False
    return True


_NEEDS: Mapping[str, Callable[["SparkSession"], bool]] = {
    "counters in a query (observe)": _counts,
    "the place of a row in its file (_metadata)": _knows_places,
    "arithmetic that fails on overflow (ANSI)": _overflows,
}
