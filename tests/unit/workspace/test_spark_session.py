"""The session of a command, without Spark behind it."""

import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from daybook.engine.java import session as engine_session
from daybook.engine.java.warm_folder import LAUNCHER_VARIABLES
from daybook.errors import DaybookError
from daybook.model.settings import EngineSettings
from daybook.workspace.spark_session import background_session


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Sessions that were stopped."""
    stopped: list[object] = []
    monkeypatch.setattr(engine_session, "start_session", lambda *_, **__: object())
    monkeypatch.setattr(engine_session, "stop_session", lambda session, **_: stopped.append(session))
    return stopped


def test_a_session_that_was_begun_is_stopped(ended: list[object]) -> None:
    with background_session(EngineSettings()) as session:
        session.begin()
        begun = session()
    assert ended == [begun]


def test_a_session_that_nobody_asked_for_is_never_started(ended: list[object]) -> None:
    with background_session(EngineSettings()):
        pass
    assert ended == []


def test_two_threads_that_need_it_at_once_get_the_same_session(
    ended: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second asks between the moment the first makes the thread and the moment it starts it."""
    start = threading.Thread.start
    with background_session(EngineSettings()) as session, ThreadPoolExecutor(1) as pool:
        second: list[Future[object]] = []

        def late_start(thread: threading.Thread) -> None:
            if thread.name == "daybook-spark":
                second.append(pool.submit(session))
                done, _ = wait(second, timeout=0.1)
                assert not done, "the second did not wait"
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", late_start)
        assert session() is second[0].result(20)
    assert len(ended) == 1


def test_a_failure_to_start_is_raised_where_the_session_is_needed(
    ended: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> object:
        raise OSError("no Java")

    monkeypatch.setattr(engine_session, "start_session", fail)
    with background_session(EngineSettings()) as session:
        session.begin()
        with pytest.raises(OSError, match="no Java"):
            session()
    assert ended == []


@pytest.mark.usefixtures("ended")
def test_the_bridge_does_not_complain_while_there_is_a_session(caplog: pytest.LogCaptureFixture) -> None:
    root, own = logging.getLogger(), logging.getLogger("py4j.clientserver")

    def complain() -> list[str]:
        caplog.clear()
        for module in ("java_gateway", "mine"):
            root.handle(logging.LogRecord("root", logging.ERROR, f"/somewhere/{module}.py", 1, module, None, None))
        own.error("own")
        return caplog.messages

    with background_session(EngineSettings()) as session:
        session()
        assert complain() == ["mine"]
    assert complain() == ["java_gateway", "mine", "own"]
    with background_session(EngineSettings(), show_log=True):
        assert complain() == ["java_gateway", "mine", "own"]


@dataclass
class Engines:
    """Engines that give a session or the reason why not, and remember what was started."""

    found: object
    started: list[str] = field(default_factory=list)
    refusal: DaybookError | None = None

    def start(self, idle: str, *, wait: bool) -> None:
        assert not wait
        if self.refusal is not None:
            raise self.refusal
        self.started.append(idle)


@pytest.fixture
def warm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_session, "open_warm_session", lambda engines, **_: engines.found)


def use_session(
    engines: Engines, settings: EngineSettings, *, may_start_engine: bool = True
) -> tuple[object, list[str]]:
    notes: list[str] = []
    with background_session(
        settings,
        engines=lambda: engines,  # type: ignore[arg-type, return-value]
        on_note=notes.append,
        may_start_engine=may_start_engine,
    ) as session:
        return session(), notes


@pytest.mark.usefixtures("warm")
def test_a_warm_engine_that_fits_is_used_and_none_is_started(ended: list[object]) -> None:
    given = object()
    engines = Engines(given)
    assert use_session(engines, EngineSettings(warm="30m")) == (given, [])
    assert ended == [given]
    assert engines.started == []


@pytest.mark.usefixtures("warm", "ended")
def test_without_one_that_fits_spark_is_started_and_the_reason_is_given() -> None:
    engines = Engines("the variable AWS_PROFILE differs")
    _, notes = use_session(engines, EngineSettings())
    assert notes == ["Spark is started for this command: the variable AWS_PROFILE differs"]
    assert engines.started == []


@pytest.mark.usefixtures("warm", "ended")
def test_the_first_cold_command_leaves_an_engine_where_the_settings_want_one() -> None:
    engines = Engines("no engine is running")
    use_session(engines, EngineSettings(warm="30m"))
    assert engines.started == ["30m"]


