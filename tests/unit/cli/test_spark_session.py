"""The session of a command, without Spark behind it."""

import logging

import pytest

from daybook.cli import spark_session
from daybook.cli.spark_session import background_session
from daybook.engine import session as engine_session
from daybook.model.workspace_file import EngineSettings


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Sessions that were stopped; the root logger is as before afterwards."""
    stopped: list[object] = []
    monkeypatch.setattr(engine_session, "start_session", lambda *_, **__: object())
    monkeypatch.setattr(engine_session, "stop_session", lambda session, **_: stopped.append(session))
    monkeypatch.setattr(logging.getLogger(), "filters", [])
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
def test_the_bridge_may_not_complain_once_java_has_ended(caplog: pytest.LogCaptureFixture) -> None:
    with background_session(EngineSettings()) as session:
        session()
    root = logging.getLogger()
    for module in ("java_gateway", "mine"):
        root.handle(logging.LogRecord("root", logging.ERROR, f"/somewhere/{module}.py", 1, module, None, None))
    assert caplog.messages == ["mine"]
    assert root.filters == [spark_session._is_no_farewell]
