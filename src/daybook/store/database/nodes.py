"""What the runs of a close left behind, read for many projects and periods at once."""

import datetime
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from daybook.store.database.runs import to_run_record
from daybook.store.database.tables import OUTPUT_COMMIT, RUN, RUN_OPERATION, RUN_SNAPSHOT, SLICE, to_record
from daybook.store.definition_text import stored_json
from daybook.store.records import OutputCommit, RunRecord, Slice

# How many ids one query names; every database takes more.
_BATCH = 500
_LOAD_SEQ = 0


@dataclass(frozen=True, slots=True)
class NodeRuns:
    """The runs of one project and period that count: the latest, and the latest that completed."""

    latest: RunRecord
    completed: RunRecord | None = None


@dataclass(frozen=True, slots=True)
class SandboxCommit:
    """What a draft wrote into the sandbox instead of the live place `live`.

    `is_slice`: a slice of a table, else a whole file or folder. `dataset` is what it will be registered as, as text.
    """

    live: str
    destination: str
    period: str
    run_id: str
    mode: str
    is_slice: bool
    committed_at: datetime.datetime
    format: str = "delta"
    dataset: str | None = None


class CloseQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def runs(self, projects: Iterable[str] | None = None) -> dict[tuple[str, str], NodeRuns]:
        """By project and period; runs of drafts do not count."""
        query = select(RUN).where(RUN.c.is_draft.is_(False)).order_by(RUN.c.created_at, RUN.c.id)
        if projects is not None:
            query = query.where(RUN.c.project_id.in_(sorted(projects)))
        found: dict[tuple[str, str], NodeRuns] = {}
        for row in self._connection.execute(query):
            run = to_run_record(row)
            key = (run.project_id, run.period)
            known = found.get(key)
            completed = run if run.status == "completed" else known.completed if known else None
            found[key] = NodeRuns(run, completed)
        return found

    def snapshots(self, run_ids: Iterable[str]) -> dict[str, Mapping[str, Any]]:
        """The snapshots of runs as JSON values."""
        rows = self._in_batches(RUN_SNAPSHOT.c.run_id, run_ids, RUN_SNAPSHOT.c.run_id, RUN_SNAPSHOT.c.body)
        return {row.run_id: stored_json(row.body) for row in rows}

    def pins(self, run_ids: Iterable[str]) -> dict[str, Mapping[str, Any]]:
        """What each run read, by load, as JSON values."""
        rows = self._in_batches(RUN_OPERATION.c.run_id, run_ids, RUN_OPERATION, also=RUN_OPERATION.c.seq == _LOAD_SEQ)
        return {row._mapping[RUN_OPERATION.c.run_id]: row._mapping[RUN_OPERATION.c.details]["pins"] for row in rows}

    def commits(self, run_ids: Iterable[str]) -> dict[str, list[OutputCommit]]:
        found: dict[str, list[OutputCommit]] = {}
        for row in self._in_batches(OUTPUT_COMMIT.c.run_id, run_ids, OUTPUT_COMMIT):
            commit = to_record(OutputCommit, OUTPUT_COMMIT, row)
            found.setdefault(row._mapping[OUTPUT_COMMIT.c.run_id], []).append(commit)
        return found

    def slices(self) -> dict[str, dict[str, Slice]]:
        """Every slice, by destination and period."""
        found: dict[str, dict[str, Slice]] = {}
        for row in self._connection.execute(select(SLICE)):
            each = to_record(Slice, SLICE, row)
            found.setdefault(each.destination, {})[each.period] = each
        return found

    def sandbox_commits(self, user: str) -> Iterator[SandboxCommit]:
        """What drafts of a user wrote into the sandbox, the first one first."""
        query = (
            select(OUTPUT_COMMIT, RUN.c.period)
            .join(RUN, RUN.c.id == OUTPUT_COMMIT.c.run_id)
            .where(RUN.c.is_sandboxed, RUN.c.user == user)
            .order_by(OUTPUT_COMMIT.c.committed_at, OUTPUT_COMMIT.c.operation_seq)
        )
        for row in self._connection.execute(query):
            values = row._mapping
            details = values[OUTPUT_COMMIT.c.details]
            if "live" in details:
                yield SandboxCommit(
                    details["live"],
                    values[OUTPUT_COMMIT.c.destination],
                    values[RUN.c.period],
                    values[OUTPUT_COMMIT.c.run_id],
                    values[OUTPUT_COMMIT.c.mode],
                    details["is_slice"],
                    values[OUTPUT_COMMIT.c.committed_at],
                    details.get("format", "delta"),
                    details.get("live_dataset"),
                )

    def last_live_commit(self, destination: str) -> datetime.datetime | None:
        """When a run that is no draft in the sandbox wrote somewhere last."""
        query = (
            select(func.max(OUTPUT_COMMIT.c.committed_at))
            .join(RUN, RUN.c.id == OUTPUT_COMMIT.c.run_id)
            .where(OUTPUT_COMMIT.c.destination == destination, RUN.c.is_sandboxed.is_(False))
        )
        found: datetime.datetime | None = self._connection.execute(query).scalar_one()
        return found

    def _in_batches(self, column: Any, ids: Iterable[str], *selected: Any, also: Any = None) -> Iterable[Any]:
        wanted = sorted(set(ids))
        for start in range(0, len(wanted), _BATCH):
            query = select(*selected).where(column.in_(wanted[start : start + _BATCH]))
            yield from self._connection.execute(query if also is None else query.where(also))
