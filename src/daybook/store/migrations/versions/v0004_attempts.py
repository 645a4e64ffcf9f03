"""The start of a run's last attempt, which is not known of runs that were retried before."""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.execute("UPDATE run SET started_at = NULL WHERE attempt > 1")
