"""The certificates of sealed periods, and the runs that each of them covers."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

# Text that sorts by time on SQLite, which has no time type.
TIMESTAMP = sa.DateTime(timezone=True).with_variant(sa.String(32), "sqlite")


def upgrade() -> None:
    op.create_table(
        "seal",
        sa.Column("payload", sa.String(length=64), nullable=False),
        sa.Column("calendar_id", sa.String(length=128), nullable=False),
        sa.Column("identifier", sa.String(length=128), nullable=False),
        sa.Column("level", sa.Text(), nullable=False),
        sa.Column("start_date", sa.Date(), nullable=False),
        sa.Column("end_date", sa.Date(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("sealed_at", TIMESTAMP, nullable=False),
        sa.Column("sealed_by", sa.Text(), nullable=False),
        sa.Column("key_id", sa.String(length=64), nullable=False),
        sa.Column("certificate", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("payload", name=op.f("pk_seal")),
    )
    op.create_index(op.f("uq_seal_period"), "seal", ["calendar_id", "identifier", "number"], unique=True)
    op.create_table(
        "sealed_run",
        sa.Column("payload", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("payload", "run_id", name=op.f("pk_sealed_run")),
        sa.ForeignKeyConstraint(["payload"], ["seal.payload"], name=op.f("fk_sealed_run_seal")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_sealed_run_run")),
    )
    for table in ("seal", "sealed_run"):
        for event in ("UPDATE", "DELETE"):
            _refuse(table, event)


def _refuse(table: str, event: str) -> None:
    if op.get_context().dialect.name == "sqlite":
        action = f"BEGIN SELECT RAISE(ABORT, '{table} is immutable'); END"
    else:
        action = "FOR EACH ROW EXECUTE FUNCTION refuse_update()"
    op.execute(f"CREATE TRIGGER {table}_refuses_{event.lower()} BEFORE {event} ON {table} {action}")
