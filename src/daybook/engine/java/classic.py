"""A classic Spark session in a Java process that Daybook starts and ends."""

import contextlib
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from daybook.engine.java.launch import Launch, find_listener_problem, launcher_variables
from daybook.engine.java.session_conf import JAVA_PROPERTIES, foreign_locale_error
from daybook.errors import DaybookError
from daybook.model.secrets import without_token

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_START_SECONDS = 180
_POLL_SECONDS = 0.01
_LOG_FILE = "spark.log"
_SERVER_ATTRIBUTE = "_daybook_owned"

_LOG_SETTINGS = """\
status = off
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %c: %m%n%ex
"""


@dataclass(frozen=True, slots=True)
class Gateway:
    """A running Java process, where it listens, and its scratch folder, which is removed with it."""

    process: subprocess.Popen[bytes]
    port: int
    secret: str
    scratch: Path

    def has_ended(self, seconds: float = 0) -> bool:
        """Whether Java is gone, or goes within these seconds: its connections break a moment before it ends."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self) -> None:
        """End the process at once and remove its scratch folder; Spark stops itself in order."""
        _kill(self.process)
        shutil.rmtree(self.scratch, ignore_errors=True)


class OwnedServer(Protocol):
    """Something that runs behind a session and must end after it."""

    def has_ended(self, seconds: float = 0) -> bool: ...

    def close(self) -> None: ...


def attach_server(session: object, server: OwnedServer, *kept: object) -> None:
    """Keep on the session itself what was started for it, and what must exist as long."""
    setattr(session, _SERVER_ATTRIBUTE, (server, *kept))


def attached_server(session: object) -> OwnedServer | None:
    """What runs behind a session, if we started it for this session."""
    owned: tuple[OwnedServer] | None = getattr(session, "__dict__", {}).get(_SERVER_ATTRIBUTE)
    return owned[0] if owned is not None else None


@contextlib.contextmanager
def patched_environment(**values: str) -> Iterator[None]:
    """Environment variables for one call only."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def create_scratch_folder() -> Path:
    """A folder for Spark's temporary files, outside of the user's working directory."""
    return Path(tempfile.mkdtemp(prefix="daybook-spark-"))


@dataclass(frozen=True, slots=True)
class StartingGateway:
    """A Java process that does not listen yet, so that its caller can import meanwhile."""

    process: subprocess.Popen[bytes]
    launch: Launch
    environment: Mapping[str, str]
    show_log: bool

    def wait(self) -> Gateway:
        """The process once it listens.

        If Java fails with a class-data archive and starts without it, the archive was at fault and is removed.
        """
        archive = self.launch.class_archive
        try:
            return _wait_for_gateway(self.process, self.launch)
        except DaybookError:
            if archive is None:
                self.abandon()
                raise
        _kill(self.process)
        gateway = start_gateway(
            replace(self.launch, class_archive=None), self.environment, show_log=self.show_log
        ).wait()
        with contextlib.suppress(OSError):
            archive.unlink()
        return gateway

    def abandon(self) -> None:
        """End the process, which nobody needs, and remove its scratch folder."""
        _kill(self.process)
        shutil.rmtree(self.launch.scratch, ignore_errors=True)


def start_gateway(launch: Launch, environment: Mapping[str, str], *, show_log: bool = False) -> StartingGateway:
    return StartingGateway(_spawn(launch, environment, show_log), launch, environment, show_log)


# Any of them says under which name or address Spark listens.
_HOST_VARIABLES = ("SPARK_LOCAL_HOSTNAME", "SPARK_LOCAL_IP")
_HOST_SETTINGS = ("spark.driver.host", "spark.driver.bindAddress")
_LOOPBACK = "127.0.0.1"


def host_variables(launch: Launch, environment: Mapping[str, str]) -> dict[str, str]:
    """A local Spark talks to itself only, so it starts also where the name of the machine does not resolve."""
    is_chosen = any(environment.get(name) for name in _HOST_VARIABLES) or any(
        launch.conf.get(name, _LOOPBACK) != _LOOPBACK for name in _HOST_SETTINGS
    )
    # Spark looks for an address even where it has a name.
    own = {"SPARK_LOCAL_HOSTNAME": "localhost", "SPARK_LOCAL_IP": _LOOPBACK}
    return own if launch.is_local and not is_chosen else {}


