"""Spark Connect sessions: on a running server, or on a server that Daybook starts."""

import contextlib
import os
import re
import secrets
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from daybook.engine.java.classic import (
    Gateway,
    OwnedServer,
    attach_server,
    attached_server,
    check_java_properties,
    open_py4j_gateway,
    start_gateway,
)
from daybook.engine.java.launch import Launch, find_listener_problem
from daybook.engine.java.spark_version import allow_repeated_observations, sibling_session
from daybook.errors import DaybookError

if TYPE_CHECKING:
    import pyspark.sql
    from pyspark.sql import SparkSession


_SERVER_CONF = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    # Spark keeps compiled code by class loader: with one for each session, every command would compile all of it again.
    "spark.sql.artifact.isolation.enabled": "false",
    "spark.sql.artifact.isolation.alwaysApplyClassloader": "false",
}
_DEFAULT_PORT = 15002
_LOOPBACK = "127.0.0.1"
_LOOPBACK_RETRIES = 4
# The first one finds what Spark lets go of only then, and G1 shrinks its heap with the next.
_COLLECTIONS = 3
# They take seventeen seconds.
_FIRST_RETRIES = 5
# They take about a minute, in which a connection may come back; PySpark would ask a server that is gone for ten.
_LATER_RETRIES = 6
_TOKEN_VARIABLE = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
_SERVER_TIMEOUT_SECONDS = 20
# A server on this machine answers at once; one that hangs is done without.
_LOOPBACK_TIMEOUT_SECONDS = 5
_CONNECT_MODE_VARIABLE = "SPARK_CONNECT_MODE_ENABLED"


def _never() -> bool:
    return False


def open_remote_session(remote: str, settings: Mapping[str, str]) -> "SparkSession":
    """A session of its own on the server at `remote`."""
    _check_server_listens(remote)
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.session import SparkSession

    os.environ[_CONNECT_MODE_VARIABLE] = "1"
    try:
        session: Any = SparkSession(remote)
        # A server that does not speak Spark Connect, or not with TLS, never answers: PySpark would ask for ten minutes.
        _limit_retries(session, _never, _FIRST_RETRIES)
        SparkSession._set_default_and_active_session(session)
        try:
            _apply_settings(session, settings)
        except BaseException:
            # A session that is left open would keep this program from ending, asking a server that may be gone.
            stop_connect_session(session, has_server=False)
            raise
        is_lost = threading.Event()
        _limit_retries(session, is_lost.is_set, _LATER_RETRIES, given_up=is_lost.set)
    except PySparkException as failure:
        clear_connect_mode()
        reason = _failure_reason(failure)
        raise DaybookError("RUN_908", remote=_without_parameters(remote), reason=reason) from failure
    return cast("pyspark.sql.SparkSession", session)


def _check_server_listens(remote: str) -> None:
    """Fail at once if no server listens; PySpark would try for ten minutes."""
    try:
        address = urlsplit(remote)
        host_and_port = (address.hostname or "localhost", address.port or _DEFAULT_PORT)
    except ValueError as failure:
        raise DaybookError("RUN_908", remote=_without_parameters(remote), reason=str(failure)) from failure
    if (problem := find_listener_problem([host_and_port], _SERVER_TIMEOUT_SECONDS)) is not None:
        raise DaybookError("RUN_908", remote=_without_parameters(remote), reason=problem)


def _apply_settings(session: "SparkSession", settings: Mapping[str, str]) -> None:
    """Two requests for all: every setting by itself would take a round trip."""
    allow_repeated_observations()
    current = read_connect_settings(session, settings)
    # Setting a value again can still give a warning, if the setting is deprecated.
    set_connect_settings(session, {key: value for key, value in settings.items() if current[key] != value})


def read_connect_settings(session: Any, keys: Iterable[str]) -> dict[str, str | None]:
    """The values in force, Spark's own included."""
    from pyspark.sql.connect.proto import ConfigRequest

    names = list(keys)
    question = ConfigRequest.Operation(get_option=ConfigRequest.GetOption(keys=names))
    return {**dict.fromkeys(names), **dict(session.client.config(question).pairs)}


def set_connect_settings(session: Any, settings: Mapping[str, str]) -> None:
    if settings:
        session.conf._set_all(dict(settings), silent=False)


@dataclass(frozen=True, slots=True)
class ConnectServer:
    """A Connect server in a Java process that Daybook starts; it listens on loopback and requires the token."""

    gateway: Gateway
    bridge: object
    port: int
    token: str = field(repr=False)

    def give_memory_back(self) -> None:
        """Let Java collect what it does not need, and return the memory; a Java that is ending is left alone."""
        from py4j.protocol import Py4JError

        bridge: Any = self.bridge
        with contextlib.suppress(Py4JError, OSError):
            for _ in range(_COLLECTIONS):
                bridge.jvm.java.lang.System.gc()

    def close(self) -> None:
        self.gateway.close()


def start_connect_server(launch: Launch, *, show_log: bool = False) -> ConnectServer:
    """A Connect server on a free port of this machine, ending with us."""
    token = secrets.token_urlsafe(32)
    # Arguments of a process are visible to every user of the machine, its environment is not.
    environment = {**os.environ, _TOKEN_VARIABLE: token}
    gateway = start_gateway(
        replace(launch, conf={**launch.conf, **_SERVER_CONF}), environment, show_log=show_log
    ).wait()
    try:
        bridge: Any = open_py4j_gateway(gateway)
        check_java_properties(bridge)
        bridge.jvm.org.apache.spark.sql.classic.SparkSession.builder().getOrCreate()
        service = getattr(bridge.jvm, "org.apache.spark.sql.connect.service.SparkConnectService$")
        return ConnectServer(gateway, bridge, getattr(service, "MODULE$").localPort(), token)
    except BaseException:
        gateway.close()
        raise


