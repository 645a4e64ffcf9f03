"""One Java process for all workers of a test run.

Java begins with slow code and compiles what it executes often: four processes would do that four times.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from daybook.engine.java.classic import Gateway
    from daybook.model.settings import EngineSettings

_APP_NAME = "daybook-tests"
_KEY = "shared_java"


@dataclass(frozen=True, slots=True)
class JavaAddress:
    """Where the shared process listens, and the folder that is removed with it."""

    port: int
    secret: str
    scratch: str

    @contextmanager
    def lock(self) -> Iterator[None]:
        """One worker after the other."""
        with Path(self.scratch, "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


class SharedJava:
    """Starts Java in the process that distributes the tests, and gives every worker its address."""

    def __init__(self, settings: "EngineSettings") -> None:
        self._settings = settings
        self._gateway: Gateway | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        gateway = self._gateway = self._gateway or _start(self._settings)
        node.workerinput[_KEY] = asdict(JavaAddress(gateway.port, gateway.secret, str(gateway.scratch)))

    def pytest_unconfigure(self) -> None:
        if self._gateway is not None:
            self._gateway.close()


def _start(settings: "EngineSettings") -> "Gateway":
    from daybook.engine.java.classic import start_gateway
    from daybook.engine.java.session import application_conf, prepare_launch

    # Java's second compiler costs ten thousand small queries more than it gives them.
    launch = prepare_launch(application_conf(settings, app_name=_APP_NAME).application, "short")
    return start_gateway(launch, os.environ).wait()


def shared_address(config: pytest.Config) -> JavaAddress | None:
    """Where this worker finds the shared Java process, if there is one."""
    given = getattr(config, "workerinput", {}).get(_KEY)
    return JavaAddress(**given) if given else None


class _SharedServer:
    """The Java process as a session of one worker sees it: it outlives the session."""

    def has_ended(self, seconds: float = 0) -> bool:
        return False

    def close(self) -> None:
        pass


def join_shared_java(address: JavaAddress, settings: "EngineSettings") -> "SparkSession":
    """A session of its own in the one application of the shared Java process."""
    from pyspark.core.context import SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    from daybook.engine.java.classic import (
        activate_session,
        attach_server,
        convert_arguments_in_one_call,
        patched_environment,
        remember_classes,
    )
    from daybook.engine.java.session import application_conf

    with patched_environment(PYSPARK_GATEWAY_PORT=str(address.port), PYSPARK_GATEWAY_SECRET=address.secret):
        bridge: Any = launch_gateway()  # type: ignore[no-untyped-call]
    remember_classes(bridge)
    convert_arguments_in_one_call(bridge)
    SparkContext._ensure_initialized(gateway=bridge)
    java = bridge.jvm.org.apache.spark
    # Whoever comes first makes the application.
    application = java.SparkContext.getOrCreate(java.SparkConf())
    context = SparkContext(gateway=bridge, jsc=java.api.java.JavaSparkContext.fromSparkContext(application))
    session = SparkSession(context).newSession()
    for key, value in application_conf(settings, app_name=_APP_NAME).session.items():
        session.conf.set(key, value)
    SparkSession._instantiatedSession = session
    attach_server(session, _SharedServer())
    return activate_session(session)
