"""The session of a command, without Spark behind it."""

import logging

import pytest

from daybook.engine.java import session as engine_session
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
