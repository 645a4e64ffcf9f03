"""The warm engine as commands meet it: one per user and settings, ended and found again whoever crashes."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from daybook.engine.java.connect import clear_connect_mode, open_loopback_session
from daybook.engine.java.launch import archive_path, cache_folder, find_java, spark_home
from daybook.engine.java.session import open_warm_session
from daybook.engine.java.warm_engines import WarmEngines
from daybook.engine.java.warm_folder import EngineFolder, EngineRecord
from daybook.errors import DaybookError
from daybook.model.settings import EngineSettings

SETTINGS = EngineSettings(master="local[1]", conf={"spark.driver.memory": "1g"})

_PROGRAM = """
import os, sys, time
from daybook.engine.java.session import open_warm_session, stop_session
from daybook.engine.java.warm_engines import WarmEngines
from daybook.model.settings import EngineSettings
settings = EngineSettings(master="local[1]", conf={"spark.driver.memory": "1g"})
engines = WarmEngines(settings, os.environ["TEST_STATE"], dict(os.environ))
"""
_START = "print(engines.start('10m').pid)"
_USE = """
session = open_warm_session(engines, app_name="test")
print(session if isinstance(session, str) else session.range(5).count(), flush=True)
if "wait" in sys.argv: time.sleep(600)
if not isinstance(session, str): stop_session(session)
"""
# A build computes each node in a session that is separated from the first one.
_LOSE = """
import warnings
warnings.simplefilter("error")
from daybook.engine.java.session import separate_session, session_failure
session = open_warm_session(engines, app_name="test")
if sys.argv[1] == "separate":
    session = separate_session(session)
print("up", flush=True)
try:
    session.range(10**13).selectExpr("SUM(id % 7)").collect()
except Exception as failure:
    lost = session_failure(session, failure)
    print(lost.code if lost else repr(failure))
"""
_SECRET = """
from daybook.engine.java.session import stop_session
options = {"fs.s3a.bucket.b.secret.key": "S3cret", "fs.azure.account.key.a": "S3cret", "header": "true"}
session = open_warm_session(engines, app_name="test")
rows = session.read.options(**options).csv(sys.argv[1])
rows.write.options(**options).parquet(sys.argv[1] + ".out")
print(rows.count())
stop_session(session)
engines.stop(force=True)
"""
_EMPTY = """
import pyarrow as pa
from daybook.io.column_types import arrow_frame
session = open_warm_session(engines, app_name="test")
table = pa.schema([("amount", pa.decimal128(18, 2)), ("at", pa.timestamp("us", "UTC"))]).empty_table()
frame = arrow_frame(session, table)
print(frame.count(), frame.schema.simpleString())
stop_session(session)
"""


def environment(folder: Path, **more: str) -> dict[str, str]:
    variables = {**os.environ, "DAYBOOK_CACHE": str(folder), "TEST_STATE": str(folder / "state"), **more}
    variables.pop("SPARK_CONNECT_MODE_ENABLED", None)
    return variables


def program(body: str, folder: Path, *arguments: str, **more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _PROGRAM + body, *arguments]
    return subprocess.Popen(command, env=environment(folder, **more), stdout=subprocess.PIPE, text=True)


def said(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return output.strip()


def engines_in(folder: Path, **more: str) -> WarmEngines:
    return WarmEngines(SETTINGS, str(folder / "state"), environment(folder, **more))


def home_of(folder: Path) -> EngineFolder:
    return EngineFolder(folder / "engines" / engines_in(folder).fit().key)


def samples_in(home: EngineFolder) -> list[Path]:
    """What the warm-up computes at the moment."""
    return list(home.path.glob("sample.*"))


def wait_until(condition: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


def java_of(record: EngineRecord) -> list[psutil.Process]:
    return [child for child in psutil.Process(record.pid).children(recursive=True) if "java" in child.name()]


def is_running(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder of its own with the class-data archive of the machine, where there is one."""
    folder = tmp_path_factory.mktemp("cache")
    archive = archive_path(find_java(os.environ), spark_home(), os.environ)
    if archive is not None and archive.exists():
        (folder / "class-data").mkdir()
        shutil.copy2(archive, folder / archive.relative_to(cache_folder(os.environ) or folder))
    return folder


@pytest.fixture
def own_cache(cache: Path, tmp_path: Path) -> Iterator[Path]:
    """A cache folder without engines, for a test that ends one or needs a new one."""
    folder = tmp_path / "cache"
    shutil.copytree(cache, folder, ignore=shutil.ignore_patterns("engines"))
    yield folder
    engines_in(folder).stop(force=True)


@pytest.fixture(scope="module")
def raced(cache: Path) -> Iterator[list[str]]:
    """What two commands said that started the engine at the same time."""
    starters = [program(_START, cache) for _ in range(2)]
    try:
        yield [said(starter) for starter in starters]
    finally:
        engines_in(cache).stop(force=True)


def test_two_that_start_it_at_once_get_the_same_engine(cache: Path, raced: list[str]) -> None:
    (state,) = engines_in(cache).states()
    assert raced == [str(state.record.pid)] * 2
    assert len(java_of(state.record)) == 1
    assert state.is_fit


