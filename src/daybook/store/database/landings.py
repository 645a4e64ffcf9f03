"""Stores what is landed in tables of a catalog: a manifest for each landing."""

from sqlalchemy import Connection, delete, insert, select

from daybook.store.database.tables import LANDED_INPUT


class Landings:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, folder: str) -> str | None:
        query = select(LANDED_INPUT.c.manifest).where(LANDED_INPUT.c.folder == folder)
        manifest: str | None = self._connection.execute(query).scalar_one_or_none()
        return manifest

    def publish(self, folder: str, manifest: str, *, instead_of: str | None = None) -> bool:
        """Store a manifest in place of the one that was there; False where that is another one by now."""
        if self.find(folder) != instead_of:
            return False
        self.forget(folder)
        self._connection.execute(insert(LANDED_INPUT).values(folder=folder, manifest=manifest))
        return True

    def folders(self) -> tuple[str, ...]:
        return tuple(self._connection.execute(select(LANDED_INPUT.c.folder).order_by(LANDED_INPUT.c.folder)).scalars())

    def forget(self, folder: str) -> None:
        self._connection.execute(delete(LANDED_INPUT).where(LANDED_INPUT.c.folder == folder))
