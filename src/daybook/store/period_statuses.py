"""Period statuses, which only move forward; a period is covered by what holds it."""

import datetime
from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from daybook.errors import DaybookError
from daybook.model.period import Period, PeriodStatus
from daybook.store.tables import PERIOD_STATUS
from daybook.store.upsert import insert_if_absent

_ORDER: tuple[PeriodStatus, ...] = ("open", "closed", "locked")
_ACTIONS = {"open": "opened", "closed": "closed", "locked": "locked"}


@dataclass(frozen=True, slots=True)
class EffectiveStatus:
    """`because_of` is the covering period whose status counts, and who changed it when; all None when it is open."""

    status: PeriodStatus
    because_of: str | None = None
    changed_at: datetime.datetime | None = None
    changed_by: str | None = None


class PeriodStatuses:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def status(self, period: Period) -> EffectiveStatus:
        """The furthest status of the period and of the periods of its calendar that contain it."""
        query = select(PERIOD_STATUS).where(
            PERIOD_STATUS.c.calendar_id == period.calendar_id,
            PERIOD_STATUS.c.start_date <= period.start_date,
            PERIOD_STATUS.c.end_date >= period.end_date,
        )
        # Its own status explains better than an equal one of a period around it.
        found = max(
            self._connection.execute(query),
            key=lambda row: (_ORDER.index(row.status), row.identifier == period.identifier),
            default=None,
        )
        if found is None:
            return EffectiveStatus("open")
        return EffectiveStatus(found.status, found.identifier, found.changed_at, found.changed_by)

    def advance(self, period: Period, status: PeriodStatus, *, now: datetime.datetime, user: str | None = None) -> bool:
        """Close or lock a period; False when it already is."""
        values = {
            "calendar_id": period.calendar_id,
            "identifier": period.identifier,
            "level": period.level,
            "start_date": period.start_date,
            "end_date": period.end_date,
            "status": "open",
            "changed_at": now,
            "changed_by": user,
        }
        # The row is what two processes queue on that change one period at once.
        insert_if_absent(self._connection, PERIOD_STATUS, values)
        own = (PERIOD_STATUS.c.calendar_id == period.calendar_id) & (PERIOD_STATUS.c.identifier == period.identifier)
        known = self._connection.execute(select(PERIOD_STATUS.c.status).where(own).with_for_update()).scalar_one()
        effective = self.status(period).status
        if _ORDER.index(status) < _ORDER.index(effective):
            raise DaybookError("STORE_017", period=period.identifier, status=effective, action=_ACTIONS[status])
        if known == status:
            return False
        self._connection.execute(
            update(PERIOD_STATUS)
            .where(own)
            .values(
                level=period.level,
                start_date=period.start_date,
                end_date=period.end_date,
                status=status,
                changed_at=now,
                changed_by=user,
            )
        )
        return True
