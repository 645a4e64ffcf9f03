"""Stores the certificates of sealed periods; they never change, and hold the runs they cover."""

from sqlalchemy import ColumnElement, Connection, func, insert, select

from daybook.model.calendar import Period
from daybook.model.definition import TableVersion
from daybook.store.database.row_records import to_record, to_row
from daybook.store.database.tables import OUTPUT_COMMIT, SEAL, SEALED_RUN
from daybook.store.records import Seal


class Seals:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def record(self, seal: Seal) -> None:
        here = _is_period(seal.calendar_id, seal.identifier)
        number = self._connection.execute(select(func.count()).select_from(SEAL).where(here)).scalar_one() + 1
        self._connection.execute(insert(SEAL).values(to_row(SEAL, seal, number=number)))
        rows = [{"payload": seal.payload, "run_id": run_id} for run_id in seal.runs]
        if rows:
            self._connection.execute(insert(SEALED_RUN), rows)

    def of(self, period: Period) -> tuple[Seal, ...]:
        """The certificates of a period, the one that counts last."""
        return self._where(_is_period(period.calendar_id, period.identifier))

    def of_run(self, run_id: str) -> tuple[Seal, ...]:
        """The certificates that cover a run."""
        covering = select(SEALED_RUN.c.payload).where(SEALED_RUN.c.run_id == run_id)
        return self._where(SEAL.c.payload.in_(covering))

    def all(self) -> tuple[Seal, ...]:
        return self._where(SEAL.c.payload.is_not(None))

    def held_versions(self) -> tuple[tuple[TableVersion, str], ...]:
        """The versions of tables that sealed runs wrote, each with the table's destination."""
        query = (
            select(OUTPUT_COMMIT.c.table_version, OUTPUT_COMMIT.c.destination)
            .join(SEALED_RUN, SEALED_RUN.c.run_id == OUTPUT_COMMIT.c.run_id)
            .where(OUTPUT_COMMIT.c.table_version.is_not(None))
        )
        return tuple({(row.table_version, row.destination) for row in self._connection.execute(query)})

    def _where(self, condition: ColumnElement[bool]) -> tuple[Seal, ...]:
        query = select(SEAL).where(condition).order_by(SEAL.c.start_date, SEAL.c.identifier, SEAL.c.number)
        rows = self._connection.execute(query).all()
        runs: dict[str, list[str]] = {row.payload: [] for row in rows}
        covered = select(SEALED_RUN).where(SEALED_RUN.c.payload.in_(runs)).order_by(SEALED_RUN.c.run_id)
        for row in self._connection.execute(covered):
            runs[row.payload].append(row.run_id)
        return tuple(to_record(Seal, SEAL, row, runs=tuple(runs[row.payload])) for row in rows)


def _is_period(calendar_id: str, identifier: str) -> ColumnElement[bool]:
    return (SEAL.c.calendar_id == calendar_id) & (SEAL.c.identifier == identifier)
