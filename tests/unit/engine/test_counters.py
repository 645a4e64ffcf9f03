"""What was counted, if Spark tells it."""

import threading
from typing import Any

from daybook.engine.counters import read_observation


class Counted:
    """Answers as a finished observation does."""

    get: dict[str, Any] = {"rows": 3}


class Failed:
    @property
    def get(self) -> dict[str, Any]:
        raise RuntimeError("no such query")


class Lost:
    """An observation whose event Spark has dropped."""

    @property
    def get(self) -> dict[str, Any]:
        threading.Event().wait(60)
        return {"rows": 3}


def test_what_was_counted() -> None:
    assert read_observation(Counted()) == {"rows": 3}  # type: ignore[arg-type]


def test_nothing_was_counted() -> None:
    assert read_observation(Failed()) == {}  # type: ignore[arg-type]


def test_nobody_waits_for_ever() -> None:
    assert read_observation(Lost(), patience=0.05) == {}  # type: ignore[arg-type]
