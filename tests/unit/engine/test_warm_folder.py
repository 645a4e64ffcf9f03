"""The folder of a warm engine: who keeps it, who uses it, and who may read it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from daybook.engine.java import warm_engines
from daybook.engine.java.warm_engines import WarmEngines
from daybook.engine.java.warm_folder import EngineFit, EngineFolder, EngineRecord, read_salt, require_private
from daybook.errors import DaybookError
from daybook.model.settings import EngineSettings

RECORD = EngineRecord(os.getpid(), 40000, "secret", "30m", EngineFit({"Spark": "4.2.1"}, {"the variable HOME": "ab"}))

_KEEPER = """
import fcntl, sys, time
files = [open(path, "w") for path in sys.argv[2:]]
for file in files: fcntl.flock(file, fcntl.LOCK_SH if sys.argv[1] == "use" else fcntl.LOCK_EX)
print("ready", flush=True)
time.sleep(60)
"""


@pytest.fixture
def home(tmp_path: Path) -> EngineFolder:
    path = tmp_path / "engine"
    path.mkdir(mode=0o700)
    for name in ("lock", "users"):
        (path / name).touch(mode=0o600)
    return EngineFolder(path)


def process_with(kind: str, *files: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _KEEPER, kind, *map(str, files)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.fixture
def keeper(home: EngineFolder) -> Iterator[subprocess.Popen[str]]:
    process = process_with("keep", home.path / "lock")
    yield process
    process.kill()
    process.communicate()


def test_an_engine_is_found_as_long_as_its_keeper_lives(home: EngineFolder, keeper: subprocess.Popen[str]) -> None:
    assert home.record() is None
    home.publish(RECORD)
    assert home.record() == RECORD
    keeper.send_signal(signal.SIGKILL)
    keeper.wait()
    assert home.record() is None


@pytest.mark.usefixtures("keeper")
def test_the_record_of_a_dead_keeper_is_none_of_its_successor(home: EngineFolder) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    home.publish(replace(RECORD, pid=dead.pid))
    assert home.record() is None


@pytest.mark.usefixtures("keeper")
def test_what_others_could_have_written_is_no_engine(home: EngineFolder) -> None:
    home.publish(RECORD)
    (home.path / "engine.json").chmod(0o644)
    assert home.record() is None


def test_the_token_is_in_no_text_of_a_record() -> None:
    assert "secret" not in repr(RECORD)


def test_a_user_that_is_killed_no_longer_uses_the_engine(home: EngineFolder) -> None:
    user = process_with("use", home.path / "users")
    assert home.is_used()
    user.kill()
    user.communicate()
    assert not home.is_used()


def test_commands_share_an_engine_and_keep_it_from_ending(home: EngineFolder) -> None:
    first, second = home.share(), home.share()
    assert first is not None
    assert second is not None
    first.close()
    assert home.is_used()
    second.close()
    assert not home.is_used()


def test_an_engine_about_to_end_takes_no_command(home: EngineFolder) -> None:
    ending = process_with("end", home.path / "users")
    assert home.share() is None
    ending.kill()
    ending.communicate()


def test_idle_time_begins_with_the_last_use(home: EngineFolder) -> None:
    os.utime(home.path / "users", (time.time() - 100, time.time() - 100))
    assert home.is_idle_over("90s", last_used=0)
    assert not home.is_idle_over("2m", last_used=0)
    assert not home.is_idle_over("90s", last_used=time.time())


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_folder_that_others_can_enter_is_refused(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "engines"
    folder.mkdir(mode=0o700)
    require_private(folder)
    folder.chmod(mode)
    with pytest.raises(DaybookError) as caught:
        require_private(folder)
    assert caught.value.code == "RUN_916"


def test_a_link_is_no_folder_of_engines(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "engines").symlink_to(tmp_path / "real")
    with pytest.raises(DaybookError):
        require_private(tmp_path / "engines")


def test_a_command_starts_cold_where_the_folder_is_not_the_users_alone(tmp_path: Path) -> None:
    (tmp_path / "engines").mkdir()
    (tmp_path / "engines").chmod(0o777)
    engines = WarmEngines(EngineSettings(), "/w", {**os.environ, "DAYBOOK_CACHE": str(tmp_path)})
    reason = engines.open_session({})
    assert isinstance(reason, str)
    assert "Other users have access to the folder" in reason
    with pytest.raises(DaybookError) as caught:
        engines.start("30m")
    assert caught.value.code == "RUN_916"


def test_a_command_outside_of_workspaces_uses_the_engine_of_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {**os.environ, "DAYBOOK_CACHE": str(tmp_path)}

    def used_by(state: str | None, settings: EngineSettings) -> object:
        return WarmEngines(settings, state, environment).open_session({})

    fit = WarmEngines(EngineSettings(), "/w", environment).fit()
    kept = EngineFolder(tmp_path / "engines" / fit.key)
    kept.path.mkdir(mode=0o700)
    for name in ("lock", "users"):
        (kept.path / name).touch(mode=0o600)
    keeper = process_with("keep", kept.path / "lock")
    kept.publish(replace(RECORD, fit=fit))
    monkeypatch.setattr(warm_engines, "connect_to_engine", lambda record, settings, **_: SessionStub())
    assert isinstance(used_by("/w", EngineSettings()), SessionStub)
    assert isinstance(used_by(None, EngineSettings()), SessionStub)
    assert "the state folder is /w, not /v" in str(used_by("/v", EngineSettings()))
    assert "the setting spark.master differs" in str(used_by(None, EngineSettings(master="local[1]")))
    keeper.kill()
    keeper.communicate()
    assert used_by(None, EngineSettings()) == "no engine is running"


class SessionStub:
    """A session that is only opened."""


def test_the_salt_is_made_once(tmp_path: Path) -> None:
    assert read_salt(tmp_path) == read_salt(tmp_path)
    assert len(read_salt(tmp_path)) == 32
    assert [path.name for path in tmp_path.iterdir()] == ["salt"]


def test_an_engine_needs_a_master_on_this_machine(tmp_path: Path) -> None:
    settings = EngineSettings(remote="sc://host")
    with pytest.raises(DaybookError) as caught:
        WarmEngines(settings, "/w", {**os.environ, "DAYBOOK_CACHE": str(tmp_path)}).start("30m")
    assert caught.value.code == "RUN_915"


def test_an_engine_that_ends_before_it_is_ready_is_reported_with_its_last_line(tmp_path: Path) -> None:
    # The keeper cannot start Java with this option.
    settings = EngineSettings(master="local[1]", conf={"spark.driver.extraJavaOptions": "-XX:MaxHeapFreeRatio=-5"})
    with pytest.raises(DaybookError) as caught:
        WarmEngines(settings, str(tmp_path), {**os.environ, "DAYBOOK_CACHE": str(tmp_path / "cache")}).start("30m")
    assert caught.value.code == "RUN_913"
    assert caught.value.parameters["reason"]
