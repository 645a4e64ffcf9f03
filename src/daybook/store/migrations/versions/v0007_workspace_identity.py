"""What a workspace is known by beside the tables it writes, whatever its name and folder."""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    table = op.create_table(
        "workspace_identity",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("root", sa.Text()),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_workspace_identity")),
    )
    op.bulk_insert(table, [{"number": 1, "id": secrets.token_hex(16), "kind": "own", "root": None}])