def _spawn(launch: Launch, environment: Mapping[str, str], show_log: bool) -> subprocess.Popen[bytes]:
    (launch.scratch / "log4j2.properties").write_text(_LOG_SETTINGS, encoding="utf-8")
    variables = {
        **without_token(environment),
        **host_variables(launch, environment),
        **launcher_variables(launch.spark_home),
        "SPARK_CONNECT_MODE": "0",
        # File names are decoded by the locale, and no flag of Java's changes that.
        **({"LC_ALL": "C.UTF-8"} if sys.platform == "linux" else {}),
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(_connection_file(launch)),
    }
    with (launch.scratch / _LOG_FILE).open("wb") as log:
        # Java ends when its standard input does: the pipe breaks with this process, however that ends.
        return subprocess.Popen(
            launch.command(),
            env=variables,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=None if show_log else log,
            process_group=0 if os.name == "posix" else None,
        )


def _wait_for_gateway(process: subprocess.Popen[bytes], launch: Launch) -> Gateway:
    """Wait for the port and the secret, which PySpark's gateway writes into a file."""
    connection = _connection_file(launch)
    deadline = time.monotonic() + _START_SECONDS
    while not connection.is_file():
        if process.poll() is not None:
            raise DaybookError("RUN_905", reason=_exit_reason(process.returncode, launch.scratch))
        if time.monotonic() > deadline:
            raise DaybookError("RUN_905", reason=f"no answer within {_START_SECONDS} s")
        time.sleep(_POLL_SECONDS)
    content = connection.read_bytes()
    connection.unlink()
    port, length = struct.unpack_from("!ii", content)
    return Gateway(process, port, content[8 : 8 + length].decode(), launch.scratch)


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    with contextlib.suppress(OSError):
        assert process.stdin is not None
        process.stdin.close()
    process.wait()


def _connection_file(launch: Launch) -> Path:
    return launch.scratch / "connection"


def _exit_reason(code: int, scratch: Path) -> str:
    ended = f"Java ended with {signal.Signals(-code).name}" if code < 0 else f"Java ended with exit code {code}"
    last_lines = _tail(scratch / _LOG_FILE, 5)
    return f"{ended}: {last_lines}" if last_lines else ended


def _tail(path: Path, lines: int) -> str:
    try:
        return "\n".join(path.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-lines:])
    except OSError:
        return ""


_MASTER_TIMEOUT_SECONDS = 20


def open_classic_session(starting: StartingGateway, session_settings: Mapping[str, str]) -> "SparkSession":
    """Open a session in a Java process that starts; the application's settings are those of its launch."""
    master = starting.launch.conf.get("spark.master", "")
    # Java needs a moment to come up; importing fills it, pandas behind the last one included.
    import pyspark.sql
    import pyspark.testing.utils  # noqa: F401
    from pyspark.core.context import SparkContext

    gateway = starting.wait()
    try:
        bridge: Any = open_py4j_gateway(gateway)
        check_java_properties(bridge)
        remember_classes(bridge)
        convert_arguments_in_one_call(bridge)
        SparkContext._ensure_initialized(gateway=bridge)
        session = _build_or_explain(session_settings, master)
    except BaseException:
        gateway.close()
        clear_classic_state()
        raise
    attach_server(session, gateway)
    return session


def build_classic_session(settings: Mapping[str, str]) -> "SparkSession":
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _build_or_explain(settings: Mapping[str, str], master: str) -> "SparkSession":
    from py4j.protocol import Py4JJavaError

    try:
        return build_classic_session(settings)
    except Py4JJavaError as failure:
        # Java is asked for its reason while it can still answer.
        reason = str(failure.java_exception.toString())
        raise DaybookError("RUN_910", master=master, reason=reason) from None


def check_master_listens(master: str) -> None:
    """Fail at once where no standalone master listens; Spark would try for a minute."""
    if not master.startswith("spark://"):
        return
    parts = (address.rpartition(":") for address in master.removeprefix("spark://").split(","))
    addresses = [(host.strip("[]"), port) for host, _, port in parts]
    if (problem := find_listener_problem(addresses, _MASTER_TIMEOUT_SECONDS)) is not None:
        raise DaybookError("RUN_910", master=master, reason=problem)


