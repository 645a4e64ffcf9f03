"""The manifests of inputs that are landed in tables of a catalog."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "landed_input",
        sa.Column("folder", sa.String(length=255), nullable=False),
        sa.Column("manifest", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("folder", name=op.f("pk_landed_input")),
    )
