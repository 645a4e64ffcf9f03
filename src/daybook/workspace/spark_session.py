"""The Spark session of a command (warm engine or started in the background) or of a Python program."""

import atexit
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from daybook.engine.java.classic import StartingGateway
    from daybook.engine.java.launch import Workload
    from daybook.engine.java.warm_engines import WarmEngines
    from daybook.model.settings import EngineSettings
    from daybook.runs.snapshot import RunSnapshot
    from daybook.workspace.open_workspace import OpenedWorkspace

_APP_NAME = "daybook"
_WAKE_SECONDS = 0.2
# Looking at more files takes longer than it saves.
_MOST_FILES = 2_000


def engines_of(workspace: "OpenedWorkspace") -> "WarmEngines":
    """The warm engines of this user as a workspace sees them."""
    from daybook.engine.java.warm_engines import WarmEngines
    from daybook.runs.environment import state_folder

    return WarmEngines(workspace.settings.engine, state_folder(workspace), dict(os.environ))


def engines_outside_workspaces() -> "WarmEngines":
    """The warm engines of this user, of whatever workspace, for a command that belongs to none."""
    from daybook.engine.java.warm_engines import WarmEngines
    from daybook.model.settings import EngineSettings

    return WarmEngines(EngineSettings(), None, dict(os.environ))


def _ignore_note(text: str) -> None:
    """Ignores all events."""


def _is_small(root: "Path") -> bool:
    """Whether a run that reads every file below a folder, hidden ones aside, is a small one."""
    from daybook.engine.java.launch import SHORT_WORKLOAD_BYTES

    folders, count, size = [os.fspath(root)], 0, 0
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                count += 1
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    size += entry.stat(follow_symlinks=False).st_size
                if count > _MOST_FILES or size >= SHORT_WORKLOAD_BYTES:
                    return False
    return True


class BackgroundSession:
    """Calling it gives the session; `begin` lets it start while other things are prepared.

    It is a session of the warm engine where `engines` has one that fits; `on_note` gets the reason where it has not.
    `begin_java` lets Java start before it is known what there is to do.
    """

    def __init__(
        self,
        settings: "EngineSettings",
        *,
        show_log: bool = False,
        engines: "Callable[[], WarmEngines] | None" = None,
        on_note: Callable[[str], None] = _ignore_note,
    ) -> None:
        self._settings = settings
        self._show_log = show_log
        self._engines = engines
        self._on_note = on_note
        self._session: SparkSession | None = None
        self._failure: BaseException | None = None
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_warm = False
        self._ahead: StartingGateway | None = None

    @property
    def was_started_cold(self) -> bool:
        """Whether Java was started for this command although a warm engine would have done."""
        return self._session is not None and not self._is_warm and self._engines is not None

    def begin_java(self, root: "Path") -> None:
        """Let Java start for a small run, which the folder promises, unless a warm engine may do it.

        What fails here fails again, and is reported, when the session is needed.
        """
        from daybook.engine.java.session import start_java_ahead
        from daybook.engine.java.warm_engines import WarmEngines
        from daybook.engine.java.warm_folder import find_warm_problem
        from daybook.errors import DaybookError

        with suppress(DaybookError, OSError):
            engines = WarmEngines(self._settings, None, dict(os.environ))
            if find_warm_problem(self._settings, os.environ) is None and not engines.states() and _is_small(root):
                self._ahead = start_java_ahead(
                    self._settings, app_name=_APP_NAME, workload="short", show_log=self._show_log
                )

    def begin(self, workload: "Workload" = "short", *, needs_classic: bool = False) -> None:
        # Two nodes of a build may ask at the same moment: a thread that is there has been started.
        with self._lock:
            if self._thread is None:
                thread = threading.Thread(
                    target=self._start, args=(workload, needs_classic), name="daybook-spark", daemon=True
                )
                thread.start()
                self._thread = thread

    def begin_for(self, snapshot: "RunSnapshot") -> None:
        """Start for a run that is about to begin: quickly for a small one, with all optimisations for a large one.

        RUN_919 or RUN_920 without a Spark that can be used, so that no run is recorded.
        """
        from daybook.engine.java.launch import choose_workload
        from daybook.engine.java.spark_version import require_spark
        from daybook.runs.sources import input_bytes

        require_spark(java_side=self._settings.needs_java_here)
        if self._thread is None:
            needs_classic = any(source.type == "jdbc" for source in snapshot.datasources)
            self.begin(choose_workload(input_bytes(snapshot)), needs_classic=needs_classic)

    def __call__(self) -> "SparkSession":
        self.begin()
        self._wait()
        if self._failure is not None:
            raise self._failure
        if self._session is None:
            raise RuntimeError("Spark was not started")
        return self._session

    def _wait(self) -> None:
        while self._thread is not None and self._thread.is_alive():
            # Linux may give Ctrl-C to another thread; this one handles it only when it wakes.
            self._thread.join(_WAKE_SECONDS)

    def stop(self) -> None:
        """The program is about to end, so the session need not be taken down step by step."""
        from daybook.engine.java.session import stop_session

        self._wait()
        self._take_ahead(None)
        if self._session is not None:
            with _ignore_interrupts():
                stop_session(self._session, quick=True)

    def _start(self, workload: "Workload", needs_classic: bool) -> None:
        try:
            self._session = None if needs_classic else self._open_warm()
            self._is_warm = self._session is not None
            if self._session is None:
                self._session = self._start_cold(workload)
            # Imports PySpark, for which Java need not wait.
            if not self._show_log:
                _silence_query_logs()
        except BaseException as failure:
            self._failure = failure

    def _start_cold(self, workload: "Workload") -> "SparkSession":
        from daybook.engine.java.session import start_session

        ahead = self._take_ahead(workload)
        try:
            return start_session(
                self._settings, app_name=_APP_NAME, workload=workload, show_log=self._show_log, ahead=ahead
            )
        except BaseException:
            if ahead is not None:
                ahead.abandon()
            raise

    def _take_ahead(self, workload: "Workload | None") -> "StartingGateway | None":
        """The Java process that was started ahead if it fits this work; another one ends here."""
        ahead, self._ahead = self._ahead, None
        if ahead is None or ahead.launch.workload == workload:
            return ahead
        ahead.abandon()
        return None

    def _open_warm(self) -> "SparkSession | None":
        if self._engines is None:
            return None
        from daybook.engine.java.session import open_warm_session

        session = open_warm_session(self._engines(), app_name=_APP_NAME)
        if isinstance(session, str):
            self._on_note(f"Spark is started for this command: {session}")
            return None
        return session


