"""A classic session in a Java process of our own."""

import os
import socket
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING

from daybook.engine.gateway import Gateway, attach, start_gateway, variables
from daybook.engine.launch import Launch
from daybook.errors import DaybookError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_KNOCK_SECONDS = 20


def open_classic(launch: Launch, session_settings: Mapping[str, str], *, show_log: bool = False) -> "SparkSession":
    """Start Java as `launch` says and open a session in it; the application's settings are the launch's."""
    knock_at(launch.conf.get("spark.master", ""))
    connected = start_gateway(launch, os.environ, show_log=show_log)
    # Java needs a moment to come up; importing fills it, pandas behind the last one included.
    import pyspark.sql
    import pyspark.testing.utils  # noqa: F401
    from pyspark.core.context import SparkContext

    gateway = connected()
    try:
        bridge = bridge_to(gateway)
        SparkContext._ensure_initialized(gateway=bridge)
        session = _built(session_settings, launch.conf.get("spark.master", ""))
    except BaseException:
        gateway.close()
        forget_classic()
        raise
    attach(session, gateway)
    return session


def build_classic(settings: Mapping[str, str]) -> "SparkSession":
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _built(settings: Mapping[str, str], master: str) -> "SparkSession":
    from py4j.protocol import Py4JJavaError

    try:
        return build_classic(settings)
    except Py4JJavaError as failure:
        # Java is asked for its reason while it can still answer.
        reason = str(failure.java_exception.toString())
        raise DaybookError("RUN_910", master=master, reason=reason) from None


def knock_at(master: str) -> None:
    """Fail at once where no standalone master listens; Spark would try for a minute."""
    if not master.startswith("spark://"):
        return
    reason = ""
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK_SECONDS):
                return
        except (OSError, ValueError) as failure:
            reason = str(failure)
    raise DaybookError("RUN_910", master=master, reason=reason)


def bridge_to(gateway: Gateway) -> "object":
    """PySpark's end of the line to our Java process, which ends at the latest when this end does."""
    from pyspark.java_gateway import launch_gateway

    # For this call only: child processes must not take our Java process for theirs.
    with variables(PYSPARK_GATEWAY_PORT=str(gateway.port), PYSPARK_GATEWAY_SECRET=gateway.secret):
        bridge: object = launch_gateway()  # type: ignore[no-untyped-call]
    weakref.finalize(bridge, gateway.close)
    return bridge


def active(session: "SparkSession") -> "SparkSession":
    """The session, found by this thread also where another one started it: Spark looks data sources up that way."""
    from pyspark.sql import SparkSession

    if type(session) is SparkSession and session._jvm is not None:
        SparkSession._get_j_spark_session_class(session._jvm).setActiveSession(session._jsparkSession)
    return session


def forget_classic() -> None:
    """Clear what PySpark remembers of a session whose Java process is about to end."""
    from pyspark.core.context import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context
    if context is not None and context._accumulatorServer is not None:
        # It prints a traceback when Java, which Python tasks report to it through, is gone.
        context._accumulatorServer.handle_error = _silent  # type: ignore[method-assign]
    if SparkContext._gateway is not None:
        # Objects collected from now on are no longer reported to Java, which would answer with an error.
        SparkContext._gateway._gateway_client.is_connected = False
    SparkContext._active_spark_context = None
    SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def _silent(request: object, client_address: object) -> None:
    """What an ended connection says to nobody."""
