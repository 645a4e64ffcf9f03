"""Questions are answered one at a time, remembered, and cancelled; Spark is a stand-in here."""

import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from daybook.engine import jobs
from daybook.engine.java.classic import attach_server, attached_server
from daybook.errors import DaybookError
from daybook.web.questions import MOST_WAITING, Question, Questions
from daybook.workspace.open_workspace import open_workspace
from tests.page import page_folder


@pytest.fixture
def questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Questions:
    @contextmanager
    def nothing(*_: Any) -> Any:
        yield

    monkeypatch.setattr(jobs, "tag_jobs", nothing)
    monkeypatch.setattr(jobs, "watch_progress", nothing)
    workspace = open_workspace(page_folder(tmp_path).root, session=lambda: object())  # type: ignore[arg-type,return-value]
    return Questions(workspace)


def test_one_after_the_other_in_order(questions: Questions) -> None:
    go, order = threading.Event(), list[str]()

    def answer_first(*_: object) -> None:
        go.wait(5)
        order.append("first")

    first = questions.ask(1, "first", answer_first)
    second = questions.ask(2, "second", lambda *_: order.append("second"))
    assert not second.wait(0.1)
    assert (second.state, questions.position(second)) == ("waiting", 1)
    go.set()
    assert first.wait(5)
    assert second.wait(5)
    assert order == ["first", "second"]


def test_the_same_question_is_asked_once(questions: Questions) -> None:
    asked = list[int]()

    def answer(*_: object) -> int:
        asked.append(1)
        return 42

    for _ in range(3):
        question = questions.ask("key", "title", answer)
        assert question.wait(5)
        assert question.result() == 42
    assert asked == [1]


def test_a_failure_is_raised_with_its_code(questions: Questions) -> None:
    def fail(*_: object) -> None:
        raise DaybookError("RUN_012", run_id="r")

    question = questions.ask("key", "title", fail)
    assert question.wait(5)
    with pytest.raises(DaybookError, match="RUN_012"):
        question.result()


def test_a_question_that_waits_can_be_cancelled(questions: Questions) -> None:
    go = threading.Event()
    questions.ask(1, "first", lambda *_: go.wait(5))
    second = questions.ask(2, "second", lambda *_: 1)
    questions.cancel(second)
    with pytest.raises(DaybookError, match="WEB_016"):
        second.result()
    go.set()


def test_a_question_that_runs_is_stopped_by_its_jobs(questions: Questions, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped, running = threading.Event(), threading.Event()
    monkeypatch.setattr(jobs, "stop_jobs", lambda session, tag: stopped.set())

    def compute(*_: object) -> None:
        running.set()
        assert stopped.wait(5)
        raise RuntimeError("the job was cancelled")

    question = questions.ask(1, "first", compute)
    assert running.wait(5)
    questions.cancel(question)
    assert question.wait(5)
    with pytest.raises(DaybookError, match="WEB_016"):
        question.result()


def test_readers_take_turns(questions: Questions) -> None:
    """Who asks much waits behind the one question of another reader."""
    go, begun, order = threading.Event(), threading.Event(), list[str]()

    def hold(*_: object) -> None:
        begun.set()
        go.wait(30)

    def ask(reader: str, number: int) -> Question:
        name = f"{reader}{number}"
        return questions.ask(name, name, lambda *_: order.append(name), reader=reader)

    questions.ask("held", "held", hold, reader="a")
    assert begun.wait(30)
    asked = [ask("a", number) for number in range(4)]
    asked += [ask("b", 0), ask("b", 1), ask("c", 0)]
    assert [questions.position(question) for question in asked] == [3, 5, 6, 7, 1, 4, 2]
    go.set()
    assert all(question.wait(30) for question in asked)
    assert order == ["b0", "c0", "a0", "b1", "a1", "a2", "a3"]


def test_a_reader_has_a_limited_number_of_questions(questions: Questions) -> None:
    go, begun = threading.Event(), threading.Event()

    def hold(*_: object) -> None:
        begun.set()
        go.wait(30)

    questions.ask("held", "held", hold, reader="a")
    assert begun.wait(30)
    asked = [questions.ask(number, "", lambda *_: 1, reader="a") for number in range(MOST_WAITING)]
    with pytest.raises(DaybookError, match="WEB_018"):
        questions.ask("one more", "", lambda *_: 1, reader="a")
    assert questions.ask(0, "", lambda *_: 1, reader="a") is asked[0]
    other = questions.ask("other", "", lambda *_: 2, reader="b")
    go.set()
    assert other.wait(30)


class Session:
    """A stand-in whose Java process has ended, or has not."""

    def __init__(self, *, has_ended: bool) -> None:
        attach_server(self, Server(has_ended))


@dataclass(frozen=True)
class Server:
    is_over: bool

    def has_ended(self, seconds: float = 0) -> bool:
        return self.is_over

    def close(self) -> None:
        pass


def test_a_question_whose_java_ended_is_answered_by_the_next_one(
    questions: Questions, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions: list[Any] = [Session(has_ended=True), Session(has_ended=False)]
    workspace = replace(questions._workspace, session=lambda: sessions.pop(0))
    monkeypatch.setattr(questions, "_workspace", workspace)
    seen = list[object]()

    def answer(workspace: Any, _: object) -> int:
        seen.append(session := workspace.session())
        if attached_server(session).has_ended():  # type: ignore[union-attr]
            raise ConnectionError("reset")
        return 42

    question = questions.ask("key", "title", answer)
    assert question.wait(30)
    assert (question.result(), len(seen)) == (42, 2)


def test_a_failure_with_java_running_is_not_repeated(questions: Questions, monkeypatch: pytest.MonkeyPatch) -> None:
    session: Any = Session(has_ended=False)
    workspace = replace(questions._workspace, session=lambda: session)
    monkeypatch.setattr(questions, "_workspace", workspace)
    calls = list[int]()

    def fail(*_: object) -> None:
        calls.append(1)
        raise DaybookError("RUN_012", run_id="r")

    question = questions.ask("key", "title", fail)
    assert question.wait(30)
    assert len(calls) == 1
