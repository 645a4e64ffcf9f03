"""Stores runs: creation, lease, fencing token, status, listing."""

import datetime
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, func, insert, literal, select, text, tuple_, update

from daybook.errors import DaybookError
from daybook.errors.error import did_you_mean
from daybook.store.database.connection import insert_into
from daybook.store.database.row_records import to_record
from daybook.store.database.tables import FENCE, OUTPUT_COMMIT, RUN, RUN_SNAPSHOT
from daybook.store.database.value_types import UtcTimestamp
from daybook.store.process import ProcessIdentity, is_surely_dead
from daybook.store.records import FinalStatus, Heartbeat, Lease, RunFilter, RunPage, RunRecord

ACTIVE_STATUSES = ("queued", "running")


def to_run_record(row: Row[Any]) -> RunRecord:
    process = ProcessIdentity(row.host_name, row.host_id, row.pid, row.process_started)
    return to_record(RunRecord, RUN, row, process=process)


def find_run(connection: Connection, run_id: str, *, lock: bool = False) -> RunRecord | None:
    query = select(RUN).where(RUN.c.id == run_id)
    row = connection.execute(query.with_for_update() if lock else query).first()
    return to_run_record(row) if row else None


def require_run(connection: Connection, run_id: str, *, lock: bool = False) -> RunRecord:
    record = find_run(connection, run_id, lock=lock)
    if record is None:
        raise DaybookError("STORE_014", run_id=run_id)
    return record


def require_lease(connection: Connection, lease: Lease) -> RunRecord:
    """The run, locked for the rest of the transaction, if the lease is still the one that counts.

    An expired lease that no other process has taken over still counts: taking over raises the token.
    """
    record = find_run(connection, lease.run_id, lock=True)
    if record is None or record.token != lease.token or not record.is_active:
        raise DaybookError("STORE_013", run_id=lease.run_id)
    return record


# Between a project and a period; no id has it.
_NAME_SEPARATOR = "@"
# Between the two parts of a page mark; no id of a run has it.
_MARK_SEPARATOR = "~"


def format_page_mark(record: RunRecord) -> str:
    """Where the next page of a listing begins."""
    return f"{record.created_at.isoformat()}{_MARK_SEPARATOR}{record.id}"


def is_page_mark(text: str) -> bool:
    return _MARK_SEPARATOR in text


def parse_page_mark(mark: str) -> tuple[datetime.datetime, str]:
    text, _, run_id = mark.partition(_MARK_SEPARATOR)
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError as error:
        raise DaybookError("STORE_030", mark=mark) from error
    if time.tzinfo is None or not run_id:
        raise DaybookError("STORE_030", mark=mark)
    return time, run_id


def next_token(connection: Connection, project_id: str, period: str) -> int:
    """The next token; other callers wait until this transaction has ended."""
    values = {"project_id": project_id, "period": period, "token": 1}
    target = [FENCE.c.project_id, FENCE.c.period]
    grown = {"token": FENCE.c.token + 1}
    insert = insert_into(connection, FENCE, values).on_conflict_do_update(index_elements=target, set_=grown)
    return int(connection.execute(insert.returning(FENCE.c.token)).scalar_one())


def later_commit(connection: Connection, run: RunRecord) -> str | None:
    """A later run of the same project and period that has committed an output.

    Runs in the sandbox and runs on the real destinations do not block each other.
    """
    query = (
        select(OUTPUT_COMMIT.c.run_id)
        .join(RUN, RUN.c.id == OUTPUT_COMMIT.c.run_id)
        .where(
            RUN.c.project_id == run.project_id,
            RUN.c.period == run.period,
            RUN.c.id != run.id,
            RUN.c.is_sandboxed == run.is_sandboxed,
            OUTPUT_COMMIT.c.token > run.token,
        )
        .order_by(OUTPUT_COMMIT.c.token.desc())
        .limit(1)
    )
    run_id: str | None = connection.execute(query).scalar_one_or_none()
    return run_id


LEASE_DURATION = datetime.timedelta(seconds=30)

IsDead = Callable[[ProcessIdentity], bool]


