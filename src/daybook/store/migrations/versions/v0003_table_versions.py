"""Versions of tables as `format:token`, so that the store knows no format."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

# Table, its column for Delta versions, its column for versions of any format.
COLUMNS = (
    ("definition_version", "pin_delta_version", "pin_version"),
    ("output_commit", "delta_version", "table_version"),
)


def upgrade() -> None:
    for table, old, new in COLUMNS:
        op.add_column(table, sa.Column(new, sa.Text(), nullable=True))
        _drop_trigger(table)
        op.execute(f"UPDATE {table} SET {new} = 'delta:' || {old} WHERE {old} IS NOT NULL")
        _create_trigger(table)
        op.drop_column(table, old)


def _drop_trigger(table: str) -> None:
    on_table = "" if op.get_context().dialect.name == "sqlite" else f" ON {table}"
    op.execute(f"DROP TRIGGER {table}_is_immutable{on_table}")


def _create_trigger(table: str) -> None:
    if op.get_context().dialect.name == "sqlite":
        action = f"BEGIN SELECT RAISE(ABORT, '{table} is immutable'); END"
    else:
        action = "FOR EACH ROW EXECUTE FUNCTION refuse_update()"
    op.execute(f"CREATE TRIGGER {table}_is_immutable BEFORE UPDATE ON {table} {action}")
