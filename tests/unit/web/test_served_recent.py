"""Answers that many want at once are computed once, for a moment."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from daybook.web.served import RecentAnswers, SharedBodies


def test_fifty_readers_at_once_cost_one_answer() -> None:
    recent, asked, go = RecentAnswers(), list[int](), threading.Event()

    def compute() -> int:
        go.wait(5)
        asked.append(1)
        return 42

    with ThreadPoolExecutor(50) as readers:
        answers = [readers.submit(recent.get, "status", compute) for _ in range(50)]
        go.set()
        assert {answer.result() for answer in answers} == {42}
    assert len(asked) == 1


def test_an_answer_is_kept_ten_times_as_long_as_it_took() -> None:
    now = [0.0]
    recent, asked = RecentAnswers(lambda: now[0]), list[float]()

    def compute() -> int:
        asked.append(now[0])
        now[0] += 0.5
        return len(asked)

    assert recent.get("status", compute) == 1
    now[0] = 5.4
    assert recent.get("status", compute) == 1
    now[0] = 5.6
    assert recent.get("status", compute) == 2
    recent.forget()
    assert recent.get("status", compute) == 3


def test_a_failure_is_not_kept() -> None:
    recent = RecentAnswers()
    with pytest.raises(ZeroDivisionError):
        recent.get("status", lambda: 1 // 0)
    assert recent.get("status", lambda: 1) == 1


def test_all_answers_together_take_a_tenth_of_a_processor() -> None:
    """Readers of three periods do not cost three tenths."""
    now = [0.0]
    recent, asked = RecentAnswers(lambda: now[0]), list[str]()

    def compute(name: str) -> str:
        asked.append(name)
        now[0] += 1.0
        return name

    while now[0] < 600:
        for name in ("2026-01", "2026-02", "2026-03"):
            recent.get(name, lambda name=name: compute(name))  # type: ignore[misc]
        now[0] += 0.5
    assert len(asked) <= 600 / 10 + 3


def test_bytes_are_made_again_only_for_another_answer() -> None:
    bodies, made = SharedBodies(), list[str]()
    first, second = ["answer"], ["answer"]

    def show(answer: list[str], reader: str = "open") -> bytes:
        def make() -> bytes:
            made.append(reader)
            return f"{reader}: {answer[0]}".encode()

        return bodies.get(("close", reader), (answer,), make)

    assert [show(first), show(first), show(first)] == [b"open: answer"] * 3
    assert made == ["open"]
    show(second)
    assert made == ["open", "open"]
    assert show(second, "controlling") == b"controlling: answer"
