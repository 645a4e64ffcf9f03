"""The warm engines of a user: Spark Connect servers on this machine that commands share, one per set of settings."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from daybook.engine.java.classic import attach_server
from daybook.engine.java.launch import cache_folder
from daybook.engine.java.warm_folder import (
    STATE_FOLDER,
    EngineFit,
    EngineFolder,
    EngineRecord,
    WarmUpProgress,
    engine_fit,
    find_warm_problem,
    make_private,
    read_salt,
    require_private,
)
from daybook.errors import DaybookError
from daybook.model.secrets import without_token
from daybook.model.settings import EngineSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_START_SECONDS = 180.0
_STOP_SECONDS = 30.0
_POLL_SECONDS = 0.02
# What a process that keeps an engine ends with when another one keeps it already.
IS_KEPT_ALREADY = 75


@dataclass(frozen=True, slots=True)
class EngineState:
    """An engine that runs, for people: since when, whether a command uses it, how it differs from what fits."""

    record: EngineRecord
    started: float
    is_used: bool
    differences: tuple[str, ...]
    warm_up: WarmUpProgress | None

    @property
    def is_fit(self) -> bool:
        return not self.differences


@dataclass(frozen=True, slots=True)
class WarmEngines:
    """The engines of a user as one workspace sees them; `state` is its state folder.

    Without one, as for a command outside of workspaces, that of an engine may be any.
    """

    settings: EngineSettings
    state: str | None
    environment: Mapping[str, str]

    def find_problem(self) -> str | None:
        """Why no engine can be kept for this workspace."""
        problem = find_warm_problem(self.settings, self.environment)
        return problem or (None if cache_folder(self.environment) else "there is no cache folder")

    def fit(self) -> EngineFit:
        return self._fit_in(self._folder(), self.state)

    def states(self) -> list[EngineState]:
        """The engines that run, those that fit first."""
        folder = self._existing_folder()
        if folder is None:
            return []
        engines = []
        for path in sorted(entry for entry in folder.iterdir() if entry.is_dir()):
            home = EngineFolder(path)
            if (record := home.record()) is not None:
                state = record.fit.plain.get(STATE_FOLDER) if self.state is None else self.state
                differences = tuple(self._fit_in(folder, state).differences(record.fit))
                engines.append(EngineState(record, home.started(), home.is_used(), differences, home.warm_up()))
        return sorted(engines, key=lambda state: (not state.is_fit, state.started))

    def open_session(self, session_settings: Mapping[str, str]) -> "SparkSession | str":
        """A session of its own on the engine that fits, or why there is none."""
        if problem := self.find_problem():
            return problem
        try:
            folder = self._existing_folder()
        except DaybookError as error:
            return error.message
        if folder is None:
            return "no engine is running"
        home = self._fitting_home(folder)
        if home is None:
            return self._why_none_fits()
        use = home.share()
        record = home.record() if use else None
        if use is None or record is None:
            if use is not None:
                use.close()
            return self._why_none_fits()
        try:
            session = connect_to_engine(record, session_settings, has_ended=use.has_ended)
        except DaybookError as error:
            use.close()
            return error.message
        attach_server(session, use)
        return session

    def start(self, idle: str, *, wait: bool = True) -> EngineRecord | None:
        """Start the engine unless it runs; without `wait` another process does it, and nothing is returned."""
        if problem := self.find_problem():
            raise DaybookError("RUN_915", reason=problem)
        folder = self._folder()
        home = EngineFolder(folder / self._fit_in(folder, self.state).key)
        make_private(home.path)
        if (record := home.record()) is not None:
            return record
        keeper = self._spawn_keeper(home, idle)
        try:
            return _wait_for_record(home, keeper) if wait else None
        finally:
            _leave_alone(keeper)

    def stop(self, *, include_others: bool = False, force: bool = False) -> list[EngineRecord]:
        """End the engine that fits, or every engine of this user; RUN_914 when a command uses one."""
        folder = self._existing_folder()
        if folder is None:
            return []
        folders = (
            [entry for entry in folder.iterdir() if entry.is_dir()]
            if include_others
            else [folder / self._fit_in(folder, self.state).key]
        )
        homes = [EngineFolder(path) for path in folders]
        running = [(home, record) for home in homes if (record := home.record()) is not None]
        if not force and (used := next((record for home, record in running if home.is_used()), None)):
            raise DaybookError("RUN_914", pid=used.pid)
        for home, record in running:
            _end_keeper(home, record)
        return [record for _, record in running]

    def _why_none_fits(self) -> str:
        states = self.states()
        if not states:
            return "no engine is running"
        return f"the engine with process {states[0].record.pid} does not fit: {', '.join(states[0].differences)}"

    def _fitting_home(self, folder: Path) -> EngineFolder | None:
        if self.state is not None:
            return EngineFolder(folder / self._fit_in(folder, self.state).key)
        fitting = (state.record.fit.key for state in self.states() if state.is_fit)
        return next((EngineFolder(folder / key) for key in fitting), None)

    def _fit_in(self, folder: Path, state: str | None) -> EngineFit:
        return engine_fit(self.settings, state or "", self.environment, read_salt(folder))

    def _folder(self) -> Path:
        cache = cache_folder(self.environment)
        if cache is None:
            raise DaybookError("RUN_915", reason="there is no cache folder")
        cache.mkdir(parents=True, exist_ok=True)
        folder = cache / "engines"
        make_private(folder)
        return folder

    def _existing_folder(self) -> Path | None:
        cache = cache_folder(self.environment)
        folder = cache / "engines" if cache else None
        if folder is None or not folder.exists():
            return None
        require_private(folder)
        return folder

    def _spawn_keeper(self, home: EngineFolder, idle: str) -> subprocess.Popen[bytes]:
        """Starts a process with its own session and descriptors, so that it survives the end of this process."""
        request = {
            "folder": str(home.path),
            "idle": idle,
            "state": self.state,
            "settings": self.settings.model_dump(mode="json"),
        }
        handle = os.open(home.path / "engine.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            keeper = subprocess.Popen(
                [sys.executable, "-m", "daybook.engine.java.warm_keeper"],
                env=without_token(self.environment),
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=handle,
                stderr=handle,
                start_new_session=True,
            )
        finally:
            os.close(handle)
        assert keeper.stdin is not None
        with contextlib.suppress(BrokenPipeError), keeper.stdin as stream:
            stream.write(json.dumps(request).encode())
        return keeper


def _leave_alone(keeper: subprocess.Popen[bytes]) -> None:
    """Keeps the process running; Python would warn about a child process that is not waited for."""
    if keeper.poll() is None:
        keeper.returncode = 0


def _wait_for_record(home: EngineFolder, keeper: subprocess.Popen[bytes]) -> EngineRecord:
    """The engine that this keeper or another one has started; RUN_913 when none comes up."""
    deadline = time.monotonic() + _START_SECONDS
    while (record := home.record()) is None:
        code = keeper.poll()
        is_over = code is not None and (code != IS_KEPT_ALREADY or not home.is_kept())
        if is_over or time.monotonic() > deadline:
            raise DaybookError("RUN_913", reason=_last_line(home.path / "engine.log"))
        time.sleep(_POLL_SECONDS)
    return record


def connect_to_engine(
    record: EngineRecord, session_settings: Mapping[str, str], *, has_ended: Callable[[], bool] = lambda: False
) -> "SparkSession":
    """A session of its own on an engine, which may end meanwhile."""
    from daybook.engine.java.connect import open_loopback_session

    if not _is_own_port(record.port):
        raise DaybookError(
            "RUN_908", remote=f"sc://127.0.0.1:{record.port}", reason="another user listens at this address"
        )
    return open_loopback_session(record.port, record.token, session_settings, has_ended=has_ended)


def _is_own_port(port: int) -> bool:
    """Whether this user listens at a port of loopback; true where the system does not say."""
    return all(owner == os.geteuid() for owner in _listeners(port))


def _listeners(port: int) -> Iterator[int]:
    """Who listens at a port, by user id, as Linux lists it."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(table).read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                    yield int(fields[7])


def _end_keeper(home: EngineFolder, record: EngineRecord) -> None:
    """The pid is the keeper's as long as its lock is held."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(record.pid, number)
        deadline = time.monotonic() + _STOP_SECONDS
        while home.is_kept() and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        if not home.is_kept():
            home.withdraw()
            return


def _last_line(path: Path) -> str:
    with contextlib.suppress(OSError):
        lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        if lines:
            return lines[-1]
    return "no answer in time"
