"""What operations of a run did and which outputs were committed."""

import datetime
from collections.abc import Iterable

from sqlalchemy import Connection, delete, func, insert, select, update

from daybook.model.definition import TableVersion
from daybook.store.database.periods import Slices
from daybook.store.database.runs import later_commit, require_lease, require_run
from daybook.store.database.tables import OUTPUT_COMMIT, RUN, RUN_OPERATION, to_record, to_row
from daybook.store.records import Lease, OperationResult, OutputCommit


class Outcomes:
    """Every write is checked against the lease in the transaction that makes it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def record_operation(self, lease: Lease, result: OperationResult) -> None:
        """Keep the counts of an operation; a repeat in a retry replaces them."""
        require_lease(self._connection, lease)
        known = (RUN_OPERATION.c.run_id == lease.run_id) & (RUN_OPERATION.c.seq == result.seq)
        self._connection.execute(delete(RUN_OPERATION).where(known))
        self._connection.execute(insert(RUN_OPERATION).values(to_row(RUN_OPERATION, result, run_id=lease.run_id)))

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
        found: dict[str | None, set[str]] = {}
        for row in self._connection.execute(query):
            commit, run_id = to_record(OutputCommit, OUTPUT_COMMIT, row), str(row._mapping[OUTPUT_COMMIT.c.run_id])
            match commit.mode:
                case "replace_period":
                    found[row.run_period] = {run_id}
                case "append":
                    found.setdefault(row.run_period, set()).add(run_id)
                case _:
                    found = {None: {run_id}}
            if version is not None and commit.table_version == version:
                break
        return {period: next(iter(runs)) for period, runs in found.items() if len(runs) == 1}

    def later_commit(self, run_id: str) -> str | None:
        """The id of a later run of the same project and period that has committed; retrying is refused then."""
        return later_commit(self._connection, require_run(self._connection, run_id))
