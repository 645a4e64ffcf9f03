"""Fencing tokens: numbers that only grow, per project and period."""

from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql, sqlite

from daybook.store.tables import FENCE


def next_token(connection: Connection, project_id: str, period: str) -> int:
    """The next token; whoever asks next waits until this transaction has ended."""
    values = {"project_id": project_id, "period": period, "token": 1}
    target = [FENCE.c.project_id, FENCE.c.period]
    grown = {"token": FENCE.c.token + 1}
    if connection.dialect.name == "postgresql":
        statement = postgresql.insert(FENCE).values(values).on_conflict_do_update(index_elements=target, set_=grown)
        return int(connection.execute(statement.returning(FENCE.c.token)).scalar_one())
    embedded = sqlite.insert(FENCE).values(values).on_conflict_do_update(index_elements=target, set_=grown)
    return int(connection.execute(embedded.returning(FENCE.c.token)).scalar_one())
