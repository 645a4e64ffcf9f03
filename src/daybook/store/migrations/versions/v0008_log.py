"""The log of acts; that of an existing store begins with what it holds, since what was done before has no lines."""

import sqlalchemy as sa
from alembic import op

from daybook.store.database.connection import read_clock
from daybook.store.database.log import NO_LINE, write_line
from daybook.store.process import current_user
from daybook.store.records import Actor, LogHead

revision = "0008"
down_revision = "0007"

COUNTED = ("run", "period_change", "action", "dropped_slice")


def upgrade() -> None:
    lines = op.create_table(
        "log_line",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("line", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_log_line")),
    )
    heads = op.create_table(
        "log_head",
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
    )
    for event in ("UPDATE", "DELETE"):
        _refuse(event)
    connection = op.get_bind()
    own = sa.text("SELECT id FROM workspace_identity WHERE kind = 'own'")
    workspace: str = connection.execute(own).scalar_one()
    rows = {table: connection.execute(sa.text(f"SELECT count(*) FROM {table}")).scalar_one() for table in COUNTED}
    line, head = write_line(
        LogHead(0, NO_LINE),
        read_clock(connection),
        Actor(current_user()),
        "begin",
        workspace,
        {"rows": rows, "schema": revision},
    )
    op.bulk_insert(lines, [{"number": head.number, "line": line}])
    op.bulk_insert(heads, [{"number": head.number, "digest": head.digest}])


def _refuse(event: str) -> None:
    if op.get_context().dialect.name == "sqlite":
        action = "BEGIN SELECT RAISE(ABORT, 'log_line is immutable'); END"
    else:
        action = "FOR EACH ROW EXECUTE FUNCTION refuse_update()"
    op.execute(f"CREATE TRIGGER log_line_refuses_{event.lower()} BEFORE {event} ON log_line {action}")
