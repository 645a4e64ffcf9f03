"""Short-lived caches for requests of many readers, and one watch over the store for all."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from daybook.errors import DaybookError
from daybook.workspace.history import list_runs, show_run
from daybook.workspace.open_workspace import OpenedWorkspace

_Answer = TypeVar("_Answer")
_MOST_ANSWERS = 200
_LEAST_SECONDS = 1.0
# What is expensive is kept longer, so that readers take a tenth of a processor at most.
_KEPT_PER_SECOND = 10.0
_FINAL_SECONDS = 600.0


@dataclass(slots=True)
class _Entry:
    lock: threading.Lock = field(default_factory=threading.Lock)
    answer: Any = None
    version: int = -1
    kept_until: float = 0.0
    seconds: float = 0.0
    is_final: bool = False

    def is_good(self, version: int, now: float) -> bool:
        return now < self.kept_until and (self.is_final or version == self.version)


class RecentAnswers:
    """Who asks while an answer is being computed waits for it; failures are not kept."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()

    def get(
        self,
        key: Hashable,
        compute: Callable[[], _Answer],
        *,
        version: int = 0,
        is_final: Callable[[_Answer], bool] = lambda _: False,
    ) -> _Answer:
        """The answer that is kept, or computed now.

        One that can change is kept ten times as long as it and the others that are kept took, unless the version is
        another; a final one stays.
        """
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            while len(self._entries) > _MOST_ANSWERS:
                self._entries.popitem(last=False)
        with entry.lock:
            began = self._clock()
            if not entry.is_good(version, began):
                entry.answer, entry.version = compute(), version
                entry.is_final, ended = is_final(entry.answer), self._clock()
                entry.seconds = ended - began
                kept = _FINAL_SECONDS if entry.is_final else self._seconds_to_keep(entry, ended)
                entry.kept_until = ended + kept
            found: _Answer = entry.answer
            return found

    def _seconds_to_keep(self, entry: _Entry, now: float) -> float:
        with self._lock:
            others = [each for each in self._entries.values() if each is not entry and now < each.kept_until]
        together = entry.seconds + sum(each.seconds for each in others if not each.is_final)
        return max(_LEAST_SECONDS, _KEPT_PER_SECOND * together)

    def forget(self) -> None:
        """Clears the cache after a change in this process."""
        with self._lock:
            self._entries.clear()


class SharedBodies:
    """Pages and JSON as bytes, made again only when they are to show another object."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bodies: OrderedDict[Hashable, tuple[tuple[object, ...], bytes]] = OrderedDict()

    def get(self, key: Hashable, shown: tuple[object, ...], make: Callable[[], bytes]) -> bytes:
        """The bytes for a key; `shown` are answers that stay the same objects as long as they are kept."""
        with self._lock:
            known = self._bodies.get(key)
        if known is not None and all(one is other for one, other in zip(known[0], shown, strict=True)):
            return known[1]
        body = make()
        with self._lock:
            self._bodies[key] = (shown, body)
            self._bodies.move_to_end(key)
            while len(self._bodies) > _MOST_ANSWERS:
                self._bodies.popitem(last=False)
        return body


WATCHED_RUNS = 50
POLL_SECONDS = 0.7


@dataclass(slots=True)
class StoreWatch:
    """The state of the latest runs; `number` grows whenever something about them changes."""

    workspace: OpenedWorkspace
    number: int = 0
    # The server is about to end, and so does everything that waits for events.
    is_ending: bool = False
    _seen: Any = None
    _readers: int = 0
    _thread: threading.Thread | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self) -> None:
        with self._lock:
            self._readers += 1
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._watch, name="daybook-watch", daemon=True)
                self._thread.start()

    def end(self) -> None:
        with self._lock:
            self._readers -= 1

    def _watch(self) -> None:
        while True:
            with self._lock:
                if self._readers <= 0:
                    self._thread = None
                    return
            try:
                seen = self._look()
            except DaybookError:
                # The store is locked or away for a moment; the next look finds it again.
                seen = self._seen
            if seen != self._seen:
                self._seen = seen
                self.number += 1
            time.sleep(POLL_SECONDS)

    def _look(self) -> Any:
        runs = list_runs(self.workspace, limit=WATCHED_RUNS).runs
        steps = {run.id: show_run(self.workspace, run.id).operations for run in runs if run.is_active}
        return [(run.id, run.status, run.attempt, run.last_completed_operation, steps.get(run.id)) for run in runs]
