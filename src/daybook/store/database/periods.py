"""Stores slices of tables by period, and the statuses of periods."""

import datetime
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Table, delete, func, insert, select, update

from daybook.errors import DaybookError
from daybook.model.calendar import Period, PeriodStatus
from daybook.store.database.connection import insert_if_absent
from daybook.store.database.row_records import to_record, to_row
from daybook.store.database.tables import DROPPED_SLICE, PERIOD_CHANGE, PERIOD_STATUS, SLICE
from daybook.store.records import DroppedSlice, Slice, SliceTable, StatusChange


class Slices:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def owner(self, table: SliceTable, period: str) -> Slice | None:
        return self._find(table, period)

    def take(
        self,
        table: SliceTable,
        period: str,
        *,
        project_id: str,
        operation_id: str,
        run_id: str,
        rows: int | None,
        now: datetime.datetime,
        instead_of: str | None = None,
    ) -> None:
        """Note who writes; another project's slice is an error, unless it is taken over from that very project."""
        values = {
            "destination": table.identity,
            "period": period,
            "project_id": project_id,
            "operation_id": operation_id,
            "run_id": run_id,
            "rows": rows,
            "written_at": now,
        }
        self._rename(table, period)
        if insert_if_absent(self._connection, SLICE, values):
            return
        stored = self._find(table, period, is_locked=True)
        if stored is not None and stored.project_id not in (project_id, instead_of):
            raise foreign_slice_error(stored)
        here = (SLICE.c.destination == table.identity) & (SLICE.c.period == period)
        self._connection.execute(update(SLICE).where(here).values(values))

    def of(self, table: SliceTable) -> tuple[Slice, ...]:
        """The slices of a table, by period."""
        query = select(SLICE).where(SLICE.c.destination.in_(table.names))
        slices_by_period: dict[str, Slice] = {}
        for row in self._connection.execute(query):
            slice_ = to_record(Slice, SLICE, row)
            if slice_.period not in slices_by_period or slice_.destination == table.identity:
                slices_by_period[slice_.period] = slice_
        return tuple(slices_by_period[period] for period in sorted(slices_by_period))

    def all(self) -> tuple[Slice, ...]:
        """Every slice that is known, by destination and period."""
        query = select(SLICE).order_by(SLICE.c.destination, SLICE.c.period)
        return tuple(to_record(Slice, SLICE, row) for row in self._connection.execute(query))

    def drop(self, table: SliceTable, dropped: DroppedSlice) -> None:
        """The slice was removed from the table; who removed it and why is kept permanently."""
        here = SLICE.c.destination.in_(table.names) & (SLICE.c.period == dropped.period)
        self._connection.execute(delete(SLICE).where(here))
        earlier = (DROPPED_SLICE.c.destination == dropped.destination) & (DROPPED_SLICE.c.period == dropped.period)
        count = select(func.count()).select_from(DROPPED_SLICE).where(earlier)
        number = self._connection.execute(count).scalar_one() + 1
        self._connection.execute(insert(DROPPED_SLICE).values(to_row(DROPPED_SLICE, dropped, number=number)))

    def dropped(self) -> tuple[DroppedSlice, ...]:
        """Every slice that was dropped, the first one first."""
        query = select(DROPPED_SLICE).order_by(DROPPED_SLICE.c.dropped_at)
        return tuple(to_record(DroppedSlice, DROPPED_SLICE, row) for row in self._connection.execute(query))

    def forget(self, table: SliceTable) -> None:
        """Removes all slices of a table that was replaced as a whole."""
        self._connection.execute(delete(SLICE).where(SLICE.c.destination.in_(table.names)))

    def _find(self, table: SliceTable, period: str, *, is_locked: bool = False) -> Slice | None:
        query = select(SLICE).where(SLICE.c.destination.in_(table.names), SLICE.c.period == period)
        rows = self._connection.execute(query.with_for_update() if is_locked else query)
        slices = [to_record(Slice, SLICE, row) for row in rows]
        return next(
            (slice_ for slice_ in slices if slice_.destination == table.identity), slices[0] if slices else None
        )

    def _rename(self, table: SliceTable, period: str) -> None:
        """A slice that is known by the table's label gets its identity."""
        if table.label == table.identity:
            return
        by_label = (SLICE.c.destination == table.label) & (SLICE.c.period == period)
        by_identity = (SLICE.c.destination == table.identity) & (SLICE.c.period == period)
        if self._connection.execute(select(SLICE.c.run_id).where(by_identity)).first() is not None:
            self._connection.execute(delete(SLICE).where(by_label))
        else:
            self._connection.execute(update(SLICE).where(by_label).values(destination=table.identity))


