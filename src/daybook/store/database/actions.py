"""What people did on the page: who, when and what, never changed."""

import secrets

from sqlalchemy import Connection, insert, select

from daybook.store.database.tables import ACTION, to_record, to_row
from daybook.store.records import Action


class Actions:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def record(self, action: Action) -> None:
        self._connection.execute(insert(ACTION).values(to_row(ACTION, action, id=secrets.token_hex(16))))

    def latest(self, limit: int) -> tuple[Action, ...]:
        """Newest first."""
        query = select(ACTION).order_by(ACTION.c.done_at.desc(), ACTION.c.id.desc()).limit(limit)
        return tuple(to_record(Action, ACTION, row) for row in self._connection.execute(query))
