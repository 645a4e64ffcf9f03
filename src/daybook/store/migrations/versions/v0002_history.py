"""Changes of periods and dropped slices, each kept permanently with who, when and why."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

# Text that sorts by time on SQLite, which has no time type.
TIMESTAMP = sa.DateTime(timezone=True).with_variant(sa.String(32), "sqlite")

IMMUTABLE = ("period_change", "dropped_slice")


def upgrade() -> None:
    op.create_table(
        "period_change",
        sa.Column("calendar_id", sa.String(length=128), nullable=False),
        sa.Column("identifier", sa.String(length=128), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("changed_at", TIMESTAMP, nullable=False),
        sa.Column("changed_by", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("calendar_id", "identifier", "number", name=op.f("pk_period_change")),
    )
    op.create_table(
        "dropped_slice",
        sa.Column("destination", sa.Text(), nullable=False),
        sa.Column("period", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.String(length=128), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=True),
        sa.Column("dropped_at", TIMESTAMP, nullable=False),
        sa.Column("dropped_by", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("destination", "period", "number", name=op.f("pk_dropped_slice")),
    )
    # The last change is all that was kept until now.
    op.execute(
        "INSERT INTO period_change (calendar_id, identifier, number, status, changed_at, changed_by) "
        "SELECT calendar_id, identifier, 1, status, changed_at, changed_by FROM period_status WHERE status <> 'open'"
    )
    for table in IMMUTABLE:
        for event in ("UPDATE", "DELETE"):
            _refuse(event, table)


def _refuse(event: str, table: str) -> None:
    name = f"{table}_refuses_{event.lower()}"
    if op.get_context().dialect.name == "sqlite":
        action = f"BEGIN SELECT RAISE(ABORT, '{table} is immutable'); END"
    else:
        action = "FOR EACH ROW EXECUTE FUNCTION refuse_update()"
    op.execute(f"CREATE TRIGGER {name} BEFORE {event} ON {table} {action}")
