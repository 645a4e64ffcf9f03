"""People, the policy in force, requests for acts that need approval, and what was decided about them."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

# Text that sorts by time on SQLite, which has no time type.
TIMESTAMP = sa.DateTime(timezone=True).with_variant(sa.String(32), "sqlite")

IMMUTABLE = ("policy", "decision")


def upgrade() -> None:
    op.create_table(
        "person",
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("roles", sa.Text(), nullable=False),
        sa.Column("account", sa.BigInteger()),
        sa.Column("token_id", sa.String(length=32)),
        sa.Column("token_hash", sa.Text()),
        sa.Column("token_at", TIMESTAMP),
        sa.Column("added_at", TIMESTAMP, nullable=False),
        sa.Column("removed_at", TIMESTAMP),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_person")),
    )
    op.create_index("uq_person_token_id", "person", ["token_id"], unique=True)
    op.create_index("uq_person_account", "person", ["account"], unique=True)
    op.create_table(
        "policy",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("adopted_at", TIMESTAMP, nullable=False),
        sa.Column("adopted_by", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_policy")),
    )
    op.create_table(
        "request",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("act", sa.String(length=32), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("changes", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("requested_by", sa.String(length=128), nullable=False),
        sa.Column("requested_at", TIMESTAMP, nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("ended_at", TIMESTAMP),
        sa.Column("ended_by", sa.Text()),
        sa.Column("ended_reason", sa.Text()),
        sa.Column("claimed_until", TIMESTAMP),
        sa.Column("host_name", sa.Text()),
        sa.Column("host_id", sa.Text()),
        sa.Column("pid", sa.Integer()),
        sa.Column("process_started", sa.Text()),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_request")),
    )
    op.create_index("ix_request_status", "request", ["status"])
    op.create_table(
        "decision",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("person", sa.String(length=128), nullable=False),
        sa.Column("verdict", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("decided_at", TIMESTAMP, nullable=False),
        sa.PrimaryKeyConstraint("number", "person", name=op.f("pk_decision")),
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