class Runs:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def start(
        self,
        run_id: str,
        project_id: str,
        project_version: int,
        period: str,
        snapshot: str,
        *,
        process: ProcessIdentity,
        now: datetime.datetime,
        calendar_id: str = "gregorian",
        as_of: datetime.date | None = None,
        is_draft: bool = False,
        is_sandboxed: bool = False,
        user: str | None = None,
        is_dead: IsDead = is_surely_dead,
    ) -> Lease:
        """Create a queued run that `process` holds; refused while another run of its project and period is running.

        A run whose process has ended, or whose lease has expired, is marked as failed first. `snapshot` is JSON text
        and is kept byte for byte.
        """
        token = next_token(self._connection, project_id, period)
        self._make_way(project_id, period, now, is_dead)
        expires_at = now + LEASE_DURATION
        row = {
            "id": run_id,
            "project_id": project_id,
            "project_version": project_version,
            "calendar_id": calendar_id,
            "period": period,
            "as_of": as_of,
            "status": "queued",
            "is_draft": is_draft,
            "is_sandboxed": is_sandboxed,
            "user": user,
            "created_at": now,
            "attempt": 1,
            "token": token,
            "lease_expires_at": expires_at,
            **_holder_columns(process),
        }
        self._connection.execute(insert(RUN).values(row))
        self._connection.execute(insert(RUN_SNAPSHOT).values(run_id=run_id, body=snapshot))
        return Lease(run_id, project_id, period, token, expires_at)

    def hold_back_starts(self) -> None:
        """Let runs that are about to begin wait for the end of this transaction."""
        # A transaction of SQLite that writes is alone from its beginning.
        if self._connection.dialect.name == "postgresql":
            self._connection.execute(text("LOCK TABLE run IN SHARE ROW EXCLUSIVE MODE"))

    def resume(
        self,
        run_id: str,
        *,
        process: ProcessIdentity,
        now: datetime.datetime,
        is_dead: IsDead = is_surely_dead,
    ) -> Lease:
        """Continue a run that failed, was cancelled or lost its process, under a new token."""
        earlier = require_run(self._connection, run_id)
        token = next_token(self._connection, earlier.project_id, earlier.period)
        self._make_way(earlier.project_id, earlier.period, now, is_dead)
        run = require_run(self._connection, run_id, lock=True)
        if run.status not in ("failed", "cancelled"):
            raise DaybookError("STORE_015", run_id=run_id, status=run.status, action="retried")
        if (later := later_commit(self._connection, run)) is not None:
            raise DaybookError(
                "STORE_018", run_id=run_id, later_run_id=later, project_id=run.project_id, period=run.period
            )
        expires_at = now + LEASE_DURATION
        self._connection.execute(
            update(RUN)
            .where(RUN.c.id == run_id)
            .values(
                status="queued",
                attempt=run.attempt + 1,
                token=token,
                lease_expires_at=expires_at,
                error=None,
                started_at=now,
                finished_at=None,
                cancel_requested_at=None,
                **_holder_columns(process),
            )
        )
        return Lease(run_id, run.project_id, run.period, token, expires_at)

    def mark_running(self, lease: Lease, *, now: datetime.datetime) -> None:
        run = require_lease(self._connection, lease)
        self._connection.execute(
            update(RUN).where(RUN.c.id == lease.run_id).values(status="running", started_at=run.started_at or now)
        )

    def heartbeat(self, lease: Lease, *, now: datetime.datetime) -> Heartbeat:
        """Renew the lease; says whether a user cancelled the run."""
        expires_at = now + LEASE_DURATION
        row = self._connection.execute(
            update(RUN)
            .where(RUN.c.id == lease.run_id, RUN.c.token == lease.token, RUN.c.status.in_(ACTIVE_STATUSES))
            .values(lease_expires_at=expires_at)
            .returning(RUN.c.cancel_requested_at)
        ).first()
        if row is None:
            raise DaybookError("STORE_013", run_id=lease.run_id)
        renewed = Lease(lease.run_id, lease.project_id, lease.period, lease.token, expires_at)
        return Heartbeat(renewed, row.cancel_requested_at is not None)

    def finish(
        self,
        lease: Lease,
        status: FinalStatus,
        *,
        now: datetime.datetime,
        error: Mapping[str, Any] | None = None,
    ) -> None:
        require_lease(self._connection, lease)
        self._end(lease.run_id, status, now, error)

    def request_cancel(self, run_id: str, *, now: datetime.datetime, is_dead: IsDead = is_surely_dead) -> RunRecord:
        """Ask a live run to stop; a run whose process has ended is cancelled at once."""
        run = require_run(self._connection, run_id, lock=True)
        if not run.is_active:
            raise DaybookError("STORE_015", run_id=run_id, status=run.status, action="cancelled")
        if _is_abandoned(run, now, is_dead):
            self._end(run_id, "cancelled", now, None)
        elif run.cancel_requested_at is None:
            self._connection.execute(update(RUN).where(RUN.c.id == run_id).values(cancel_requested_at=now))
        return require_run(self._connection, run_id)

    def abandoned(self, *, now: datetime.datetime, is_dead: IsDead = is_surely_dead) -> tuple[RunRecord, ...]:
        """Runs that claim to be active but have no living process."""
        query = select(RUN).where(RUN.c.status.in_(ACTIVE_STATUSES)).order_by(RUN.c.created_at)
        records = [to_run_record(row) for row in self._connection.execute(query)]
        return tuple(record for record in records if _is_abandoned(record, now, is_dead))

    def give_up(self, run_id: str, *, now: datetime.datetime, is_dead: IsDead = is_surely_dead) -> bool:
        """Mark an abandoned run as failed; False when it is running or has ended."""
        run = require_run(self._connection, run_id, lock=True)
        if not (run.is_active and _is_abandoned(run, now, is_dead)):
            return False
        self._end(run_id, "failed", now, _abandoned_error(run))
        return True

    def find(self, run_id: str) -> RunRecord | None:
        return find_run(self._connection, run_id)

    def get(self, run_id: str) -> RunRecord:
        return require_run(self._connection, run_id)

    def id_of(self, text: str) -> str:
        """The id of a run that is named by it, or as `PROJECT@PERIOD`: the last completed one, sandbox aside."""
        project_id, separator, period = text.rpartition(_NAME_SEPARATOR)
        if not separator:
            return text
        query = (
            select(RUN.c.id)
            .where(RUN.c.project_id == project_id, RUN.c.period == period, RUN.c.status == "completed")
            .where(~RUN.c.is_sandboxed)
            # Tokens only grow, whatever the clock does.
            .order_by(RUN.c.token.desc())
        )
        run_id: str | None = self._connection.execute(query.limit(1)).scalar_one_or_none()
        if run_id is not None:
            return run_id
        periods = self.completed_periods()
        hint = did_you_mean(project_id, periods)
        if own := periods.get(project_id):
            hint = f"it has completed runs for {', '.join(own)}"
        raise DaybookError("RUN_061", project_id=project_id, period=period, hint=hint)

    def last_completed(self) -> tuple[RunRecord, ...]:
        """The last completed run of every project and period, sandbox aside."""
        query = select(RUN).where(RUN.c.status == "completed", ~RUN.c.is_sandboxed).order_by(RUN.c.token)
        last = {(row.project_id, row.period): row for row in self._connection.execute(query)}
        return tuple(to_run_record(row) for row in last.values())

    def completed_periods(self) -> dict[str, tuple[str, ...]]:
        """The periods that runs completed, by project; drafts do not count."""
        query = (
            select(RUN.c.project_id, RUN.c.period)
            .where(RUN.c.status == "completed", ~RUN.c.is_draft)
            .distinct()
            .order_by(RUN.c.project_id, RUN.c.period)
        )
        periods_by_project: dict[str, list[str]] = {}
        for row in self._connection.execute(query):
            periods_by_project.setdefault(row.project_id, []).append(row.period)
        return {project_id: tuple(periods) for project_id, periods in periods_by_project.items()}

    def snapshot(self, run_id: str) -> str:
        """The JSON text the run was created with."""
        query = select(RUN_SNAPSHOT.c.body).where(RUN_SNAPSHOT.c.run_id == run_id)
        body: str | None = self._connection.execute(query).scalar_one_or_none()
        if body is None:
            raise DaybookError("STORE_014", run_id=run_id)
        return body

    def shown(self, run_id: str, *, is_dead: IsDead = is_surely_dead) -> RunRecord:
        """A run as people see it: one whose process is gone has failed, whatever its row still says."""
        return _as_shown(require_run(self._connection, run_id), is_dead)

    def page(
        self,
        run_filter: RunFilter | None = None,
        *,
        limit: int = 50,
        after: str | None = None,
        is_dead: IsDead = is_surely_dead,
    ) -> RunPage:
        """Newest first, as people see them; `after` is the `next_page` of the page before."""
        run_filter = run_filter or RunFilter()
        query = select(RUN).order_by(RUN.c.created_at.desc(), RUN.c.id.desc())
        active = select(func.count()).select_from(RUN).where(RUN.c.status.in_(ACTIVE_STATUSES))
        # Rows of active runs may turn out to have another status than the one that is asked for.
        spare = self._connection.execute(active).scalar_one() if run_filter.status is not None else 0
        query = query.limit(limit + 1 + spare)
        if run_filter.project_id is not None:
            query = query.where(RUN.c.project_id == run_filter.project_id)
        if run_filter.period is not None:
            query = query.where(RUN.c.period == run_filter.period)
        if run_filter.status is not None:
            query = query.where(RUN.c.status.in_({run_filter.status, *ACTIVE_STATUSES}))
        if after is not None:
            time, run_id = parse_page_mark(after)
            query = query.where(tuple_(RUN.c.created_at, RUN.c.id) < tuple_(literal(time, UtcTimestamp()), run_id))
        rows = [_as_shown(to_run_record(row), is_dead) for row in self._connection.execute(query)]
        matching = [run for run in rows if run_filter.status in (None, run.status)]
        shown = tuple(matching[:limit])
        return RunPage(shown, format_page_mark(shown[-1]) if len(matching) > limit and shown else None)

    def _make_way(self, project_id: str, period: str, now: datetime.datetime, is_dead: IsDead) -> None:
        query = (
            select(RUN)
            .where(RUN.c.project_id == project_id, RUN.c.period == period, RUN.c.status.in_(ACTIVE_STATUSES))
            .with_for_update()
        )
        row = self._connection.execute(query).first()
        if row is None:
            return
        holder = to_run_record(row)
        if not _is_abandoned(holder, now, is_dead):
            raise DaybookError(
                "STORE_012",
                project_id=project_id,
                period=period,
                run_id=holder.id,
                host=holder.process.host,
                pid=holder.process.pid,
            )
        self._end(holder.id, "failed", now, _abandoned_error(holder))

    def _end(self, run_id: str, status: FinalStatus, now: datetime.datetime, error: Mapping[str, Any] | None) -> None:
        self._connection.execute(
            update(RUN)
            .where(RUN.c.id == run_id)
            .values(
                status=status,
                finished_at=now,
                lease_expires_at=None,
                error=dict(error) if error else None,
            )
        )


def _is_abandoned(run: RunRecord, now: datetime.datetime, is_dead: IsDead) -> bool:
    return run.lease_expires_at is None or run.lease_expires_at <= now or is_dead(run.process)


def _as_shown(run: RunRecord, is_dead: IsDead) -> RunRecord:
    if not (run.is_active and is_dead(run.process)):
        return run
    return replace(run, status="failed", error=_abandoned_error(run))


def _abandoned_error(run: RunRecord) -> dict[str, Any]:
    lost = DaybookError("STORE_013", run_id=run.id)
    return {"code": lost.code, "message": lost.message, "hint": lost.hint, "pid": run.process.pid}


def _holder_columns(process: ProcessIdentity) -> dict[str, Any]:
    return {
        "host_name": process.host,
        "host_id": process.host_id,
        "pid": process.pid,
        "process_started": process.started,
    }
