"""The session of a command, without Spark behind it."""

import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

import pytest

from daybook.engine.java import session as engine_session
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
        engines=engines,  # type: ignore[arg-type]
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
    with background_session(EngineSettings(warm="30m"), engines=engines, may_start_engine=True):  # type: ignore[arg-type]
        pass
    assert engines.started == []
