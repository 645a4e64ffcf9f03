"""Whether runs began, went on or ended, also in other processes.

One thread asks the store for everybody who looks, and only while somebody does.
"""

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from daybook.errors import DaybookError
from daybook.workspace.history import list_runs, show_run
from daybook.workspace.open_workspace import OpenedWorkspace

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
