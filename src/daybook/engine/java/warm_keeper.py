"""The process that keeps a warm engine: starts Spark, publishes its address, and ends it after its idle time.

Started as `python -m daybook.engine.java.warm_keeper` with its request on standard input. Spark's Java process ends
with this one, however it ends.
"""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from daybook.engine.java.connect import ConnectServer, start_connect_server
from daybook.engine.java.session import application_conf, build_missing_archive, fitting_conf, prepare_launch
from daybook.engine.java.warm_engines import IS_KEPT_ALREADY, WarmEngines
from daybook.engine.java.warm_folder import EngineFolder, EngineRecord, WarmUpProgress, try_lock
from daybook.errors import DaybookError
from daybook.model.settings import EngineSettings

_POLL_SECONDS = 0.5
_LOCK_SECONDS = 2.0
# By name: the engine knows nothing of the commands that use it.
_COMMAND_SERVER = "daybook.cli.server.command_server"
_RESTART_SECONDS = 5.0
# Commands that follow each other within this time find the memory that they need already there.
_QUIET_SECONDS = 30.0
_LONGEST_WARM_UP_SECONDS = 300.0

# A client that was killed is noticed within seconds, and its queries end; a notebook may pause for a day.
_KEPT_SERVER_CONF = {
    "spark.connect.execute.manager.detachedTimeout": "20s",
    "spark.connect.execute.manager.maintenanceInterval": "5s",
    "spark.connect.session.manager.defaultSessionTimeout": "24h",
}


class CommandServer:
    """The process beside the engine that has imported what commands need; started again when it has ended.

    It ends by itself after an update of Daybook, and when its standard input, which this process holds, is closed.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = dict(environment)
        self._process: subprocess.Popen[bytes] | None = None
        self._started = -_RESTART_SECONDS

    def ensure(self) -> None:
        """Start it unless it runs or was started moments ago."""
        is_over = self._process is None or self._process.poll() is not None
        if is_over and sys.platform == "linux" and time.monotonic() - self._started > _RESTART_SECONDS:
            self.close()
            self._started = time.monotonic()
            with contextlib.suppress(OSError):
                self._process = subprocess.Popen(
                    [sys.executable, "-m", _COMMAND_SERVER, str(self._folder)],
                    env=self._environment,
                    stdin=subprocess.PIPE,
                    start_new_session=True,
                )

    def close(self) -> None:
        """Let it end, after the commands that it executes."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()


def main() -> int:
    environment = dict(os.environ)
    request = json.load(sys.stdin)
    os.umask(0o077)
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: ended.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    home = EngineFolder(Path(request["folder"]))
    lock = _hold_lock(home.path / "lock")
    if lock is None:
        return IS_KEPT_ALREADY
    home.withdraw()
    home.clear_warm_up()
    settings = EngineSettings.model_validate(request["settings"])
    engines = WarmEngines(settings, request["state"], dict(os.environ))
    users = os.open(home.path / "users", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    os.utime(users)
    try:
        server = _start_server(settings)
    except DaybookError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    commands = CommandServer(home.path, environment)
    try:
        home.publish(EngineRecord(os.getpid(), server.port, server.token, request["idle"], engines.fit()))
        _keep(server, home, users, request["idle"], ended, commands)
    finally:
        home.withdraw()
        commands.close()
        server.close()
        home.clear_warm_up()
    return 0


def _hold_lock(path: Path) -> int | None:
    """The lock of the engine for as long as this process runs; None when another process has it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    deadline = time.monotonic() + _LOCK_SECONDS
    # A process that checks whether the engine runs holds the lock for an instant.
    while not try_lock(handle, fcntl.LOCK_EX):
        if time.monotonic() > deadline:
            os.close(handle)
            return None
        time.sleep(0.02)
    return handle


def _start_server(settings: EngineSettings) -> ConnectServer:
    conf = application_conf(settings, app_name="daybook")
    # Sessions begin with the settings of the application, so that a command need not set them one by one.
    launch = prepare_launch(fitting_conf(settings, {**_KEPT_SERVER_CONF, **conf.everything}), "kept")
    server = start_connect_server(launch)
    build_missing_archive(launch)
    return server


class IdleMemory:
    """Gives memory back once after every use of the engine, and after its warm-up."""

    def __init__(self, server: ConnectServer, home: EngineFolder) -> None:
        self._server = server
        self._home = home
        self._seen: tuple[int, WarmUpProgress | None] | None = None

    def look(self) -> None:
        warm_up = self._home.warm_up()
        is_warming_up = warm_up is not None and not warm_up.is_over
        if not self._home.is_quiet(_LONGEST_WARM_UP_SECONDS if is_warming_up else _QUIET_SECONDS):
            return
        use = (self._home.last_use(), warm_up)
        if use != self._seen:
            self._seen = use
            self._server.give_memory_back()


def _keep(
    server: ConnectServer, home: EngineFolder, users: int, idle: str, ended: threading.Event, commands: CommandServer
) -> None:
    """Until a stop is requested, Java ends, the folder is removed, or nothing was used for so long."""
    last_used = time.time()
    memory = IdleMemory(server, home)
    commands.ensure()
    while not ended.wait(_POLL_SECONDS):
        commands.ensure()
        memory.look()
        if server.gateway.has_ended() or not (home.path / "engine.json").exists():
            return
        if not try_lock(users, fcntl.LOCK_EX):
            last_used = time.time()
        elif home.is_idle_over(idle, last_used):
            # The lock is kept, so that no command begins to use what is about to end.
            return
        else:
            fcntl.flock(users, fcntl.LOCK_UN)


if __name__ == "__main__":
    code = 1
    with contextlib.suppress(KeyboardInterrupt):
        code = main()
    sys.exit(code)
