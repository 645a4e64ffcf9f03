"""Sessions through Spark Connect: on a server that runs, on one of our own in a local Java process, or on Sail."""

import os
import secrets
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from daybook.engine.java.classic import attach_server, check_java_properties, open_py4j_gateway, start_gateway
from daybook.engine.java.launch import Launch
from daybook.engine.java.runtime import find_listener_problem
from daybook.engine.java.session_conf import read_setting
from daybook.errors import DaybookError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_SERVER_CONF = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.sql.artifact.isolation.enabled": "true",
    "spark.sql.artifact.isolation.alwaysApplyClassloader": "true",
}
_DEFAULT_PORT = 15002
_SERVER_TIMEOUT_SECONDS = 20
_CONNECT_MODE_VARIABLE = "SPARK_CONNECT_MODE_ENABLED"


def open_remote_session(remote: str, settings: Mapping[str, str], app_name: str) -> "SparkSession":
    """A session of its own on the server at `remote`."""
    _check_server_listens(remote)
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        session = SparkSession.builder.remote(remote).appName(app_name).create()
        try:
            _apply_settings(session, settings)
        except BaseException:
            # A session that is left open would keep this program from ending, asking a server that may be gone.
            session.stop()
            raise
    except PySparkException as failure:
        clear_connect_mode()
        reason = str(failure).strip().split("\n", 1)[0]
        raise DaybookError("RUN_908", remote=_without_parameters(remote), reason=reason) from failure
    return session


def _check_server_listens(remote: str) -> None:
    """Fail at once where nobody listens; PySpark would try for ten minutes."""
    try:
        address = urlsplit(remote)
        host_and_port = (address.hostname or "localhost", address.port or _DEFAULT_PORT)
    except ValueError as failure:
        raise DaybookError("RUN_908", remote=_without_parameters(remote), reason=str(failure)) from failure
    if (problem := find_listener_problem([host_and_port], _SERVER_TIMEOUT_SECONDS)) is not None:
        raise DaybookError("RUN_908", remote=_without_parameters(remote), reason=problem)


def _apply_settings(session: "SparkSession", settings: Mapping[str, str]) -> None:
    # Setting a value that holds already can still earn a warning, for a setting that is going out of use.
    for key, value in settings.items():
        if read_setting(session, key) != value:
            session.conf.set(key, value)


def open_local_connect_session(
    launch: Launch, settings: Mapping[str, str], app_name: str, *, show_log: bool = False
) -> "SparkSession":
    """A Connect server on a free port of this machine, ending with us, and a session on it."""
    token = secrets.token_urlsafe(24)
    conf = {**launch.conf, **_SERVER_CONF, "spark.connect.authenticate.token": token}
    gateway = start_gateway(replace(launch, conf=conf), os.environ, show_log=show_log)()
    try:
        bridge: Any = open_py4j_gateway(gateway)
        check_java_properties(bridge)
        bridge.jvm.org.apache.spark.sql.classic.SparkSession.builder().getOrCreate()
        service = getattr(bridge.jvm, "org.apache.spark.sql.connect.service.SparkConnectService$")
        port = getattr(service, "MODULE$").localPort()
        session = open_remote_session(f"sc://localhost:{port}/;token={token}", settings, app_name)
    except BaseException:
        gateway.close()
        raise
    attach_server(session, gateway, bridge)
    return session


def clear_connect_mode() -> None:
    """Let PySpark's functions speak to classic sessions again."""
    os.environ.pop(_CONNECT_MODE_VARIABLE, None)


def is_connect(spark: "SparkSession") -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _without_parameters(remote: str) -> str:
    """The URL without what follows the host, where tokens stand."""
    return remote.split("/;", 1)[0]


@dataclass(frozen=True, slots=True)
class _SailServer:
    server: Any

    def close(self) -> None:
        self.server.stop()


def open_sail_session(settings: Mapping[str, str], app_name: str) -> "SparkSession":
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
        session = open_remote_session(f"sc://{host}:{port}", settings, app_name)
    except BaseException:
        server.stop()
        raise
    attach_server(session, _SailServer(server))
    return session


def check_capabilities(session: "SparkSession") -> None:
    """Refuse a server that lacks what every run uses, rather than fail in the middle of one."""
    missing = [name for name, is_there in _REQUIRED_CAPABILITIES.items() if not is_there(session)]
    if missing:
        raise DaybookError("RUN_911", missing=", ".join(missing))


def _can_observe(session: "SparkSession") -> bool:
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    counted = Observation()
    return _succeeds(lambda: session.range(2).observe(counted, F.expr("COUNT(1)").alias("rows")).collect()) and (
        _succeeds(lambda: counted.get["rows"])
    )


def _has_row_positions(session: "SparkSession") -> bool:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/rows"
        return _succeeds(lambda: session.range(1).write.parquet(path)) and _succeeds(
            lambda: session.read.parquet(path).selectExpr("_metadata.file_path", "_metadata.row_index").collect()
        )


def _fails_on_overflow(session: "SparkSession") -> bool:
    return not _succeeds(lambda: session.range(1).selectExpr("id + 9223372036854775807L + 1L").collect())


def _succeeds(action: Callable[[], object]) -> bool:
    try:
        action()
    except Exception:
        return False
    return True


_REQUIRED_CAPABILITIES: Mapping[str, Callable[["SparkSession"], bool]] = {
    "counters in a query (observe)": _can_observe,
    "the place of a row in its file (_metadata)": _has_row_positions,
    "arithmetic that fails on overflow (ANSI)": _fails_on_overflow,
}
