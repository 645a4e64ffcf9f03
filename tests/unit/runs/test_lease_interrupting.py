"""Signals while a run is at work."""

import importlib
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from daybook.runs.attempt.lease import stop_on_signals

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def talking_to_spark(act: Callable[[], None]) -> None:
    """Act below a function of a module that speaks with Spark."""
    scope: dict[str, Any] = {"__name__": "py4j.clientserver"}
    exec("def call(act): act()", scope)
    scope["call"](act)


@pytest.mark.parametrize("number", SIGNALS)
def test_python_is_interrupted(number: signal.Signals) -> None:
    stops: list[None] = []
    with pytest.raises(KeyboardInterrupt), stop_on_signals(lambda: stops.append(None)):
        os.kill(os.getpid(), number)
    assert len(stops) == 1


@pytest.mark.parametrize("number", SIGNALS)
def test_a_word_to_spark_is_ended_first(number: signal.Signals) -> None:
    stops: list[None] = []
    with stop_on_signals(lambda: stops.append(None)):
        talking_to_spark(lambda: os.kill(os.getpid(), number))
    assert len(stops) == 1


def test_an_import_is_ended_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's import lock could stay held, and no other thread would import anything any more."""
    (tmp_path / "interrupted_import.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    monkeypatch.syspath_prepend(tmp_path)
    stops: list[None] = []
    with stop_on_signals(lambda: stops.append(None)):
        importlib.import_module("interrupted_import")
    assert len(stops) == 1


def test_who_asks_twice_is_not_kept_waiting() -> None:
    with stop_on_signals(lambda: None):
        talking_to_spark(lambda: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            talking_to_spark(lambda: os.kill(os.getpid(), signal.SIGINT))


def test_signals_mean_afterwards_what_they_meant_before() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with stop_on_signals(lambda: None):
        assert [signal.getsignal(number) for number in SIGNALS] != before
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_only_the_main_thread_receives_signals() -> None:
    before, seen = signal.getsignal(signal.SIGINT), []

    def look() -> None:
        with stop_on_signals(lambda: None):
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [before]
