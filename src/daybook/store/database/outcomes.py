"""Stores the results of runs, and finds those that `daybook gc` may remove."""

import datetime
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, delete, exists, func, insert, or_, select, update

from daybook.model.definition import RegisteredDataPin, TableVersion
from daybook.store.database.periods import Slices
from daybook.store.database.row_records import to_record, to_row
from daybook.store.database.runs import ACTIVE_STATUSES, require_lease, to_run_record
from daybook.store.database.snapshot_sections import SnapshotReader
from daybook.store.database.tables import (
    ACTION,
    DEFINITION,
    DEFINITION_VERSION,
    EXPIRED_DATA,
    OUTPUT_COMMIT,
    PROJECT_INPUT,
    PROJECT_STATE,
    RUN,
    RUN_OPERATION,
    RUN_SNAPSHOT,
    SEALED_RUN,
    SLICE,
)
from daybook.store.records import Action, Lease, OperationResult, OutputCommit, RunRecord, Slice


class Outcomes:
    """Every write is checked against the lease in the transaction that makes it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def record_operations(self, lease: Lease, *results: OperationResult) -> None:
        """Keep the counts of operations; a repeat in a retry replaces them."""
        require_lease(self._connection, lease)
        seqs = [result.seq for result in results]
        recorded = (RUN_OPERATION.c.run_id == lease.run_id) & RUN_OPERATION.c.seq.in_(seqs)
        self._connection.execute(delete(RUN_OPERATION).where(recorded))
        rows = [to_row(RUN_OPERATION, result, run_id=lease.run_id) for result in results]
        self._connection.execute(insert(RUN_OPERATION), rows)

    def complete_operation(self, lease: Lease, seq: int) -> None:
        """Move `last_completed_operation` forward."""
        run = require_lease(self._connection, lease)
        if run.last_completed_operation is None or run.last_completed_operation < seq:
            self._connection.execute(update(RUN).where(RUN.c.id == lease.run_id).values(last_completed_operation=seq))

    def record_commit(
        self, lease: Lease, commit: OutputCommit, *, now: datetime.datetime, period: str | None = None
    ) -> None:
        """Record that an output became visible, once; with `period` its slice goes to the run's project."""
        run = require_lease(self._connection, lease)
        if self.commit(lease.run_id, commit.operation_seq) is not None:
            return
        row = to_row(OUTPUT_COMMIT, commit, run_id=lease.run_id, token=lease.token, committed_at=now)
        self._connection.execute(insert(OUTPUT_COMMIT).values(row))
        if period is not None:
            Slices(self._connection).take(
                commit.table,
                period,
                project_id=run.project_id,
                operation_id=commit.operation_id,
                run_id=run.id,
                rows=commit.rows,
                now=now,
            )

    def operations(self, run_id: str) -> tuple[OperationResult, ...]:
        query = select(RUN_OPERATION).where(RUN_OPERATION.c.run_id == run_id).order_by(RUN_OPERATION.c.seq)
        return tuple(to_record(OperationResult, RUN_OPERATION, row) for row in self._connection.execute(query))

    def commits(self, run_id: str) -> tuple[OutputCommit, ...]:
        query = select(OUTPUT_COMMIT).where(OUTPUT_COMMIT.c.run_id == run_id).order_by(OUTPUT_COMMIT.c.operation_seq)
        return tuple(to_record(OutputCommit, OUTPUT_COMMIT, row) for row in self._connection.execute(query))

    def slice_commits(self, tables: Iterable[str]) -> tuple[tuple[str, str, OutputCommit], ...]:
        """Run, period and commit of all that runs wrote to tables by their destinations, the first one first."""
        query = (
            select(RUN.c.period, OUTPUT_COMMIT)
            .join(RUN, RUN.c.id == OUTPUT_COMMIT.c.run_id)
            .where(OUTPUT_COMMIT.c.destination.in_(sorted(set(tables))))
            .order_by(OUTPUT_COMMIT.c.committed_at)
        )
        return tuple(
            (row._mapping[OUTPUT_COMMIT.c.run_id], row.period, to_record(OutputCommit, OUTPUT_COMMIT, row))
            for row in self._connection.execute(query)
        )

    def last_writers(self) -> tuple[str, ...]:
        """The last run that wrote to each destination, the newest first; ids sort by time."""
        query = select(func.max(OUTPUT_COMMIT.c.run_id)).group_by(OUTPUT_COMMIT.c.destination)
        return tuple(sorted(set(self._connection.execute(query).scalars()), reverse=True))

    def has_versions(self, destination: str) -> bool:
        """Whether a run wrote versions of a table there."""
        is_version = (OUTPUT_COMMIT.c.destination == destination) & OUTPUT_COMMIT.c.table_version.is_not(None)
        return self._connection.execute(select(OUTPUT_COMMIT.c.run_id).where(is_version).limit(1)).first() is not None

    def commit(self, run_id: str, operation_seq: int) -> OutputCommit | None:
        return next((item for item in self.commits(run_id) if item.operation_seq == operation_seq), None)

    def writers(
        self, destination: str, *, before: datetime.datetime, version: TableVersion | None = None
    ) -> dict[str | None, str]:
        """The runs whose rows were at a destination then, or in this version of it, by period; None for all periods.

        A period that several runs appended to is left out.
        """
        query = (
            select(OUTPUT_COMMIT, RUN.c.period.label("run_period"))
            .join(RUN, RUN.c.id == OUTPUT_COMMIT.c.run_id)
            .where(OUTPUT_COMMIT.c.destination == destination, OUTPUT_COMMIT.c.committed_at <= before)
            .order_by(OUTPUT_COMMIT.c.committed_at)
        )
        runs_by_period: dict[str | None, set[str]] = {}
        for row in self._connection.execute(query):
            commit, run_id = to_record(OutputCommit, OUTPUT_COMMIT, row), str(row._mapping[OUTPUT_COMMIT.c.run_id])
            match commit.mode:
                case "replace_period":
                    runs_by_period[row.run_period] = {run_id}
                case "append":
                    runs_by_period.setdefault(row.run_period, set()).add(run_id)
                case _:
                    runs_by_period = {None: {run_id}}
            if version is not None and commit.table_version == version:
                break
        return {period: next(iter(runs)) for period, runs in runs_by_period.items() if len(runs) == 1}


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

    def runs(
        self, projects: Iterable[str] | None = None, *, period: str | None = None
    ) -> dict[tuple[str, str], NodeRuns]:
        """By project and period, all of them or of one; runs of drafts do not count."""
        # The tokens of a project's period only grow, whatever the clock does.
        query = select(RUN).where(RUN.c.is_draft.is_(False)).order_by(RUN.c.token)
        if projects is not None:
            query = query.where(RUN.c.project_id.in_(sorted(projects)))
        if period is not None:
            query = query.where(RUN.c.period == period)
        runs_by_node: dict[tuple[str, str], NodeRuns] = {}
        for row in self._connection.execute(query).all():
            run = to_run_record(row)
            key = (run.project_id, run.period)
            earlier = runs_by_node.get(key)
            completed = run if run.status == "completed" else earlier.completed if earlier else None
            runs_by_node[key] = NodeRuns(run, completed)
        return runs_by_node

    def snapshots(self, run_ids: Iterable[str]) -> dict[str, Mapping[str, Any]]:
        """The snapshots of runs as JSON values, decoded as far as they are read."""
        rows = self._in_batches(RUN_SNAPSHOT.c.run_id, run_ids, RUN_SNAPSHOT.c.run_id, RUN_SNAPSHOT.c.body)
        reader = SnapshotReader()
        return {row.run_id: reader.read(row.body) for row in rows}

    def pins(self, run_ids: Iterable[str]) -> dict[str, Mapping[str, Any]]:
        """What each run read, by load, as JSON values."""
        rows = self._in_batches(RUN_OPERATION.c.run_id, run_ids, RUN_OPERATION, also=RUN_OPERATION.c.seq == _LOAD_SEQ)
        return {row._mapping[RUN_OPERATION.c.run_id]: row._mapping[RUN_OPERATION.c.details]["pins"] for row in rows}

    def commits(self, run_ids: Iterable[str]) -> dict[str, list[OutputCommit]]:
        commits_by_run: dict[str, list[OutputCommit]] = {}
        for row in self._in_batches(OUTPUT_COMMIT.c.run_id, run_ids, OUTPUT_COMMIT):
            commit = to_record(OutputCommit, OUTPUT_COMMIT, row)
            commits_by_run.setdefault(row._mapping[OUTPUT_COMMIT.c.run_id], []).append(commit)
        return commits_by_run

    def last_writes(self, projects: Iterable[str] | None = None) -> dict[tuple[str, str], dict[str, datetime.datetime]]:
        """By project and place, when the last completed run of each period that wrote there was created."""
        query = (
            select(RUN.c.project_id, OUTPUT_COMMIT.c.destination, RUN.c.period, func.max(RUN.c.created_at).label("at"))
            .join(OUTPUT_COMMIT, OUTPUT_COMMIT.c.run_id == RUN.c.id)
            .where(RUN.c.is_draft.is_(False), RUN.c.status == "completed")
            .group_by(RUN.c.project_id, OUTPUT_COMMIT.c.destination, RUN.c.period)
        )
        if projects is not None:
            query = query.where(RUN.c.project_id.in_(sorted(projects)))
        writes: dict[tuple[str, str], dict[str, datetime.datetime]] = {}
        for row in self._connection.execute(query):
            writes.setdefault((row.project_id, row.destination), {})[row.period] = row.at
        return writes

    def slices(self) -> dict[str, dict[str, Slice]]:
        """Every slice, by destination and period."""
        slices_by_table: dict[str, dict[str, Slice]] = {}
        for row in self._connection.execute(select(SLICE)).all():
            slice_ = to_record(Slice, SLICE, row)
            slices_by_table.setdefault(slice_.destination, {})[slice_.period] = slice_
        return slices_by_table

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
        committed_at: datetime.datetime | None = self._connection.execute(query).scalar_one()
        return committed_at

    def _in_batches(self, column: Any, ids: Iterable[str], *selected: Any, also: Any = None) -> Iterable[Any]:
        sorted_ids = sorted(set(ids))
        for start in range(0, len(sorted_ids), _BATCH):
            query = select(*selected).where(column.in_(sorted_ids[start : start + _BATCH]))
            yield from self._connection.execute(query if also is None else query.where(also)).all()