@pytest.mark.usefixtures("raced")
def test_commands_use_it_and_nobody_ends_it_meanwhile(cache: Path) -> None:
    user = program(_USE, cache, "wait")
    assert user.stdout is not None
    assert user.stdout.readline() == "5\n"
    (state,) = engines_in(cache).states()
    assert state.is_used
    with pytest.raises(DaybookError) as caught:
        engines_in(cache).stop()
    assert caught.value.code == "RUN_914"
    user.kill()
    user.communicate()
    (state,) = engines_in(cache).states()
    assert not state.is_used
    assert said(program(_USE, cache)) == "5"


@pytest.mark.usefixtures("raced")
def test_a_table_without_rows_is_a_frame_without_rows(cache: Path) -> None:
    """A view of periods that nothing has is one, and so is a dataset of a scenario."""
    assert said(program(_EMPTY, cache)) == "0 struct<amount:decimal(18,2),at:timestamp>"


@pytest.mark.slow
def test_event_logs_show_no_key_of_an_object_store(own_cache: Path, tmp_path: Path) -> None:
    """Spark Connect writes requests with all their options into them."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "a.csv").write_text("a\n1\n")
    conf = (
        f'"spark.eventLog.enabled": "true", "spark.eventLog.compress": "false", "spark.eventLog.dir": "{tmp_path}/logs"'
    )
    body = _PROGRAM.replace('"1g"', f'"1g", {conf}') + _START + _SECRET
    command = [sys.executable, "-c", body, str(tmp_path / "a.csv")]
    process = subprocess.Popen(command, env=environment(own_cache), stdout=subprocess.PIPE, text=True)
    assert said(process).split()[-1] == "1"
    logs = "".join(file.read_text() for file in (tmp_path / "logs").rglob("events_*"))
    assert "a.csv" in logs
    assert "S3cret" not in logs


@pytest.mark.usefixtures("raced")
def test_settings_that_do_not_fit_start_cold_with_the_reason(cache: Path) -> None:
    reason = said(program(_USE, cache, AWS_PROFILE="other"))
    assert reason.endswith("does not fit: the variable AWS_PROFILE differs")
    (state,) = engines_in(cache, AWS_PROFILE="other").states()
    assert state.differences == ("the variable AWS_PROFILE differs",)


@pytest.mark.usefixtures("raced")
def test_a_wrong_token_is_refused(cache: Path) -> None:
    (state,) = engines_in(cache).states()
    with pytest.raises(DaybookError) as caught:
        open_loopback_session(state.record.port, "guessed", {})
    clear_connect_mode()
    assert caught.value.code == "RUN_908"
    assert "token" in str(caught.value.parameters["reason"])


@pytest.mark.usefixtures("raced")
def test_the_token_is_in_no_argument_and_no_log_and_the_folder_is_private(cache: Path) -> None:
    (state,) = engines_in(cache).states()
    record = state.record
    for process in (psutil.Process(record.pid), *java_of(record)):
        assert record.token not in " ".join(process.cmdline())
    folder = cache / "engines"
    home = home_of(cache)
    # A use, so that the warm-up does not change the folder meanwhile.
    use = home.share()
    assert use is not None
    wait_until(lambda: not samples_in(home))
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert [path.name for path in files if record.token in path.read_text(errors="replace")] == ["engine.json"]
    assert all(path.stat().st_mode & 0o077 == 0 for path in (folder, *folder.rglob("*")))
    use.close()


def test_it_warms_itself_up_until_a_command_comes_and_that_is_no_use(own_cache: Path) -> None:
    home = home_of(own_cache)
    assert engines_in(own_cache).start("10m") is not None
    wait_until(lambda: samples_in(home))
    assert all(path.stat().st_mode & 0o077 == 0 for path in samples_in(home))
    (state,) = engines_in(own_cache).states()
    assert not state.is_used
    assert state.warm_up is not None
    assert not state.warm_up.is_over
    use = home.share()
    assert use is not None
    wait_until(lambda: not samples_in(home))
    assert said(program(_USE, own_cache)) == "5"
    use.close()
    wait_until(lambda: samples_in(home))


def test_an_engine_whose_keeper_is_killed_is_gone_and_the_next_one_ends_when_nothing_uses_it(own_cache: Path) -> None:
    record = engines_in(own_cache).start("10m")
    assert record is not None
    java = java_of(record)
    os.kill(record.pid, signal.SIGKILL)
    wait_until(lambda: engines_in(own_cache).states() == [])
    assert open_warm_session(engines_in(own_cache), app_name="test") == "no engine is running"
    _, alive = psutil.wait_procs(java, timeout=60)
    assert alive == []
    again = engines_in(own_cache).start("1s")
    assert again is not None
    java = java_of(again)
    wait_until(lambda: engines_in(own_cache).states() == [])
    _, alive = psutil.wait_procs(java, timeout=60)
    assert alive == []
    for name in ("engine.json", "warm-up.json", "sample.*"):
        assert not list(own_cache.rglob(name))


def test_an_engine_whose_java_is_killed_is_gone_and_its_queries_fail(own_cache: Path) -> None:
    engines = engines_in(own_cache)
    record = engines.start("10m")
    assert record is not None
    users = [program(_LOSE, own_cache, kind) for kind in ("its own", "separate")]
    for user in users:
        assert user.stdout is not None
        assert user.stdout.readline() == "up\n"
    for process in java_of(record):
        process.kill()
    assert [user.communicate(timeout=120)[0] for user in users] == ["RUN_030\n"] * 2
    wait_until(lambda: engines.states() == [])
    wait_until(lambda: not is_running(record.pid))
