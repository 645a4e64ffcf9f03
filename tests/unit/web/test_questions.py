"""Questions are answered one at a time, remembered, and cancelled; Spark is a stand-in here."""

import threading
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from daybook.engine import jobs
from daybook.errors import DaybookError
from daybook.web.questions import Questions
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
