"""A failure is Java's end only when Java has ended."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from daybook.engine.java.classic import Gateway, attach_server
from daybook.engine.java.session import has_session_ended, session_failure
from daybook.errors import DaybookError


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as started:
        yield started
        started.kill()


@pytest.fixture
def session(process: subprocess.Popen[bytes], tmp_path: Path) -> Any:
    """Something that a process runs behind, as Java runs behind a session."""
    stands_for = SimpleNamespace()
    attach_server(stands_for, Gateway(process, 0, "", tmp_path))
    return stands_for


def test_any_failure_after_java_ended_is_its_end(session: Any, process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for failure in (ConnectionRefusedError(), DaybookError("OUTPUT_006", target="t"), Py4JNetworkError()):
        found = session_failure(session, failure)
        assert found is not None
        assert found.code == "RUN_030"
    assert has_session_ended(session)


def test_a_failure_while_java_runs_is_something_else(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daybook.engine.java.session._JAVA_END_SECONDS", 0.05)
    assert session_failure(session, ConnectionRefusedError()) is None
    assert not has_session_ended(session)


def test_java_has_a_moment_to_end_after_its_connection_broke(session: Any, process: subprocess.Popen[bytes]) -> None:
    process.kill()
    found = session_failure(session, Py4JError())
    assert found is not None
    assert found.code == "RUN_030"


class _EndingServer:
    """Java that was killed: its connections are closed, and it ends in a moment."""

    def has_ended(self, seconds: float = 0) -> bool:
        return seconds > 0

    def close(self) -> None:
        raise AssertionError("nobody closes it")


def test_java_that_refuses_a_connection_while_it_ends_is_not_a_failure_of_writing() -> None:
    session: Any = SimpleNamespace()
    attach_server(session, _EndingServer())
    failure = DaybookError("OUTPUT_006", target="t")
    failure.__cause__ = ConnectionRefusedError(111, "Connection refused")
    found = session_failure(session, failure)
    assert found is not None
    assert found.code == "RUN_030"
    assert session_failure(session, DaybookError("OUTPUT_006", target="t")) is None


def test_a_session_of_somebody_else_is_gone_when_nobody_answers() -> None:
    found = session_failure(SimpleNamespace(), Py4JNetworkError())  # type: ignore[arg-type]
    assert found is not None
    assert found.code == "RUN_030"
    assert session_failure(SimpleNamespace(), ValueError()) is None  # type: ignore[arg-type]


def test_errors_that_cause_each_other_are_looked_at_once(session: Any) -> None:
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    assert session_failure(session, one) is None
    itself = ValueError("itself")
    itself.__cause__ = itself
    assert session_failure(session, itself) is None
