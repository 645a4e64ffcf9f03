"""The first schema of the store."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

# Text that sorts by time on SQLite, which has no time type.
TIMESTAMP = sa.DateTime(timezone=True).with_variant(sa.String(32), "sqlite")

# What must never change once it is written, by any program.
IMMUTABLE = ("definition_version", "run_snapshot", "output_commit")


def upgrade() -> None:
    op.create_table(
        "column_use",
        sa.Column("project_id", sa.String(length=128), nullable=False),
        sa.Column("project_version", sa.Integer(), nullable=False),
        sa.Column("operation_seq", sa.Integer(), nullable=False),
        sa.Column("dataset_id", sa.String(length=128), nullable=False),
        sa.Column("column_name", sa.Text(), nullable=False),
        sa.Column("is_pinned", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint(
            "project_id",
            "project_version",
            "operation_seq",
            "dataset_id",
            "column_name",
            "is_pinned",
            name=op.f("pk_column_use"),
        ),
    )
    op.create_index("ix_column_use_dataset_id", "column_use", ["dataset_id"], unique=False)
    op.create_table(
        "definition",
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("id", sa.String(length=128), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("text_digest", sa.String(length=64), nullable=False),
        sa.Column("structure_digest", sa.String(length=64), nullable=False),
        sa.Column("latest_version", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("workspace", sa.Text(), nullable=True),
        sa.Column("is_default", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("updated_at", TIMESTAMP, nullable=False),
        sa.PrimaryKeyConstraint("kind", "id", name=op.f("pk_definition")),
    )
    op.create_table(
        "expired_data",
        sa.Column("dataset_id", sa.String(length=128), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("expired_at", TIMESTAMP, nullable=False),
        sa.PrimaryKeyConstraint("dataset_id", "version", name=op.f("pk_expired_data")),
    )
    op.create_table(
        "fence",
        sa.Column("project_id", sa.String(length=128), nullable=False),
        sa.Column("period", sa.Text(), nullable=False),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "period", name=op.f("pk_fence")),
    )
    op.create_table(
        "period_status",
        sa.Column("calendar_id", sa.String(length=128), nullable=False),
        sa.Column("identifier", sa.String(length=128), nullable=False),
        sa.Column("level", sa.Text(), nullable=False),
        sa.Column("start_date", sa.Date(), nullable=False),
        sa.Column("end_date", sa.Date(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("changed_at", TIMESTAMP, nullable=False),
        sa.Column("changed_by", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("calendar_id", "identifier", name=op.f("pk_period_status")),
    )
    op.create_table(
        "project_input",
        sa.Column("project_id", sa.String(length=128), nullable=False),
        sa.Column("project_version", sa.Integer(), nullable=False),
        sa.Column("dataset_id", sa.String(length=128), nullable=False),
        sa.Column("dataset_version", sa.Integer(), nullable=False),
        sa.Column("is_pinned", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint(
            "project_id", "project_version", "dataset_id", "dataset_version", "is_pinned", name=op.f("pk_project_input")
        ),
    )
    op.create_index("ix_project_input_dataset_id", "project_input", ["dataset_id"], unique=False)
    op.create_table(
        "project_state",
        sa.Column("project_id", sa.String(length=128), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("active_version", sa.Integer(), nullable=True),
        sa.Column("conflict", sa.Text(), nullable=True),
        sa.Column("warnings", sa.Text(), nullable=True),
        sa.Column("updated_at", TIMESTAMP, nullable=False),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_project_state")),
    )
    op.create_index("ix_project_state_status", "project_state", ["status"], unique=False)
    op.create_table(
        "run",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("project_id", sa.String(length=128), nullable=False),
        sa.Column("project_version", sa.Integer(), nullable=False),
        sa.Column("calendar_id", sa.String(length=128), nullable=False),
        sa.Column("period", sa.Text(), nullable=False),
        sa.Column("as_of", sa.Date(), nullable=True),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("is_draft", sa.Boolean(), nullable=False),
        sa.Column("is_sandboxed", sa.Boolean(), nullable=False),
        sa.Column("user_name", sa.Text(), nullable=True),
        sa.Column("created_at", TIMESTAMP, nullable=False),
        sa.Column("started_at", TIMESTAMP, nullable=True),
        sa.Column("finished_at", TIMESTAMP, nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("last_completed_operation", sa.Integer(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("cancel_requested_at", TIMESTAMP, nullable=True),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.Column("lease_expires_at", TIMESTAMP, nullable=True),
        sa.Column("host_name", sa.Text(), nullable=False),
        sa.Column("host_id", sa.Text(), nullable=False),
        sa.Column("pid", sa.BigInteger(), nullable=False),
        sa.Column("process_started", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
    )
    op.create_index("ix_run_created_at_id", "run", ["created_at", "id"], unique=False)
    op.create_index("ix_run_project_id_created_at_id", "run", ["project_id", "created_at", "id"], unique=False)
    op.create_index("ix_run_period_created_at_id", "run", ["period", "created_at", "id"], unique=False)
    op.create_index(
        "ix_run_project_id_period_created_at_id", "run", ["project_id", "period", "created_at", "id"], unique=False
    )
    op.create_index("ix_run_status_created_at_id", "run", ["status", "created_at", "id"], unique=False)
    op.create_index(
        "uq_run_active",
        "run",
        ["project_id", "period"],
        unique=True,
        sqlite_where=sa.text("status IN ('queued', 'running')"),
        postgresql_where=sa.text("status IN ('queued', 'running')"),
    )
    op.create_table(
        "slice",
        sa.Column("destination", sa.Text(), nullable=False),
        sa.Column("period", sa.Text(), nullable=False),
        sa.Column("project_id", sa.String(length=128), nullable=False),
        sa.Column("operation_id", sa.String(length=128), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=True),
        sa.Column("written_at", TIMESTAMP, nullable=False),
        sa.PrimaryKeyConstraint("destination", "period", name=op.f("pk_slice")),
    )
    op.create_index("ix_slice_run_id", "slice", ["run_id"], unique=False)
    op.create_table(
        "definition_version",
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("id", sa.String(length=128), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("structure_digest", sa.String(length=64), nullable=False),
        sa.Column("created_at", TIMESTAMP, nullable=False),
        sa.Column("project_id", sa.String(length=128), nullable=True),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("operation_seq", sa.Integer(), nullable=True),
        sa.Column("pin_uri", sa.Text(), nullable=True),
        sa.Column("pin_delta_version", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["kind", "id"], ["definition.kind", "definition.id"], name=op.f("fk_definition_version_definition")
        ),
        sa.PrimaryKeyConstraint("kind", "id", "version", name=op.f("pk_definition_version")),
    )
    op.create_index(
        "uq_definition_version_registration", "definition_version", ["run_id", "operation_seq"], unique=True
    )
    op.create_table(
        "output_commit",
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("operation_seq", sa.Integer(), nullable=False),
        sa.Column("operation_id", sa.String(length=128), nullable=False),
        sa.Column("destination", sa.Text(), nullable=False),
        sa.Column("mode", sa.String(length=16), nullable=False),
        sa.Column("delta_version", sa.BigInteger(), nullable=True),
        sa.Column("rows", sa.BigInteger(), nullable=True),
        sa.Column("fingerprint", sa.Text(), nullable=True),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.Column("committed_at", TIMESTAMP, nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_output_commit_run"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "operation_seq", name=op.f("pk_output_commit")),
    )
    op.create_table(
        "run_operation",
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("operation_seq", sa.Integer(), nullable=False),
        sa.Column("operation_id", sa.String(length=128), nullable=False),
        sa.Column("type", sa.String(length=16), nullable=False),
        sa.Column("rows_picked", sa.BigInteger(), nullable=True),
        sa.Column("rows_added", sa.BigInteger(), nullable=True),
        sa.Column("rows_deleted", sa.BigInteger(), nullable=True),
        sa.Column("rows_written", sa.BigInteger(), nullable=True),
        sa.Column("duration_ms", sa.BigInteger(), nullable=True),
        sa.Column("details", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_run_operation_run"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "operation_seq", name=op.f("pk_run_operation")),
    )
    op.create_table(
        "run_snapshot",
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_run_snapshot_run"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_run_snapshot")),
    )

    _refuse_updates()


def _refuse_updates() -> None:
    if op.get_context().dialect.name == "sqlite":
        for table in IMMUTABLE:
            op.execute(
                f"CREATE TRIGGER {table}_is_immutable BEFORE UPDATE ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{table} is immutable'); END"
            )
        return
    op.execute(
        "CREATE FUNCTION refuse_update() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION '% is immutable', TG_TABLE_NAME; END $$"
    )
    for table in IMMUTABLE:
        op.execute(
            f"CREATE TRIGGER {table}_is_immutable BEFORE UPDATE ON {table} "
            "FOR EACH ROW EXECUTE FUNCTION refuse_update()"
        )
