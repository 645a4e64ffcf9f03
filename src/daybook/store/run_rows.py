"""Rows of the run table as records."""

import datetime
import json
from typing import Any

from sqlalchemy import Connection, Row, select

from daybook.errors import DaybookError
from daybook.store.process import ProcessIdentity
from daybook.store.records import Lease, RunRecord
from daybook.store.tables import RUN

ACTIVE = ("queued", "running")


def to_record(row: Row[Any]) -> RunRecord:
    return RunRecord(
        id=row.id,
        project_id=row.project_id,
        project_version=row.project_version,
        calendar_id=row.calendar_id,
        period=row.period,
        as_of=row.as_of,
        status=row.status,
        is_draft=row.is_draft,
        is_sandboxed=row.is_sandboxed,
        user=row.user_name,
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        attempt=row.attempt,
        last_completed_operation=row.last_completed_operation,
        error=json.loads(row.error) if row.error else None,
        cancel_requested_at=row.cancel_requested_at,
        token=row.token,
        lease_expires_at=row.lease_expires_at,
        process=ProcessIdentity(row.host_name, row.host_id, row.pid, row.process_started),
    )


def find_run(connection: Connection, run_id: str, *, lock: bool = False) -> RunRecord | None:
    query = select(RUN).where(RUN.c.id == run_id)
    row = connection.execute(query.with_for_update() if lock else query).first()
    return to_record(row) if row else None


def require_run(connection: Connection, run_id: str, *, lock: bool = False) -> RunRecord:
    record = find_run(connection, run_id, lock=lock)
    if record is None:
        raise DaybookError("STORE_014", run_id=run_id)
    return record


def require_lease(connection: Connection, lease: Lease) -> RunRecord:
    """The run, locked for the rest of the transaction, if the lease is still the one that counts.

    An expired lease that nobody has taken over still counts: taking over raises the token.
    """
    record = find_run(connection, lease.run_id, lock=True)
    if record is None or record.token != lease.token or not record.is_active:
        raise DaybookError("STORE_013", run_id=lease.run_id)
    return record


def page_mark(record: RunRecord) -> str:
    """Where the next page of a listing begins."""
    return f"{record.created_at.isoformat()}~{record.id}"


def read_page_mark(mark: str) -> tuple[datetime.datetime, str]:
    text, _, run_id = mark.partition("~")
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError as error:
        raise DaybookError("STORE_030", mark=mark) from error
    if time.tzinfo is None or not run_id:
        raise DaybookError("STORE_030", mark=mark)
    return time, run_id
