"""Slices: who wrote what a table holds for a period."""

import datetime

from sqlalchemy import Connection, delete, select, update

from daybook.errors import DaybookError
from daybook.store.records import Slice
from daybook.store.tables import SLICE
from daybook.store.upsert import insert_if_absent


class Slices:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def owner(self, destination: str, period: str) -> Slice | None:
        return self._find(destination, period)

    def take(
        self,
        destination: str,
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
            "destination": destination,
            "period": period,
            "project_id": project_id,
            "operation_id": operation_id,
            "run_id": run_id,
            "rows": rows,
            "written_at": now,
        }
        if insert_if_absent(self._connection, SLICE, values):
            return
        known = self._find(destination, period, is_locked=True)
        if known is not None and known.project_id not in (project_id, instead_of):
            raise belongs_to_another(known)
        here = (SLICE.c.destination == destination) & (SLICE.c.period == period)
        self._connection.execute(update(SLICE).where(here).values(values))

    def of(self, destination: str) -> tuple[Slice, ...]:
        query = select(SLICE).where(SLICE.c.destination == destination).order_by(SLICE.c.period)
        return tuple(
            Slice(row.destination, row.period, row.project_id, row.operation_id, row.run_id, row.rows)
            for row in self._connection.execute(query)
        )

    def forget(self, destination: str) -> None:
        """After a table was replaced as a whole, nobody's slice is left in it."""
        self._connection.execute(delete(SLICE).where(SLICE.c.destination == destination))

    def _find(self, destination: str, period: str, *, is_locked: bool = False) -> Slice | None:
        query = select(SLICE).where(SLICE.c.destination == destination, SLICE.c.period == period)
        row = self._connection.execute(query.with_for_update() if is_locked else query).first()
        if row is None:
            return None
        return Slice(row.destination, row.period, row.project_id, row.operation_id, row.run_id, row.rows)


def belongs_to_another(known: Slice) -> DaybookError:
    owner = f"operation {known.operation_id} of project {known.project_id}"
    return DaybookError("STORE_016", destination=known.destination, period=known.period, owner=owner)
