"""What completed runs recorded: it never changes, so whoever looks at a close again reads only what is new."""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from daybook.store.database.outcomes import CloseQueries
from daybook.store.records import OutputCommit

_NO_PINS: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The snapshot of a run, unless it was removed, its pins by load, and its commits."""

    snapshot: Mapping[str, Any] | None
    pins: Mapping[str, Any]
    commits: tuple[OutputCommit, ...]


class RecordedRuns:
    """Reads runs out of the store in a few queries; keeps those of the last time, for any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: Mapping[str, RecordedRun] = {}

    def read(self, queries: CloseQueries, run_ids: Iterable[str]) -> Mapping[str, RecordedRun]:
        """Completed runs by id."""
        with self._lock:
            kept = self._runs
        wanted = tuple(run_ids)
        missing = [run_id for run_id in wanted if run_id not in kept]
        snapshots, pins, commits = queries.snapshots(missing), queries.pins(missing), queries.commits(missing)
        read = {
            run_id: RecordedRun(snapshots.get(run_id), pins.get(run_id, _NO_PINS), tuple(commits.get(run_id, ())))
            for run_id in missing
        }
        runs = {run_id: kept[run_id] if run_id in kept else read[run_id] for run_id in wanted}
        with self._lock:
            self._runs = runs
        return runs
