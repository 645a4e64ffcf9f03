"""Works that overlap end together."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from daybook.runs.side_by_side import side_by_side


class Session:
    """Stands in for Spark: jobs wait until their tag is interrupted."""

    def __init__(self) -> None:
        self.interrupted = threading.Event()
        self.tags: list[tuple[str, str]] = []

    def addTag(self, tag: str) -> None:
        self.tags.append((threading.current_thread().name, tag))

    def removeTag(self, tag: str) -> None:
        pass

    def interruptTag(self, tag: str) -> None:
        self.interrupted.set()

    def endless_job(self) -> Any:
        assert self.interrupted.wait(10)
        raise RuntimeError("cancelled")


def run(session: Session, *works: Any) -> list[Any]:
    return side_by_side(works, cast(SparkSession, session), "r-1")


def test_results_come_in_order_and_every_thread_belongs_to_the_run() -> None:
    session, other = Session(), threading.Event()

    def first() -> str:
        # Ends only if the second is executed meanwhile.
        assert other.wait(10)
        return "first"

    def second() -> str:
        other.set()
        return "second"

    assert run(session, first, second, lambda: "third") == ["first", "second", "third"]
    assert [tag for _, tag in session.tags] == ["daybook-r-1"] * 3


def test_one_work_needs_no_thread() -> None:
    names = run(Session(), lambda: threading.current_thread().name)
    assert names == [threading.current_thread().name]


def test_a_failure_ends_the_others_and_those_that_wait_never_begin() -> None:
    session, begun = Session(), threading.Event()

    def failing() -> None:
        raise ValueError("disk full")

    with pytest.raises(ValueError, match="disk full"):
        run(session, session.endless_job, failing, *[session.endless_job] * 3, begun.set)
    assert session.interrupted.is_set()
    assert not begun.is_set()


def test_an_interrupt_ends_them_all(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session()

    def interrupted_while_waiting(*_: Any, **__: Any) -> Any:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr("daybook.runs.side_by_side.wait", interrupted_while_waiting)
    with pytest.raises(KeyboardInterrupt):
        run(session, session.endless_job, session.endless_job)
    assert session.interrupted.is_set()


def test_an_interrupt_while_a_thread_is_started_leaves_none_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    session, ended = Session(), threading.Event()

    def job() -> None:
        try:
            session.endless_job()
        finally:
            ended.set()

    submit = ThreadPoolExecutor.submit

    def interrupted(*arguments: Any) -> Any:
        submit(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(session, job, job)
    # Either it was told to end and has ended, or it never began.
    assert ended.is_set() == session.interrupted.is_set()
