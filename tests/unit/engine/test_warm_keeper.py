"""When an engine gives memory back: once after a use, when it has been quiet and its warm-up is over."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from daybook.engine.java.warm_folder import EngineFolder, WarmUpProgress
from daybook.engine.java.warm_keeper import IdleMemory
from tests.unit.engine.test_warm_folder import RECORD, process_with


class Server:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.count = 0

    def give_memory_back(self) -> None:
        self.count += 1


@pytest.fixture
def home(tmp_path: Path) -> Iterator[EngineFolder]:
    path = tmp_path / "engine"
    path.mkdir(mode=0o700)
    for name in ("lock", "users"):
        (path / name).touch(mode=0o600)
    folder = EngineFolder(path)
    folder.publish(RECORD)
    keeper = process_with("keep", path / "lock")
    yield folder
    keeper.kill()
    keeper.communicate()


def set_last_use(home: EngineFolder, seconds_ago: float) -> None:
    moment = time.time() - seconds_ago
    os.utime(home.path / "users", (moment, moment))


def test_once_after_every_use(home: EngineFolder) -> None:
    server: Any = Server()
    memory = IdleMemory(server, home)
    memory.look()
    assert server.count == 0
    for times in (1, 2):
        set_last_use(home, 100 * times)
        memory.look()
        memory.look()
        assert server.count == times


def test_not_while_a_command_uses_the_engine(home: EngineFolder) -> None:
    server: Any = Server()
    user: subprocess.Popen[str] = process_with("use", home.path / "users")
    set_last_use(home, 100)
    IdleMemory(server, home).look()
    assert server.count == 0
    user.kill()
    user.communicate()
    IdleMemory(server, home).look()
    assert server.count == 1


def test_after_the_warm_up_unless_that_does_not_end(home: EngineFolder) -> None:
    server: Any = Server()
    memory = IdleMemory(server, home)
    home.write_warm_up(WarmUpProgress(3, 8, is_over=False))
    set_last_use(home, 100)
    memory.look()
    assert server.count == 0
    home.write_warm_up(WarmUpProgress(8, 8, is_over=True))
    memory.look()
    assert server.count == 1
    home.write_warm_up(WarmUpProgress(3, 8, is_over=False))
    set_last_use(home, 1000)
    memory.look()
    assert server.count == 2