def open_py4j_gateway(gateway: Gateway) -> "object":
    """PySpark's connection to our Java process, which ends at the latest when this process does."""
    from pyspark.java_gateway import launch_gateway

    # For this call only: child processes must not take our Java process for theirs.
    with patched_environment(PYSPARK_GATEWAY_PORT=str(gateway.port), PYSPARK_GATEWAY_SECRET=gateway.secret):
        bridge: object = launch_gateway()  # type: ignore[no-untyped-call]
    weakref.finalize(bridge, gateway.close)
    return bridge


# The names by which PySpark asks for the classes that it makes columns with.
_CLASSES_OF_COLUMNS: Mapping[str, str] = {
    "org.apache.spark.sql.functions": "org.apache.spark.sql.functions",
    "functions": "org.apache.spark.sql.functions",
    "PythonUtils": "org.apache.spark.api.python.PythonUtils",
}


def remember_classes(bridge: Any) -> None:
    """Ask Java once for each function that makes columns.

    PySpark asks again with every column, and for a name without a package Java searches all its archives each time.
    """
    from py4j.java_gateway import JavaClass, JavaMember

    class RememberedClass(JavaClass):  # type: ignore[misc]
        def __getattr__(self, name: str) -> object:
            attribute: object = super().__getattr__(name)
            if isinstance(attribute, JavaMember):
                setattr(self, name, attribute)
            return attribute

    for name, class_name in _CLASSES_OF_COLUMNS.items():
        setattr(bridge.jvm, name, RememberedClass(class_name, bridge._gateway_client))


# Lists with a text that holds it are sent as py4j sends them.
_SEPARATOR = "\x1f"
_SENT_AS_THEY_ARE = (str, int, float, bool, type(None))


def convert_arguments_in_one_call(bridge: Any) -> None:
    """Send a list of texts in one piece, and texts and numbers without a question.

    py4j makes an empty list in Java and adds one text after the other, which are most calls of a run; and it asks each
    of its converters about every argument.
    """
    from py4j.java_gateway import JavaClass

    client = bridge._gateway_client
    originals = client.converters
    split = JavaClass("org.apache.hadoop.util.StringUtils", client).getStringCollection

    class Converter:
        def can_convert(self, argument: object) -> bool:
            if type(argument) in _SENT_AS_THEY_ARE:
                return False
            return any(converter.can_convert(argument) for converter in originals)

        def convert(self, argument: Any, gateway_client: object) -> object:
            if type(argument) in (list, tuple) and argument and all(type(item) is str and item for item in argument):
                text = _SEPARATOR.join(argument)
                if text.count(_SEPARATOR) == len(argument) - 1:
                    return split(text, _SEPARATOR)
            converter = next(candidate for candidate in originals if candidate.can_convert(argument))
            return converter.convert(argument, gateway_client)

    client.converters = [Converter()]


def check_java_properties(bridge: Any) -> None:
    """Refuse a Java process that took a locale, character set or time zone from the environment after all.

    `_JAVA_OPTIONS` overrides the command line.
    """
    system = bridge.jvm.java.lang.System
    properties = {name: system.getProperty(name) for name in JAVA_PROPERTIES}
    differing = [f"{name}={value}" for name, value in properties.items() if value != JAVA_PROPERTIES[name]]
    if differing:
        raise foreign_locale_error(", ".join(differing))


def activate_session(session: "SparkSession") -> "SparkSession":
    """The session, found by this thread also where another one started it: Spark looks data sources up that way."""
    from pyspark.sql import SparkSession

    if type(session) is SparkSession and session._jvm is not None:
        SparkSession._get_j_spark_session_class(session._jvm).setActiveSession(session._jsparkSession)
    elif (active := getattr(type(session), "_active_session", None)) is not None:
        # Of Spark Connect.
        active.session = session
    return session


def running_classic_session() -> "SparkSession | None":
    """The classic session that this program has, if any; nothing is imported or started for the question."""
    if "pyspark.sql" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    return SparkSession._instantiatedSession


def clear_classic_state() -> None:
    """Clear what PySpark remembers of a session whose Java process is about to end."""
    from pyspark.core.context import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context
    if context is not None and context._accumulatorServer is not None:
        # It prints a traceback when Java, which Python tasks report to it through, is gone.
        context._accumulatorServer.handle_error = _ignore_error  # type: ignore[method-assign]
    if SparkContext._gateway is not None:
        # Objects collected from now on are no longer reported to Java, which would answer with an error.
        SparkContext._gateway._gateway_client.is_connected = False
    SparkContext._active_spark_context = None
    SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def _ignore_error(request: object, client_address: object) -> None:
    """An ended connection is not reported."""
