"""Answers that many readers want at the same time: computed once, and kept for a moment."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

_Answer = TypeVar("_Answer")

_MOST_ANSWERS = 200
_LEAST_SECONDS = 1.0
# What is expensive is kept longer, so that readers take a tenth of a processor at most.
_KEPT_PER_SECOND = 10.0


@dataclass(slots=True)
class _Entry:
    lock: threading.Lock = field(default_factory=threading.Lock)
    answer: Any = None
    kept_until: float = 0.0


class RecentAnswers:
    """Who asks while an answer is being computed waits for it; failures are not kept."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()

    def get(self, key: Hashable, compute: Callable[[], _Answer], *, for_seconds: float | None = None) -> _Answer:
        """The answer that is kept, or computed now; without a time it is kept ten times as long as it took."""
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            while len(self._entries) > _MOST_ANSWERS:
                self._entries.popitem(last=False)
        with entry.lock:
            if self._clock() >= entry.kept_until:
                began = self._clock()
                entry.answer = compute()
                ended = self._clock()
                entry.kept_until = ended + (for_seconds or max(_LEAST_SECONDS, _KEPT_PER_SECOND * (ended - began)))
            found: _Answer = entry.answer
            return found

    def forget(self) -> None:
        """Something was changed here, and whoever changed it looks at it next."""
        with self._lock:
            self._entries.clear()
