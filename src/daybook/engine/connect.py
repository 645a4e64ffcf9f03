"""Sessions through Spark Connect: on a server that runs, or on one of our own in a local Java process."""

import os
import secrets
import socket
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from daybook.engine.classic import bridge_to
from daybook.engine.gateway import attach, start_gateway
from daybook.engine.launch import Launch
from daybook.engine.settings import setting
from daybook.errors import DaybookError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SERVER = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.sql.artifact.isolation.enabled": "true",
    "spark.sql.artifact.isolation.alwaysApplyClassloader": "true",
}
_PORT = 15002
_KNOCK_SECONDS = 20
_CONNECT_MODE = "SPARK_CONNECT_MODE_ENABLED"


def open_remote(remote: str, settings: Mapping[str, str], app_name: str) -> "SparkSession":
    """A session of its own on the server at `remote`."""
    _knock(remote)
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        session = SparkSession.builder.remote(remote).appName(app_name).create()
        try:
            _set(session, settings)
        except BaseException:
            # A session that is left open would keep this program from ending, asking a server that may be gone.
            session.stop()
            raise
    except PySparkException as failure:
        forget_connect()
        reason = str(failure).strip().split("\n", 1)[0]
        raise DaybookError("RUN_908", remote=_without_parameters(remote), reason=reason) from failure
    return session


def _knock(remote: str) -> None:
    """Fail at once where nobody listens; PySpark would try for ten minutes."""
    address = urlsplit(remote)
    try:
        with socket.create_connection((address.hostname or "localhost", address.port or _PORT), timeout=_KNOCK_SECONDS):
            pass
    except (OSError, ValueError) as failure:
        raise DaybookError("RUN_908", remote=_without_parameters(remote), reason=str(failure)) from failure


def _set(session: "SparkSession", settings: Mapping[str, str]) -> None:
    # Setting a value that holds already can still earn a warning, for a setting that is going out of use.
    for key, value in settings.items():
        if setting(session, key) != value:
            session.conf.set(key, value)


def open_local_connect(
    launch: Launch, settings: Mapping[str, str], app_name: str, *, show_log: bool = False
) -> "SparkSession":
    """A Connect server on a free port of this machine, ending with us, and a session on it."""
    token = secrets.token_urlsafe(24)
    conf = {**launch.conf, **_SERVER, "spark.connect.authenticate.token": token}
    gateway = start_gateway(replace(launch, conf=conf), os.environ, show_log=show_log)()
    try:
        bridge: Any = bridge_to(gateway)
        bridge.jvm.org.apache.spark.sql.classic.SparkSession.builder().getOrCreate()
        service = getattr(bridge.jvm, "org.apache.spark.sql.connect.service.SparkConnectService$")
        port = getattr(service, "MODULE$").localPort()
        session = open_remote(f"sc://localhost:{port}/;token={token}", settings, app_name)
    except BaseException:
        gateway.close()
        raise
    attach(session, gateway, bridge)
    return session


def forget_connect() -> None:
    """Let PySpark's functions speak to classic sessions again."""
    os.environ.pop(_CONNECT_MODE, None)


def is_connect(spark: "SparkSession") -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _without_parameters(remote: str) -> str:
    """The URL without what follows the host, where tokens stand."""
    return remote.split("/;", 1)[0]
