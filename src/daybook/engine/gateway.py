"""The Java process behind a classic session: started by us, and never outliving us."""

import contextlib
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from daybook.engine.launch import Launch, launcher_variables
from daybook.errors import DaybookError

_START_SECONDS = 180
_POLL_SECONDS = 0.01
_LOG = "spark.log"
_OWNED = "_daybook_owned"

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
    """A running Java process, where it listens, and its scratch folder, which goes away with it."""

    process: subprocess.Popen[bytes]
    port: int
    secret: str
    scratch: Path

    def close(self) -> None:
        """End the process at once and remove its scratch folder; orderly stopping is Spark's business."""
        _end(self.process)
        shutil.rmtree(self.scratch, ignore_errors=True)


class Server(Protocol):
    """Something that runs behind a session and must end after it."""

    def close(self) -> None: ...


def attach(session: object, server: Server, *kept: object) -> None:
    """Keep on the session itself what was started for it, and what must live as long."""
    setattr(session, _OWNED, (server, *kept))


def attached(session: object) -> Server | None:
    """What runs behind a session, if we started it for this session."""
    owned: tuple[Server] | None = vars(session).get(_OWNED)
    return owned[0] if owned is not None else None


@contextlib.contextmanager
def variables(**values: str) -> Iterator[None]:
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


def new_scratch() -> Path:
    """A folder for Spark's temporary files, outside of the user's working directory."""
    return Path(tempfile.mkdtemp(prefix="daybook-spark-"))


def start_gateway(launch: Launch, environment: Mapping[str, str], *, show_log: bool = False) -> Callable[[], Gateway]:
    """Start Java and return a function that waits until it listens, so that the caller can import meanwhile.

    If Java fails with a class-data archive and starts without it, the archive was at fault and is removed.
    """
    process = _spawn(launch, environment, show_log)

    def wait() -> Gateway:
        try:
            return _connected(process, launch)
        except DaybookError:
            _end(process)
            if launch.class_archive is None:
                shutil.rmtree(launch.scratch, ignore_errors=True)
                raise
        gateway = start_gateway(replace(launch, class_archive=None), environment, show_log=show_log)()
        with contextlib.suppress(OSError):
            launch.class_archive.unlink()
        return gateway

    return wait


def _spawn(launch: Launch, environment: Mapping[str, str], show_log: bool) -> subprocess.Popen[bytes]:
    (launch.scratch / "log4j2.properties").write_text(_LOG_SETTINGS, encoding="utf-8")
    variables = {
        **environment,
        **launcher_variables(launch.spark_home),
        "SPARK_CONNECT_MODE": "0",
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(_connection_file(launch)),
    }
    with (launch.scratch / _LOG).open("wb") as log:
        # Java ends when its standard input does: the pipe breaks with this process, however that ends.
        return subprocess.Popen(
            launch.command(),
            env=variables,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=None if show_log else log,
            process_group=0 if os.name == "posix" else None,
        )


def _connected(process: subprocess.Popen[bytes], launch: Launch) -> Gateway:
    """Wait for the port and the secret, which PySpark's gateway writes into a file."""
    connection = _connection_file(launch)
    deadline = time.monotonic() + _START_SECONDS
    while not connection.is_file():
        if process.poll() is not None:
            raise DaybookError("RUN_905", reason=_reason(process.returncode, launch.scratch))
        if time.monotonic() > deadline:
            raise DaybookError("RUN_905", reason=f"no answer within {_START_SECONDS} s")
        time.sleep(_POLL_SECONDS)
    content = connection.read_bytes()
    connection.unlink()
    port, length = struct.unpack_from("!ii", content)
    return Gateway(process, port, content[8 : 8 + length].decode(), launch.scratch)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    with contextlib.suppress(OSError):
        assert process.stdin is not None
        process.stdin.close()
    process.wait()


def _connection_file(launch: Launch) -> Path:
    return launch.scratch / "connection"


def _reason(code: int, scratch: Path) -> str:
    ended = f"Java ended with {signal.Signals(-code).name}" if code < 0 else f"Java ended with exit code {code}"
    said = _tail(scratch / _LOG, 5)
    return f"{ended}: {said}" if said else ended


def _tail(path: Path, lines: int) -> str:
    try:
        return "\n".join(path.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-lines:])
    except OSError:
        return ""