# The detail of a record that says which earlier record it is the outcome of.
_OUTCOME_OF = "outcome_of"


class Actions:
    """What users did. Records never change: the outcome of an action that takes a while is a record of its own."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def record(self, action: Action) -> str:
        """The id by which `record_outcome` knows it."""
        action_id = secrets.token_hex(16)
        self._connection.execute(insert(ACTION).values(to_row(ACTION, action, id=action_id)))
        return action_id

    def record_outcome(self, action_id: str, outcome: Action) -> None:
        self.record(replace(outcome, details={**outcome.details, _OUTCOME_OF: action_id}))

    def latest(self, limit: int) -> tuple[Action, ...]:
        """Newest first, each with the details of its outcome where that is recorded."""
        query = select(ACTION).order_by(ACTION.c.done_at.desc(), ACTION.c.id.desc())
        outcomes: dict[str, dict[str, Any]] = {}
        actions: list[Action] = []
        for row in self._connection.execute(query):
            if len(actions) == limit:
                break
            action = to_record(Action, ACTION, row)
            details = dict(action.details)
            if (action_id := details.pop(_OUTCOME_OF, None)) is not None:
                outcomes[action_id] = details
            else:
                actions.append(replace(action, details={**details, **outcomes.get(row.id, {})}))
        return tuple(actions)


@dataclass(frozen=True, slots=True)
class RegisteredVersion:
    """A version of a dataset that a run registered, and the data it stays readable as."""

    dataset_id: str
    version: int
    pin: RegisteredDataPin


class RetentionQueries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def expired_runs(self, before: datetime.datetime) -> tuple[RunRecord, ...]:
        """Runs that ended before a time, are not sealed, and wrote no slice that is still in place."""
        query = (
            select(RUN)
            .where(
                RUN.c.status.not_in(ACTIVE_STATUSES),
                RUN.c.finished_at < before,
                ~exists(select(SLICE.c.run_id).where(SLICE.c.run_id == RUN.c.id)),
                ~exists(select(SEALED_RUN.c.run_id).where(SEALED_RUN.c.run_id == RUN.c.id)),
            )
            .order_by(RUN.c.created_at)
        )
        return tuple(to_run_record(row) for row in self._connection.execute(query))

    def run_tokens(self) -> dict[str, int]:
        """Every run that is known, with the token of its last attempt."""
        return {row.id: row.token for row in self._connection.execute(select(RUN.c.id, RUN.c.token))}

    def forget_runs(self, run_ids: Iterable[str]) -> None:
        """Remove runs with their snapshots, results and commits."""
        for run_id in run_ids:
            self._connection.execute(delete(RUN).where(RUN.c.id == run_id, RUN.c.status.not_in(ACTIVE_STATUSES)))

    def expired_versions(self, keep: int) -> tuple[RegisteredVersion, ...]:
        """Pinned data of registered versions beyond the newest `keep` that neither a project nor a seal needs."""
        newer = DEFINITION_VERSION.alias("newer")
        version = DEFINITION_VERSION
        query = (
            select(version.c.id, version.c.version, version.c.pin_uri, version.c.pin_version)
            .where(
                version.c.kind == "dataset",
                version.c.pin_uri.is_not(None),
                ~exists(select(SEALED_RUN.c.run_id).where(SEALED_RUN.c.run_id == version.c.run_id)),
                ~exists(
                    select(EXPIRED_DATA.c.version).where(
                        EXPIRED_DATA.c.dataset_id == version.c.id, EXPIRED_DATA.c.version == version.c.version
                    )
                ),
                exists(
                    select(newer.c.version).where(
                        newer.c.kind == "dataset",
                        newer.c.id == version.c.id,
                        newer.c.version == version.c.version + keep,
                    )
                ),
                ~exists(
                    select(PROJECT_INPUT.c.project_id)
                    .join(PROJECT_STATE, PROJECT_STATE.c.project_id == PROJECT_INPUT.c.project_id)
                    .join(
                        DEFINITION,
                        (DEFINITION.c.kind == "project") & (DEFINITION.c.id == PROJECT_INPUT.c.project_id),
                    )
                    .where(
                        or_(
                            PROJECT_INPUT.c.project_version == PROJECT_STATE.c.active_version,
                            PROJECT_INPUT.c.project_version == DEFINITION.c.latest_version,
                        ),
                        PROJECT_INPUT.c.dataset_id == version.c.id,
                        PROJECT_INPUT.c.version == version.c.version,
                        PROJECT_INPUT.c.is_pinned,
                    )
                ),
            )
            .order_by(version.c.id, version.c.version)
        )
        return tuple(
            RegisteredVersion(row.id, row.version, RegisteredDataPin(row.pin_uri, row.pin_version))
            for row in self._connection.execute(query)
        )

    def kept_versions(self, expired: Iterable[RegisteredVersion] = ()) -> tuple[RegisteredVersion, ...]:
        """Registered versions that stay readable as they were, but for the expired ones."""
        gone = {(item.dataset_id, item.version) for item in expired}
        gone |= {(row.dataset_id, row.version) for row in self._connection.execute(select(EXPIRED_DATA))}
        version = DEFINITION_VERSION
        query = select(version.c.id, version.c.version, version.c.pin_uri, version.c.pin_version).where(
            version.c.pin_uri.is_not(None)
        )
        return tuple(
            RegisteredVersion(row.id, row.version, RegisteredDataPin(row.pin_uri, row.pin_version))
            for row in self._connection.execute(query)
            if (row.id, row.version) not in gone
        )

    def inputs_read(self) -> dict[str, Mapping[str, Any]]:
        """What each run wrote down about the sources it read."""
        query = select(RUN_OPERATION.c.run_id, RUN_OPERATION.c.details).where(RUN_OPERATION.c.seq == 0)
        return {row.run_id: row.details for row in self._connection.execute(query)}

    def versioned_tables(self) -> tuple[tuple[str, str], ...]:
        """Every table that runs have written in a format that keeps versions: the format and the table's URI."""
        version = OUTPUT_COMMIT.c.table_version
        query = select(version, OUTPUT_COMMIT.c.destination).where(version.is_not(None))
        return tuple(sorted({(row.table_version.format, row.destination) for row in self._connection.execute(query)}))

    def mark_expired(self, expired: Iterable[RegisteredVersion], *, now: datetime.datetime) -> None:
        rows = [{"dataset_id": item.dataset_id, "version": item.version, "expired_at": now} for item in expired]
        if rows:
            self._connection.execute(insert(EXPIRED_DATA), rows)
