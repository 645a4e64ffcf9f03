"""The Spark session of a command (warm engine or started in the background) or of a Python program."""

import atexit
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from daybook.engine.java.launch import Workload
    from daybook.engine.java.warm_engines import WarmEngines
    from daybook.model.settings import EngineSettings
    from daybook.runs.snapshot import RunSnapshot
    from daybook.workspace.open_workspace import OpenedWorkspace

_WAKE_SECONDS = 0.2


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


class BackgroundSession:
    """Calling it gives the session; `begin` lets it start while other things are prepared.

    It is a session of the warm engine where `engines` has one that fits; `on_note` gets the reason where it has not.
    """

    def __init__(
        self,
        settings: "EngineSettings",
        *,
        show_log: bool = False,
        engines: "WarmEngines | None" = None,
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

    @property
    def was_started_cold(self) -> bool:
        """Whether Java was started for this command although a warm engine would have done."""
        return self._session is not None and not self._is_warm and self._engines is not None

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
        if self._session is not None:
            with _ignore_interrupts():
                stop_session(self._session, quick=True)

    def _start(self, workload: "Workload", needs_classic: bool) -> None:
        from daybook.engine.java.session import start_session

        try:
            if not self._show_log:
                _silence_query_logs()
            self._session = None if needs_classic else self._open_warm()
            self._is_warm = self._session is not None
            self._session = self._session or start_session(
                self._settings, app_name="daybook", workload=workload, show_log=self._show_log
            )
        except BaseException as failure:
            self._failure = failure

    def _open_warm(self) -> "SparkSession | None":
        if self._engines is None:
            return None
        from daybook.engine.java.session import open_warm_session

        session = open_warm_session(self._engines, app_name="daybook")
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

        warm = open_warm_session(self._engines(), app_name="daybook") if self._engines is not None else None
        session = start_session(self._settings, app_name="daybook") if warm is None or isinstance(warm, str) else warm
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
    engines: "WarmEngines | None" = None,
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
        _start_engine(engines, settings.warm, on_note)


def _start_engine(engines: "WarmEngines", idle: str, on_note: Callable[[str], None]) -> None:
    """Another process starts it; a command that is done never fails for it."""
    from daybook.errors import DaybookError

    try:
        engines.start(idle, wait=False)
    except (DaybookError, OSError) as failure:
        on_note(f"no engine is started for the next command: {failure}")
