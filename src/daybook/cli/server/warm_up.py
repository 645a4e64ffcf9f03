"""The warm-up of an engine: a process that computes a small close again and again while no command uses the engine.

Java compiles its own code after it has executed it often, so the first commands of an engine take several times as long
as later ones. The command server forks the process of the warm-up, and ends it when a command arrives. The process has
no share in the engine: it does not keep it running, and is no use that somebody has to wait for.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from daybook.engine.java.warm_folder import EngineFolder, WarmUpProgress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# More rounds make later commands little faster; see benchmarks/warm_engine.py.
ROUNDS = 8
# Commands that end so many warm-ups have warmed up the engine themselves.
_MOST_STARTS = 30
_QUIET_SECONDS = 1.0
_POLL_SECONDS = 0.05
_NICENESS = 10
_RELEASE_SECONDS = 0.5


@dataclass(slots=True)
class _Process:
    """A warm-up that runs.

    `number` is the descriptor by which its end is seen, `leash` the pipe that it ends with, `last_use` when a command
    last began to use the engine.
    """

    pid: int
    number: int
    leash: int | None
    last_use: int


class WarmUp:
    """The warm-up of the engine in the current folder, as the command server sees it."""

    def __init__(self) -> None:
        self._home = EngineFolder(Path())
        self._process: _Process | None = None
        self._starts = 0
        # An engine that has ended since has cleared what was here.
        if self._home.warm_up() is None and self._home.record() is not None:
            self._home.write_warm_up(WarmUpProgress(0, ROUNDS, is_over=False))
        self._is_over = self._progress().is_over

    @property
    def number(self) -> int | None:
        """The descriptor by which the end of the process is seen; None when it does not run."""
        return self._process.number if self._process else None

    def patience(self) -> float | None:
        """After how many milliseconds `look` wants to be called again; None when it has nothing to do."""
        if self._process is not None:
            return _POLL_SECONDS * 1000
        return None if self._is_over else _QUIET_SECONDS * 1000

    def look(self, on_fork: Callable[[], None]) -> None:
        """While the server executes no command: begin if nothing else uses the engine, end if something does."""
        if self._process is not None:
            if self._home.last_use() != self._process.last_use:
                self.end()
        elif not self._is_over and self._home.is_quiet(_QUIET_SECONDS):
            self._begin(on_fork)

    def end(self) -> None:
        """Let the process end, and do not wait for it."""
        if self._process is not None and self._process.leash is not None:
            os.close(self._process.leash)
            self._process.leash = None

    def close(self) -> None:
        """Let the process end, and begin none again."""
        self._is_over = True
        self.end()

    def kill(self) -> None:
        """End the process at once, when the server ends."""
        self.close()
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._process.number, signal.SIGKILL)
            self.notice_end()
        self._home.remove_samples()

    def notice_end(self) -> None:
        """The process has ended, by itself or because it had to."""
        assert self._process is not None
        self.end()
        os.waitpid(self._process.pid, 0)
        os.close(self._process.number)
        self._process = None
        self._home.remove_samples()
        progress = self._progress()
        if not progress.is_over and self._starts >= _MOST_STARTS:
            self._home.write_warm_up(replace(progress, is_over=True))
            self._is_over = True
        self._is_over = self._is_over or progress.is_over

    def forget(self) -> None:
        """In a process that the server has forked for a command."""
        if self._process is not None:
            os.close(self._process.number)

    def _begin(self, on_fork: Callable[[], None]) -> None:
        self._starts += 1
        last_use = self._home.last_use()
        end, leash = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            os.close(leash)
            on_fork()
            _become_warm_up(self._home, end)
        os.close(end)
        self._process = _Process(pid, os.pidfd_open(pid), leash, last_use)

    def _progress(self) -> WarmUpProgress:
        return self._home.warm_up() or WarmUpProgress(0, ROUNDS, is_over=True)


def _become_warm_up(home: EngineFolder, end: int) -> NoReturn:
    """Compute rounds until enough are done, something fails, or the pipe is closed; the process ends here."""
    watch = _Watch(end)
    try:
        os.nice(_NICENESS)
        watch.start()
        compute_rounds(home, watch)
    except BaseException as failure:
        watch.wait_if_ending()
        with contextlib.suppress(OSError):
            sys.stderr.write(f"the warm-up has ended early: {type(failure).__name__}: {failure}\n")
            sys.stderr.flush()
            if (progress := home.warm_up()) is not None:
                home.write_warm_up(replace(progress, is_over=True))
    finally:
        os._exit(0)


class _Watch:
    """A thread that ends this process when the pipe is closed, and the query that Java computes for it."""

    def __init__(self, end: int) -> None:
        self._end = end
        self._is_ending = threading.Event()
        self.session: SparkSession | None = None

    def start(self) -> None:
        threading.Thread(target=self._wait, name="daybook-warm-up", daemon=True).start()

    def wait_if_ending(self) -> None:
        """A query that fails because the process has to end is no failure."""
        if self._is_ending.is_set():
            threading.Event().wait()

    def _wait(self) -> None:
        os.read(self._end, 1)
        self._is_ending.set()
        release = threading.Thread(target=self._release, daemon=True)
        release.start()
        release.join(_RELEASE_SECONDS)
        os._exit(0)

    def _release(self) -> None:
        """A server ends all queries of a session that is released."""
        if self.session is not None:
            with contextlib.suppress(Exception):
                self.session.client.release_session()


def compute_rounds(home: EngineFolder, watch: _Watch) -> None:
    """The rounds that are left, each in the same small workspace below the engine's folder."""
    from daybook.demo.sample_close import compute_month, create_sample_close, sample_months
    from daybook.engine.java.warm_engines import connect_to_engine

    record, progress = home.record(), home.warm_up()
    if record is None or progress is None:
        return
    session = watch.session = connect_to_engine(record, {})
    workspace = create_sample_close(home.sample_folder(), session)
    for month in sample_months(progress.rounds, progress.wanted):
        compute_month(workspace, month)
        progress = replace(progress, rounds=progress.rounds + 1)
        home.write_warm_up(progress)
    session.stop()
    home.write_warm_up(replace(progress, is_over=True))