def foreign_slice_error(slice_: Slice) -> DaybookError:
    owner = f"operation {slice_.operation_id} of project {slice_.project_id}"
    return DaybookError("STORE_016", destination=slice_.destination, period=slice_.period, owner=owner)


_STATUS_ORDER: tuple[PeriodStatus, ...] = ("open", "closed", "locked")
_STATUS_ACTIONS = {"open": "opened", "closed": "closed", "locked": "locked"}


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
        furthest = max(
            self._connection.execute(query),
            key=lambda row: (_STATUS_ORDER.index(row.status), row.identifier == period.identifier),
            default=None,
        )
        if furthest is None:
            return EffectiveStatus("open")
        return EffectiveStatus(furthest.status, furthest.identifier, furthest.changed_at, furthest.changed_by)

    def in_status(self, status: PeriodStatus) -> tuple[tuple[str, datetime.date, datetime.date], ...]:
        """The periods that are closed, or locked, each by its calendar and its days."""
        query = select(PERIOD_STATUS).where(PERIOD_STATUS.c.status == status)
        return tuple((row.calendar_id, row.start_date, row.end_date) for row in self._connection.execute(query))

    def advance(
        self,
        period: Period,
        status: PeriodStatus,
        *,
        now: datetime.datetime,
        user: str | None = None,
        reason: str | None = None,
    ) -> bool:
        """Close or lock a period; False when it already is."""
        stored_status = self._lock_row(period, now)
        effective = self.status(period).status
        if _STATUS_ORDER.index(status) < _STATUS_ORDER.index(effective):
            raise DaybookError("STORE_017", period=period.identifier, status=effective, action=_STATUS_ACTIONS[status])
        if stored_status == status:
            return False
        self._change(period, StatusChange(status, now, user, reason))
        return True

    def reopen(self, period: Period, *, reason: str, now: datetime.datetime, user: str | None = None) -> bool:
        """Open a closed or locked period again; False when it is open."""
        stored_status = self._lock_row(period, now)
        if stored_status != "open":
            self._change(period, StatusChange("open", now, user, reason))
        effective = self.status(period)
        if effective.status != "open":
            # An error here rolls back the change above.
            raise DaybookError(
                "STORE_031", period=period.identifier, status=effective.status, because_of=effective.because_of
            )
        return bool(stored_status != "open")

    def history(self, period: Period) -> tuple[StatusChange, ...]:
        """Every change of the period's own status, the first one first."""
        query = select(PERIOD_CHANGE).where(_is_period(PERIOD_CHANGE, period)).order_by(PERIOD_CHANGE.c.number)
        return tuple(to_record(StatusChange, PERIOD_CHANGE, row) for row in self._connection.execute(query))

    def _lock_row(self, period: Period, now: datetime.datetime) -> str:
        """The period's own status; its row is what two processes queue on that change one period at once."""
        values = to_row(PERIOD_STATUS, period, status="open", changed_at=now)
        insert_if_absent(self._connection, PERIOD_STATUS, values)
        query = select(PERIOD_STATUS.c.status).where(_is_period(PERIOD_STATUS, period)).with_for_update()
        return str(self._connection.execute(query).scalar_one())

    def _change(self, period: Period, change: StatusChange) -> None:
        own = _is_period(PERIOD_STATUS, period)
        # A calendar may have moved the period's dates since.
        values = to_row(PERIOD_STATUS, period, **to_row(PERIOD_STATUS, change))
        self._connection.execute(update(PERIOD_STATUS).where(own).values(values))
        count = select(func.count()).select_from(PERIOD_CHANGE).where(_is_period(PERIOD_CHANGE, period))
        number = self._connection.execute(count).scalar_one() + 1
        key = {"calendar_id": period.calendar_id, "identifier": period.identifier, "number": number}
        self._connection.execute(insert(PERIOD_CHANGE).values(to_row(PERIOD_CHANGE, change, **key)))


def _is_period(table: Table, period: Period) -> ColumnElement[bool]:
    return (table.c.calendar_id == period.calendar_id) & (table.c.identifier == period.identifier)