def open_local_connect_session(
    launch: Launch, settings: Mapping[str, str], *, show_log: bool = False
) -> "SparkSession":
    """A Connect server of our own, and a session on it."""
    server = start_connect_server(launch, show_log=show_log)
    try:
        session = open_loopback_session(server.port, server.token, settings, has_ended=server.gateway.has_ended)
    except BaseException:
        server.close()
        raise
    attach_server(session, server.gateway, server.bridge)
    return session


def open_loopback_session(
    port: int, token: str, settings: Mapping[str, str], *, has_ended: Callable[[], bool] = _never
) -> "SparkSession":
    """A session on a server of our own; RUN_908 when it does not answer within seconds or refuses the token.

    Requests are not repeated once the server has ended.
    """
    remote = f"sc://{_LOOPBACK}:{port}"
    if (problem := find_listener_problem([(_LOOPBACK, port)], _LOOPBACK_TIMEOUT_SECONDS)) is not None:
        raise DaybookError("RUN_908", remote=remote, reason=problem)
    import grpc  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.client import DefaultChannelBuilder
    from pyspark.sql.connect.session import SparkSession

    class LoopbackChannel(DefaultChannelBuilder):
        """`localhost` may also be an address on which another program listens."""

        def toChannel(self) -> Any:  # noqa: N802
            credentials = grpc.composite_channel_credentials(
                grpc.local_channel_credentials(), grpc.access_token_call_credentials(token)
            )
            channel = self._secure_channel(f"{_LOOPBACK}:{port}", credentials)
            grpc.channel_ready_future(channel).result(timeout=_LOOPBACK_TIMEOUT_SECONDS)
            return channel

    os.environ[_CONNECT_MODE_VARIABLE] = "1"
    try:
        session: Any = SparkSession(LoopbackChannel(remote))
        # On this machine a server that does not answer has ended, so it is not waited for ten minutes.
        _limit_retries(session, has_ended, _LOOPBACK_RETRIES)
        SparkSession._set_default_and_active_session(session)
        try:
            _apply_settings(session, settings)
        except BaseException:
            stop_connect_session(session, has_server=False)
            raise
    except (PySparkException, grpc.FutureTimeoutError) as failure:
        clear_connect_mode()
        raise DaybookError("RUN_908", remote=remote, reason=_failure_reason(failure)) from failure
    return cast("pyspark.sql.SparkSession", session)


def _limit_retries(
    session: Any, has_ended: Callable[[], bool], most: int, given_up: Callable[[], object] = _never
) -> None:
    """Repeat a request so many times, and not at all once the server has ended.

    `given_up` is called when a request was repeated in vain. PySpark would warn about each of them.
    """
    from pyspark.sql.connect.client.retries import DefaultPolicy, RetryPolicyState

    class QuietState(RetryPolicyState):
        attempts = 0
        asked: BaseException | None = None
        answer = False

        def can_retry(self, exception: BaseException) -> bool:
            # Asked twice about each failure; a second answer that differs would be the warning.
            if exception is not self.asked:
                is_left = (self.policy.max_retries or 0) > self.attempts
                if not is_left:
                    given_up()
                self.asked, self.answer = exception, is_left and super().can_retry(exception)
            return self.answer

        # Clients before Spark 4.1 pass no failure.
        def next_attempt(self, *failure: BaseException | None) -> int | None:
            self.attempts += 1
            return super().next_attempt(*failure)

    class QuietPolicy(DefaultPolicy):
        def can_retry(self, e: BaseException) -> bool:
            return super().can_retry(e) and not has_ended()

        def to_state(self) -> RetryPolicyState:
            return QuietState(self)

    session.client.set_retry_policies([QuietPolicy(max_retries=most)])


def clone_session(session: "SparkSession") -> "SparkSession":
    """A session of its own on the same server, which repeats requests as little as the given one."""
    sibling: Any = sibling_session(session, is_connect=is_connect(session))
    if is_connect(session):
        sibling.client.set_retry_policies(cast(Any, session).client.get_retry_policies())
        if (server := attached_server(session)) is not None:
            attach_server(sibling, _SharedServer(server))
    return cast("pyspark.sql.SparkSession", sibling)


@dataclass(frozen=True, slots=True)
class _SharedServer:
    """The server of another session, which ends it."""

    owner: OwnedServer

    def has_ended(self, seconds: float = 0) -> bool:
        return self.owner.has_ended(seconds)

    def close(self) -> None:
        pass


def is_unavailable(failure: BaseException) -> bool:
    """Whether a Connect server could not be reached."""
    code = getattr(failure, "_grpc_status_code", None)
    if code is None and "grpc" in sys.modules:
        import grpc

        code = failure.code() if isinstance(failure, grpc.RpcError) and hasattr(failure, "code") else None
    return getattr(code, "name", None) == "UNAVAILABLE"


def _failure_reason(failure: Exception) -> str:
    """The one line of a failure that says why; gRPC hides it among others."""
    text = str(failure).strip()
    details = re.search(r'details = "(.+)"', text)
    return details[1] if details else text.split("\n", 1)[0] or "no answer"


def stop_connect_session(session: Any, *, has_server: bool) -> None:
    """Close the session; a server that is gone is not asked to release it."""
    session.release_session_on_close = has_server
    session.stop()


def clear_connect_mode() -> None:
    """Let PySpark's functions use classic sessions again."""
    os.environ.pop(_CONNECT_MODE_VARIABLE, None)


def is_connect(spark: "SparkSession") -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _without_parameters(remote: str) -> str:
    """The URL without what follows the host, which may contain tokens."""
    return remote.split("/;", 1)[0]