class ProgramSession:
    """The session of a Python program: the one it passes in, else one that is started when it is first called.

    Workspaces of one program share the Java process; it ends when the workspace that started it is closed, or with the
    program. Where `engines` gives a warm engine that fits, nothing is started.
    """

    def __init__(
        self,
        settings: "EngineSettings",
        session: "SparkSession | None" = None,
        *,
        engines: "Callable[[], WarmEngines] | None" = None,
    ) -> None:
        self._settings = settings
        self._given = session
        self._engines = engines
        self._lock = threading.Lock()
        self._session: SparkSession | None = None
        self._stop: Callable[[], None] | None = None

    def __call__(self) -> "SparkSession":
        with self._lock:
            return self._open()

    def _open(self) -> "SparkSession":
        from daybook.engine.java.session import adopt_session, has_session_ended, join_running_session

        if self._session is not None and self._given is None and has_session_ended(self._session):
            self.close()
        if self._session is None:
            _silence_query_logs()
            if self._given is not None:
                self._session = adopt_session(self._given)
            else:
                self._session = join_running_session(self._settings) or self._start()
        return self._session

    def close(self) -> None:
        """Stop the session if it was started here."""
        if self._stop is not None:
            atexit.unregister(self._stop)
            self._stop()
        self._session = self._stop = None

    def _start(self) -> "SparkSession":
        from daybook.engine.java.session import open_warm_session, start_session, stop_session

        warm = open_warm_session(self._engines(), app_name=_APP_NAME) if self._engines is not None else None
        session = start_session(self._settings, app_name=_APP_NAME) if warm is None or isinstance(warm, str) else warm
        self._stop = partial(stop_session, session)
        # A program that never closes its workspace must not lose Java before PySpark has let go of it.
        atexit.register(self._stop)
        return session


def _silence_query_logs() -> None:
    """PySpark logs every failing query by itself; the command says what failed in its own words."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)


@contextmanager
def _ignore_interrupts() -> Iterator[None]:
    """A second Ctrl-C is ignored while Java is being ended, which takes a moment."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _silence_py4j() -> Iterator[None]:
    """py4j logs every interrupted call, traceback and all, before it raises it: some as root, some as itself."""
    root, own = logging.getLogger(), logging.getLogger("py4j")
    level = own.level
    root.addFilter(_is_not_from_py4j)
    own.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        root.removeFilter(_is_not_from_py4j)
        own.setLevel(level)


def _is_not_from_py4j(record: logging.LogRecord) -> bool:
    return record.module not in ("java_gateway", "clientserver")


@contextmanager
def background_session(
    settings: "EngineSettings",
    *,
    show_log: bool = False,
    engines: "Callable[[], WarmEngines] | None" = None,
    on_note: Callable[[str], None] = _ignore_note,
    may_start_engine: bool = False,
) -> Iterator[BackgroundSession]:
    """The session of a command, ended with it.

    `may_start_engine`: a command that had to start Spark leaves a warm engine to the next ones, as the settings say.
    """
    session = BackgroundSession(settings, show_log=show_log, engines=engines, on_note=on_note)
    with nullcontext() if show_log else _silence_py4j():
        try:
            yield session
        finally:
            session.stop()
    if engines is not None and settings.warm and may_start_engine and session.was_started_cold:
        _start_engine(engines(), settings.warm, on_note)


def _start_engine(engines: "WarmEngines", idle: str, on_note: Callable[[str], None]) -> None:
    """Another process starts it; a command that is done never fails for it."""
    from daybook.errors import DaybookError

    try:
        engines.start(idle, wait=False)
    except (DaybookError, OSError) as failure:
        on_note(f"no engine is started for the next command: {failure}")
