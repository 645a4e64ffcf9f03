"""Actions of users on the page, kept permanently with who and when."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

# Text that sorts by time on SQLite, which has no time type.
TIMESTAMP = sa.DateTime(timezone=True).with_variant(sa.String(32), "sqlite")


def upgrade() -> None:
    op.create_table(
        "action",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("done_at", TIMESTAMP, nullable=False),
        sa.Column("done_by", sa.Text(), nullable=False),
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_action")),
    )
    op.create_index(op.f("ix_action_done_at_id"), "action", ["done_at", "id"])
    for event in ("UPDATE", "DELETE"):
        _refuse(event)


def _refuse(event: str) -> None:
    if op.get_context().dialect.name == "sqlite":
        action = "BEGIN SELECT RAISE(ABORT, 'action is immutable'); END"
    else:
        action = "FOR EACH ROW EXECUTE FUNCTION refuse_update()"
    op.execute(f"CREATE TRIGGER action_refuses_{event.lower()} BEFORE {event} ON action {action}")
