"""Stores the policy in force, requests for acts that need approval, and what people decided about them."""

import datetime
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, text, update

from daybook.errors import DaybookError
from daybook.model.policy import ApprovalPolicy
from daybook.store.database.row_records import to_record, to_row
from daybook.store.database.tables import DECISION, POLICY, REQUEST
from daybook.store.process import ProcessIdentity, is_surely_dead
from daybook.store.records import AdoptedPolicy, Decision, Request, RequestStatus

_REQUEST_LOCK = 4_021_994_219
# For as long a process that this machine cannot see keeps what it began; one that it sees is looked at.
_CLAIM_DURATION = datetime.timedelta(hours=1)


class Policies:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def adopted(self) -> AdoptedPolicy | None:
        """The policy in force; None where none was ever adopted."""
        row = self._connection.execute(select(POLICY).order_by(POLICY.c.number.desc()).limit(1)).first()
        return to_record(AdoptedPolicy, POLICY, row) if row is not None else None

    def in_force(self) -> ApprovalPolicy:
        adopted = self.adopted()
        return ApprovalPolicy.model_validate_json(adopted.body) if adopted is not None else ApprovalPolicy()

    def adopt(self, body: str, digest: str, *, by: str, now: datetime.datetime) -> None:
        adopted = self.adopted()
        policy = AdoptedPolicy(adopted.number + 1 if adopted is not None else 1, body, digest, now, by)
        self._connection.execute(insert(POLICY).values(to_row(POLICY, policy)))


class Requests:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def lock(self) -> None:
        """Whoever makes or decides requests queues here, before any other lock."""
        if self._connection.dialect.name == "postgresql":
            self._connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _REQUEST_LOCK})

    def next_number(self) -> int:
        return int(self._connection.execute(select(func.coalesce(func.max(REQUEST.c.number), 0) + 1)).scalar_one())

    def add(self, request: Request) -> None:
        self._connection.execute(insert(REQUEST).values(to_row(REQUEST, request)))

    def find(self, number: int) -> Request | None:
        row = self._connection.execute(select(REQUEST).where(REQUEST.c.number == number)).first()
        return _to_request(row) if row is not None else None

    def get(self, number: int) -> Request:
        request = self.find(number)
        if request is None:
            raise DaybookError("APPROVAL_007", number=number)
        return request

    def listed(self, statuses: Iterable[RequestStatus] | None = None, limit: int = 200) -> tuple[Request, ...]:
        """Newest first."""
        query = select(REQUEST).order_by(REQUEST.c.number.desc()).limit(limit)
        if statuses is not None:
            query = query.where(REQUEST.c.status.in_(sorted(statuses)))
        return tuple(map(_to_request, self._connection.execute(query)))

    def about(self, subject: str, acts: Iterable[str]) -> tuple[Request, ...]:
        """The requests for acts on a subject, such as those that locked a period; the first one first."""
        query = select(REQUEST).where(REQUEST.c.subject == subject, REQUEST.c.act.in_(sorted(acts)))
        return tuple(map(_to_request, self._connection.execute(query.order_by(REQUEST.c.number))))

    def decisions(self, number: int) -> tuple[Decision, ...]:
        query = select(DECISION).where(DECISION.c.number == number).order_by(DECISION.c.decided_at)
        return tuple(to_record(Decision, DECISION, row) for row in self._connection.execute(query))

    def decide(self, decision: Decision) -> None:
        """One decision of a person about a request; the caller holds the lock of requests."""
        if any(earlier.person == decision.person for earlier in self.decisions(decision.number)):
            raise DaybookError("APPROVAL_004", number=decision.number, name=decision.person)
        self._connection.execute(insert(DECISION).values(to_row(DECISION, decision)))

    def end(
        self,
        number: int,
        status: RequestStatus,
        *,
        by: str,
        now: datetime.datetime,
        reason: str | None = None,
    ) -> None:
        values = {"status": status, "ended_at": now, "ended_by": by, "ended_reason": reason, "claimed_until": None}
        self._connection.execute(update(REQUEST).where(REQUEST.c.number == number).values(**values))

    def claim(self, number: int, process: ProcessIdentity, *, now: datetime.datetime) -> None:
        """Begin what a request was released for; refused while another process does it."""
        row = self._connection.execute(select(REQUEST).where(REQUEST.c.number == number)).one()
        if row.claimed_until is not None:
            holder = ProcessIdentity(row.host_name, row.host_id, row.pid, row.process_started)
            if now < row.claimed_until and not is_surely_dead(holder):
                raise DaybookError("APPROVAL_019", number=number, pid=holder.pid, host=holder.host)
        values = {
            "claimed_until": now + _CLAIM_DURATION,
            "host_name": process.host,
            "host_id": process.host_id,
            "pid": process.pid,
            "process_started": process.started,
        }
        self._connection.execute(update(REQUEST).where(REQUEST.c.number == number).values(**values))

    def unclaim(self, number: int) -> None:
        """What was begun failed, and may be begun again."""
        self._connection.execute(update(REQUEST).where(REQUEST.c.number == number).values(claimed_until=None))


def _to_request(row: Row[Any]) -> Request:
    return to_record(Request, REQUEST, row)