@pytest.mark.usefixtures("warm", "ended")
def test_no_engine_is_started_where_nobody_sits_at_a_terminal() -> None:
    engines = Engines("no engine is running")
    use_session(engines, EngineSettings(warm="30m"), may_start_engine=False)
    assert engines.started == []


@pytest.mark.usefixtures("warm", "ended")
def test_a_command_that_is_done_does_not_fail_for_its_engine() -> None:
    engines = Engines("no engine is running", refusal=DaybookError("RUN_916", folder="/c"))
    _, notes = use_session(engines, EngineSettings(warm="30m"))
    assert "no engine is started for the next command" in notes[-1]


@pytest.mark.usefixtures("warm", "ended")
def test_no_engine_is_left_by_a_command_that_needed_no_spark() -> None:
    engines = Engines("no engine is running")
    with background_session(
        EngineSettings(warm="30m"),
        engines=lambda: engines,  # type: ignore[arg-type, return-value]
        may_start_engine=True,
    ):
        pass
    assert engines.started == []


class JavaAhead:
    """A Java process that was started before anybody knew what for."""

    def __init__(self, workload: str) -> None:
        self.launch = SimpleNamespace(workload=workload)
        self.is_abandoned = False

    def abandon(self) -> None:
        self.is_abandoned = True


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[JavaAhead]:
    """The processes that were started ahead; a session is the one that it was given."""
    started: list[JavaAhead] = []

    def start(*_: object, workload: str, **__: object) -> JavaAhead:
        started.append(JavaAhead(workload))
        return started[-1]

    for name in LAUNCHER_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DAYBOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(engine_session, "start_java_ahead", start)
    monkeypatch.setattr(engine_session, "start_session", lambda *_, ahead, **__: ahead or object())
    monkeypatch.setattr(engine_session, "stop_session", lambda *_, **__: None)
    return started


def test_java_that_starts_ahead_is_that_of_the_session(ahead: list[JavaAhead], tmp_path: Path) -> None:
    with background_session(EngineSettings()) as session:
        session.begin_java(tmp_path)
        session.begin("short")
        assert id(session()) == id(ahead[0])
    assert not ahead[0].is_abandoned


def test_java_that_starts_ahead_for_other_work_is_ended(ahead: list[JavaAhead], tmp_path: Path) -> None:
    with background_session(EngineSettings()) as session:
        session.begin_java(tmp_path)
        session.begin("long")
        assert id(session()) != id(ahead[0])
    assert ahead[0].is_abandoned


def test_java_that_starts_ahead_ends_with_a_command_that_needs_none(ahead: list[JavaAhead], tmp_path: Path) -> None:
    with background_session(EngineSettings()) as session:
        session.begin_java(tmp_path)
    assert ahead[0].is_abandoned


@pytest.mark.usefixtures("warm")
def test_java_that_starts_ahead_ends_where_a_warm_engine_fits(ahead: list[JavaAhead], tmp_path: Path) -> None:
    """The engine came up meanwhile."""
    engines = Engines(object())
    with background_session(EngineSettings(), engines=lambda: engines) as session:  # type: ignore[arg-type, return-value]
        session.begin_java(tmp_path)
        assert session() is engines.found
    assert ahead[0].is_abandoned


def test_java_that_starts_ahead_ends_where_no_session_comes_up(
    ahead: list[JavaAhead], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: object, **__: object) -> object:
        raise OSError("no session")

    monkeypatch.setattr(engine_session, "start_session", fail)
    with background_session(EngineSettings()) as session:
        session.begin_java(tmp_path)
        with pytest.raises(OSError, match="no session"):
            session()
    assert ahead[0].is_abandoned


@pytest.mark.parametrize(
    ("settings", "size"),
    [(EngineSettings(remote="sc://host"), 0), (EngineSettings(master="spark://host:7077"), 0), (EngineSettings(), 25)],
    ids=["a Connect server", "a cluster", "much data"],
)
def test_java_does_not_start_ahead_elsewhere_or_for_much(
    ahead: list[JavaAhead], tmp_path: Path, settings: EngineSettings, size: int
) -> None:
    with (tmp_path / "data.csv").open("wb") as stream:
        stream.truncate(size << 20)
    with background_session(settings) as session:
        session.begin_java(tmp_path)
    assert ahead == []


def test_what_a_folder_hides_does_not_count(ahead: list[JavaAhead], tmp_path: Path) -> None:
    (tmp_path / ".daybook").mkdir()
    with (tmp_path / ".daybook/landing").open("wb") as stream:
        stream.truncate(25 << 20)
    with background_session(EngineSettings()) as session:
        session.begin_java(tmp_path)
    assert len(ahead) == 1
