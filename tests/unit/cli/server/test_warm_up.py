"""An engine warms itself up while no command uses it; nobody waits for that, and nothing of it stays."""

import contextlib
import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from daybook.engine.java.warm_folder import EngineFit, EngineFolder, EngineRecord, WarmUpProgress

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the command server is for Linux")

# A server whose commands are programs in Python, and whose warm-up is one, too: it writes down that it runs.
_SERVER = """
import sys
import daybook.cli.app
from daybook.cli.server import command_server, warm_up

def compute_rounds(home, watch):
    import os, time
    folder = home.sample_folder()
    folder.mkdir()
    (folder / "rows").touch()
    with open("begun", "a") as file:
        file.write(f"{os.getpid()}\\n")
    BODY

warm_up.compute_rounds = compute_rounds
warm_up._QUIET_SECONDS = 0.2
warm_up._MOST_STARTS = 3
daybook.cli.app.main = lambda: exec(sys.argv[1], {}) or 0
command_server.import_early = lambda: None
command_server.installed_files = lambda: open(sys.argv[1] + "/version").read()
sys.exit(command_server.main(sys.argv[1]))
"""
_WITHOUT_END = "time.sleep(600)"
_WAIT = "import time; print('up', flush=True); time.sleep(600)"


@dataclass
class Engine:
    """A folder like that of an engine that runs, with a command server and without Spark."""

    cache: Path
    process: "subprocess.Popen[bytes]"

    @property
    def home(self) -> EngineFolder:
        return EngineFolder(self.cache / "engines" / "one")

    def begun(self) -> list[int]:
        """The processes of all warm-ups that have begun."""
        path = self.home.path / "begun"
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def samples(self) -> list[str]:
        return [path.name for path in self.home.path.glob("sample.*")]

    def progress(self) -> WarmUpProgress | None:
        return self.home.warm_up()

    def run(self, program: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "daybook", program]
        environment = {**os.environ, "DAYBOOK_CACHE": str(self.cache)}
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)


@contextlib.contextmanager
def warming_up(cache: Path, body: str) -> Iterator[Engine]:
    folder = cache / "engines" / "one"
    folder.mkdir(parents=True)
    for each in (folder, folder.parent):
        each.chmod(0o700)
    (folder / "version").write_text("1")
    (folder / "users").touch(0o600)
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    EngineFolder(folder).publish(EngineRecord(os.getpid(), 1, "token", "30m", EngineFit({}, {})))
    command = [sys.executable, "-c", _SERVER.replace("BODY", body), str(folder)]
    environment = {**os.environ, "DAYBOOK_CACHE": str(cache)}
    with (folder / "engine.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stderr=log, start_new_session=True)
    engine = Engine(cache, process)
    try:
        yield engine
    finally:
        engine.end()
        os.close(lock)


def wait_until(condition: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def exit_code(command: "subprocess.Popen[str]") -> int:
    command.communicate(timeout=60)
    return int(command.returncode)


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An engine whose warm-up runs and does not end by itself."""
    with warming_up(tmp_path / "cache", _WITHOUT_END) as found:
        wait_until(found.begun)
        yield found


def test_a_command_ends_it_and_it_begins_again_after_the_command(engine: Engine) -> None:
    (first,) = engine.begun()
    command = engine.run(_WAIT)
    assert command.stdout is not None
    assert command.stdout.readline() == "up\n"
    wait_until(lambda: not is_running(first))
    wait_until(lambda: engine.samples() == [])
    time.sleep(0.5)
    assert engine.begun() == [first]
    command.kill()
    command.communicate()
    wait_until(lambda: len(engine.begun()) == 2)
    assert engine.samples() == [f"sample.{engine.begun()[-1]}"]


def test_a_command_that_the_server_does_not_execute_ends_it_too(engine: Engine) -> None:
    (first,) = engine.begun()
    use = engine.home.share()
    assert use is not None
    wait_until(lambda: not is_running(first))
    time.sleep(0.5)
    assert engine.begun() == [first]
    use.close()
    wait_until(lambda: len(engine.begun()) == 2)


def test_it_is_no_use_of_the_engine_and_does_not_keep_it_running(engine: Engine) -> None:
    assert not engine.home.is_used()
    os.utime(engine.home.path / "users", (0, 0))
    wait_until(lambda: len(engine.begun()) == 2)
    assert engine.home.is_idle_over("1s", 0)


def test_the_end_of_the_engine_ends_it_and_leaves_nothing(engine: Engine) -> None:
    (first,) = engine.begun()
    assert engine.samples() == [f"sample.{first}"]
    engine.end()
    assert not is_running(first)
    assert engine.samples() == []


def test_an_update_of_daybook_ends_it(engine: Engine) -> None:
    (first,) = engine.begun()
    (engine.home.path / "version").write_text("2")
    assert exit_code(engine.run("pass")) == 2
    engine.process.wait(60)
    assert not is_running(first)
    assert engine.samples() == []
    progress = engine.progress()
    assert progress is not None
    assert not progress.is_over


def test_commands_that_end_it_again_and_again_end_it_for_good(engine: Engine) -> None:
    for count in (1, 2, 3):
        wait_until(lambda count=count: len(engine.begun()) == count)  # type: ignore[misc]
        assert exit_code(engine.run("pass")) == 0
    wait_until(lambda: (found := engine.progress()) is not None and found.is_over)
    time.sleep(0.5)
    assert len(engine.begun()) == 3


def test_when_it_fails_it_ends_for_good_and_says_so_in_the_log(tmp_path: Path) -> None:
    with warming_up(tmp_path / "cache", "raise RuntimeError('no rows')") as engine:
        wait_until(lambda: (found := engine.progress()) is not None and found.is_over)
        wait_until(lambda: engine.samples() == [])
        assert exit_code(engine.run("pass")) == 0
        time.sleep(0.5)
        assert len(engine.begun()) == 1
        log = (engine.home.path / "engine.log").read_text()
    assert log == "the warm-up has ended early: RuntimeError: no rows\n"


def test_when_its_rounds_are_computed_it_does_not_begin_again(tmp_path: Path) -> None:
    body = "home.write_warm_up(warm_up.WarmUpProgress(8, 8, is_over=True))"
    with warming_up(tmp_path / "cache", body) as engine:
        wait_until(lambda: engine.progress() == WarmUpProgress(8, 8, is_over=True))
        wait_until(lambda: engine.samples() == [])
        assert exit_code(engine.run("pass")) == 0
        time.sleep(0.5)
        assert len(engine.begun()) == 1


def test_a_process_that_is_killed_is_followed_by_another(engine: Engine) -> None:
    (first,) = engine.begun()
    os.kill(first, 9)
    wait_until(lambda: len(engine.begun()) == 2)
    assert engine.samples() == [f"sample.{engine.begun()[-1]}"]
