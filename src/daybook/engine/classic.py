"""A classic session in a Java process of our own."""

import os
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING

from daybook.engine.gateway import Gateway, attach, start_gateway, variables
from daybook.engine.launch import Launch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def open_classic(launch: Launch, session_settings: Mapping[str, str], *, show_log: bool = False) -> "SparkSession":
    """Start Java as `launch` says and open a session in it; the application's settings are the launch's."""
    connected = start_gateway(launch, os.environ, show_log=show_log)
    # Java needs a moment to come up; importing fills it, pandas behind the last one included.
    import pyspark.sql
    import pyspark.testing.utils  # noqa: F401
    from pyspark.core.context import SparkContext

    gateway = connected()
    try:
        bridge = bridge_to(gateway)
        SparkContext._ensure_initialized(gateway=bridge)
        session = build_classic(session_settings)
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


def bridge_to(gateway: Gateway) -> "object":
    """PySpark's end of the line to our Java process, which ends at the latest when this end does."""
    from pyspark.java_gateway import launch_gateway

    # For this call only: child processes must not take our Java process for theirs.
    with variables(PYSPARK_GATEWAY_PORT=str(gateway.port), PYSPARK_GATEWAY_SECRET=gateway.secret):
        bridge: object = launch_gateway()  # type: ignore[no-untyped-call]
    weakref.finalize(bridge, gateway.close)
    return bridge


def forget_classic() -> None:
    """Clear what PySpark remembers of a session whose Java process is about to end."""
    from pyspark.core.context import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._gateway is not None:
        # Objects collected from now on are no longer reported to Java, which would answer with an error.
        SparkContext._gateway._gateway_client.is_connected = False
    SparkContext._active_spark_context = None
    SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
