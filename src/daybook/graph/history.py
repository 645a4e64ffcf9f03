"""What the runs of a close recorded: which slices exist, and what completed runs used."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from daybook.io.location_checks import data_exists, location_exists
from daybook.io.pins import Pin, pin_from_json
from daybook.resolve.locations.location import Location
from daybook.runs.sources import slice_table
from daybook.store.database.outcomes import NodeRuns
from daybook.store.process import is_surely_dead
from daybook.store.records import OutputCommit, RunRecord, Slice, SliceTable
from daybook.store.store import Transaction


class SliceMap:
    """Every slice that the store knows, read once; also says whether locations exist."""

    def __init__(self, slices: Mapping[str, Mapping[str, Slice]], root: Path) -> None:
        self._slices = slices
        self._root = root
        # Many nodes ask for the same tables, and an identity looks at the disk.
        self._runs: dict[str, Mapping[str, str] | None] = {}
        # Whether databases are asked for tables; while they are not, every table counts as there.
        self.asks_databases = False

    def slices(self, location: Location) -> Mapping[str, str] | None:
        if location.label not in self._runs:
            found = self._find(slice_table(location, self._root))
            self._runs[location.label] = {period: each.run_id for period, each in found.items()} if found else None
        return self._runs[location.label]

    def exists(self, location: Location) -> bool:
        if location.is_database:
            return not self.asks_databases or data_exists(location, self._root)
        return location_exists(location)

    def owner(self, table: SliceTable, period: str) -> str | None:
        found = self._find(table).get(period)
        return found.run_id if found is not None else None

    def is_collected(self, table: SliceTable) -> bool:
        return bool(self._find(table))

    def _find(self, table: SliceTable) -> Mapping[str, Slice]:
        found: dict[str, Slice] = {}
        for name in reversed(table.names):
            found.update(self._slices.get(name, {}))
        return found


class CloseHistory:
    """What the completed runs of a close used, read from the store in a few queries."""

    def __init__(self, transaction: Transaction, root: Path, projects: Iterable[str] | None = None) -> None:
        queries = transaction.close
        self.runs: dict[tuple[str, str], NodeRuns] = queries.runs(projects)
        self.slices = SliceMap(queries.slices(), root)
        completed = [found.completed.id for found in self.runs.values() if found.completed is not None]
        self.snapshots = queries.snapshots(completed)
        self.commits: dict[str, list[OutputCommit]] = queries.commits(completed)
        self._pins = queries.pins(completed)
        self._dropped = {(each.destination, each.period): each.dropped_at for each in transaction.slices.dropped()}
        self._now = transaction.now()
        self.started = {found.latest.id: found.latest for found in self.runs.values()}
        self._writers = self._find_writers()

    def _find_writers(self) -> dict[tuple[str, str], list[RunRecord]]:
        """The completed runs by project and place that they wrote to."""
        found: dict[tuple[str, str], list[RunRecord]] = {}
        for runs in self.runs.values():
            if runs.completed is not None:
                for place in {commit.destination for commit in self.commits.get(runs.completed.id, ())}:
                    found.setdefault((runs.completed.project_id, place), []).append(runs.completed)
        return found

    def pins(self, run_id: str, key: str) -> tuple[Pin, ...]:
        return tuple(pin_from_json(pin) for pin in self._pins.get(run_id, {}).get(key, ()))

    def is_dropped(self, run: RunRecord, commit: OutputCommit) -> bool:
        """Whether the slice that a commit wrote to was dropped since."""
        dropped = [self._dropped.get((name, run.period)) for name in commit.table.names]
        written = commit.committed_at
        return any(each is not None and (written is None or each >= written) for each in dropped)

    def is_alive(self, run: RunRecord) -> bool:
        """Whether somebody works on a run: its process lives, as far as that is known, and renews the lease."""
        expires_at = run.lease_expires_at
        return not is_surely_dead(run.process) and (expires_at is None or expires_at > self._now)

    def levels(self) -> dict[str, str]:
        """The level of the last completed run of every project."""
        found: dict[str, RunRecord] = {}
        for runs in self.runs.values():
            run = runs.completed
            if run is not None and (run.project_id not in found or found[run.project_id].created_at < run.created_at):
                found[run.project_id] = run
        return {
            project_id: self.snapshots[run.id]["period"]["level"]
            for project_id, run in found.items()
            if run.id in self.snapshots
        }

    def is_overwritten_by_period(self, run: RunRecord, destination: str) -> bool:
        """Whether a later run of the project, for another period, wrote to the same place."""
        return any(
            other.period != run.period and other.created_at > run.created_at
            for other in self._writers.get((run.project_id, destination), ())
        )
