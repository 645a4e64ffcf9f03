"""The tables of the store, the same on SQLite and PostgreSQL.

A column whose record calls it otherwise has that name as its `key`, so that rows and records are converted by the
names of the fields alone.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    text,
)

from daybook.store.database.value_types import JsonText, TableVersionText, UtcTimestamp
from daybook.store.database.workspace_root import IdentityText, LocatedDocument, LocatedJson, LocationText

# The migration that gives these tables.
SCHEMA = "0011"
METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
    }
)
# One row per definition: what is current. `body` is the latest text with its present names and descriptions,
# which may change without a version.
DEFINITION = Table(
    "definition",
    METADATA,
    Column("kind", String(16), nullable=False),
    Column("id", String(128), nullable=False),
    Column("name", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("text_digest", String(64), nullable=False),
    Column("structure_digest", String(64), nullable=False),
    Column("latest_version", Integer, nullable=False),
    Column("status", String(16), nullable=False),
    # The workspace whose file defines it; NULL for what an output registered.
    Column("workspace", Text),
    # Resolvers: takes part when nothing else says where data is.
    Column("is_default", Boolean, nullable=False, server_default=text("false")),
    Column("updated_at", UtcTimestamp, nullable=False),
    PrimaryKeyConstraint("kind", "id"),
)
DEFINITION_VERSION = Table(
    "definition_version",
    METADATA,
    Column("kind", String(16), nullable=False),
    Column("id", String(128), nullable=False),
    Column("version", Integer, nullable=False),
    Column("body", Text, nullable=False),
    Column("structure_digest", String(64), nullable=False),
    Column("created_at", UtcTimestamp, nullable=False),
    # Registered datasets: who wrote the data, and the data the version stays readable as.
    Column("project_id", String(128)),
    Column("run_id", String(64)),
    Column("operation_seq", Integer),
    Column("pin_uri", LocationText),
    Column("pin_version", TableVersionText),
    PrimaryKeyConstraint("kind", "id", "version"),
    ForeignKeyConstraint(["kind", "id"], ["definition.kind", "definition.id"]),
    Index("uq_definition_version_registration", "run_id", "operation_seq", unique=True),
)
# Kept apart from the version, which never changes: gc says so when the data of a registered version is gone.
EXPIRED_DATA = Table(
    "expired_data",
    METADATA,
    Column("dataset_id", String(128), nullable=False),
    Column("version", Integer, nullable=False),
    Column("expired_at", UtcTimestamp, nullable=False),
    PrimaryKeyConstraint("dataset_id", "version"),
)
PROJECT_STATE = Table(
    "project_state",
    METADATA,
    Column("project_id", String(128), nullable=False),
    Column("status", String(16), nullable=False),
    Column("active_version", Integer),
    Column("conflict", JsonText),
    Column("warnings", JsonText),
    Column("updated_at", UtcTimestamp, nullable=False),
    PrimaryKeyConstraint("project_id"),
    Index("ix_project_state_status", "status"),
)
# What an activation was validated against: one row per dataset that a version of a project reads.
PROJECT_INPUT = Table(
    "project_input",
    METADATA,
    Column("project_id", String(128), nullable=False),
    Column("project_version", Integer, nullable=False),
    Column("dataset_id", String(128), nullable=False),
    Column("dataset_version", Integer, nullable=False, key="version"),
    # Pinned: read in exactly this version. Otherwise the version validated against; the latest is read.
    Column("is_pinned", Boolean, nullable=False),
    PrimaryKeyConstraint("project_id", "project_version", "dataset_id", "version", "is_pinned"),
    Index("ix_project_input_dataset_id", "dataset_id"),
)
COLUMN_USE = Table(
    "column_use",
    METADATA,
    Column("project_id", String(128), nullable=False),
    Column("project_version", Integer, nullable=False),
    Column("operation_seq", Integer, nullable=False),
    Column("dataset_id", String(128), nullable=False),
    Column("column_name", Text, nullable=False, key="column"),
    # Whether any reference it is used through follows the latest version.
    Column("is_pinned", Boolean, nullable=False),
    PrimaryKeyConstraint("project_id", "project_version", "operation_seq", "dataset_id", "column", "is_pinned"),
    Index("ix_column_use_dataset_id", "dataset_id"),
)
RUN = Table(
    "run",
    METADATA,
    Column("id", String(64), nullable=False),
    Column("project_id", String(128), nullable=False),
    Column("project_version", Integer, nullable=False),
    Column("calendar_id", String(128), nullable=False),
    Column("period", Text, nullable=False),
    Column("as_of", Date),
    Column("status", String(16), nullable=False),
    Column("is_draft", Boolean, nullable=False),
    Column("is_sandboxed", Boolean, nullable=False),
    Column("user_name", Text, key="user"),
    Column("created_at", UtcTimestamp, nullable=False),
    Column("started_at", UtcTimestamp),
    Column("finished_at", UtcTimestamp),
    Column("attempt", Integer, nullable=False),
    Column("last_completed_operation", Integer),
    Column("error", JsonText),
    Column("cancel_requested_at", UtcTimestamp),
    # The lease: which process holds the run until when. The token only grows per project and period.
    Column("token", BigInteger, nullable=False),
    Column("lease_expires_at", UtcTimestamp),
    Column("host_name", Text, nullable=False),
    Column("host_id", Text, nullable=False),
    Column("pid", BigInteger, nullable=False),
    Column("process_started", Text, nullable=False),
    PrimaryKeyConstraint("id"),
    Index("ix_run_created_at_id", "created_at", "id"),
    Index("ix_run_project_id_created_at_id", "project_id", "created_at", "id"),
    Index("ix_run_status_created_at_id", "status", "created_at", "id"),
    Index("ix_run_period_created_at_id", "period", "created_at", "id"),
    Index("ix_run_project_id_period_created_at_id", "project_id", "period", "created_at", "id"),
    Index(
        "uq_run_active",
        "project_id",
        "period",
        unique=True,
        # The migration says the same for PostgreSQL; saying it here would import that dialect into every command.
        sqlite_where=text("status IN ('queued', 'running')"),
    ),
)
# Separate from the run, so that listing runs does not read their texts.
RUN_SNAPSHOT = Table(
    "run_snapshot",
    METADATA,
    Column("run_id", String(64), nullable=False),
    Column("body", LocatedDocument, nullable=False),
    PrimaryKeyConstraint("run_id"),
    ForeignKeyConstraint(["run_id"], ["run.id"], ondelete="CASCADE"),
)
RUN_OPERATION = Table(
    "run_operation",
    METADATA,
    Column("run_id", String(64), nullable=False),
    Column("operation_seq", Integer, nullable=False, key="seq"),
    Column("operation_id", String(128), nullable=False),
    Column("type", String(16), nullable=False),
    Column("rows_picked", BigInteger),
    Column("rows_added", BigInteger),
    Column("rows_deleted", BigInteger),
    Column("rows_written", BigInteger),
    Column("duration_ms", BigInteger),
    Column("details", LocatedJson, nullable=False),
    PrimaryKeyConstraint("run_id", "seq"),
    ForeignKeyConstraint(["run_id"], ["run.id"], ondelete="CASCADE"),
)
OUTPUT_COMMIT = Table(
    "output_commit",
    METADATA,
    Column("run_id", String(64), nullable=False),
    Column("operation_seq", Integer, nullable=False),
    Column("operation_id", String(128), nullable=False),
    Column("destination", LocationText, nullable=False),
    Column("mode", String(16), nullable=False),
    Column("table_version", TableVersionText),
    Column("rows", BigInteger),
    Column("fingerprint", Text),
    Column("details", LocatedJson, nullable=False),
    Column("token", BigInteger, nullable=False),
    Column("committed_at", UtcTimestamp, nullable=False),
    PrimaryKeyConstraint("run_id", "operation_seq"),
    ForeignKeyConstraint(["run_id"], ["run.id"], ondelete="CASCADE"),
)
# The last fencing token given out per project and period; its row is also what starters queue on.
FENCE = Table(
    "fence",
    METADATA,
    Column("project_id", String(128), nullable=False),
    Column("period", Text, nullable=False),
    Column("token", BigInteger, nullable=False),
    PrimaryKeyConstraint("project_id", "period"),
)
SLICE = Table(
    "slice",
    METADATA,
    Column("destination", IdentityText, nullable=False),
    Column("period", Text, nullable=False),
    Column("project_id", String(128), nullable=False),
    Column("operation_id", String(128), nullable=False),
    Column("run_id", String(64), nullable=False),
    Column("rows", BigInteger),
    Column("written_at", UtcTimestamp, nullable=False),
    PrimaryKeyConstraint("destination", "period"),
    Index("ix_slice_run_id", "run_id"),
)
PERIOD_STATUS = Table(
    "period_status",
    METADATA,
    Column("calendar_id", String(128), nullable=False),
    Column("identifier", String(128), nullable=False),
    Column("level", Text, nullable=False),
    Column("start_date", Date, nullable=False),
    Column("end_date", Date, nullable=False),
    Column("status", String(16), nullable=False),
    Column("changed_at", UtcTimestamp, nullable=False),
    Column("changed_by", Text),
    PrimaryKeyConstraint("calendar_id", "identifier"),
)
# Rows here are permanent: the database refuses to change or delete them.
PERIOD_CHANGE = Table(
    "period_change",
    METADATA,
    Column("calendar_id", String(128), nullable=False),
    Column("identifier", String(128), nullable=False),
    Column("number", Integer, nullable=False),
    Column("status", String(16), nullable=False),
    Column("changed_at", UtcTimestamp, nullable=False),
    Column("changed_by", Text),
    Column("reason", Text),
    PrimaryKeyConstraint("calendar_id", "identifier", "number"),
)
ACTION = Table(
    "action",
    METADATA,
    Column("id", String(64), nullable=False),
    Column("done_at", UtcTimestamp, nullable=False),
    Column("done_by", Text, nullable=False),
    Column("name", String(32), nullable=False),
    Column("subject", Text, nullable=False),
    Column("details", JsonText, nullable=False),
    PrimaryKeyConstraint("id"),
    Index("ix_action_done_at_id", "done_at", "id"),
)
DROPPED_SLICE = Table(
    "dropped_slice",
    METADATA,
    Column("destination", IdentityText, nullable=False),
    Column("period", Text, nullable=False),
    Column("number", Integer, nullable=False),
    Column("project_id", String(128), nullable=False),
    Column("run_id", String(64), nullable=False),
    Column("rows", BigInteger),
    Column("dropped_at", UtcTimestamp, nullable=False),
    Column("dropped_by", Text),
    Column("reason", Text),
    PrimaryKeyConstraint("destination", "period", "number"),
)
# Where the workspace of an embedded store was when this was last recorded; no row where locations stay absolute.
WORKSPACE_ROOT = Table("workspace_root", METADATA, Column("root", Text, nullable=False))
# By which commits beside tables name the workspace; `root` is the folder of a copy, `kind` own, taken or copied.
WORKSPACE_IDENTITY = Table(
    "workspace_identity",
    METADATA,
    Column("number", Integer, nullable=False),
    Column("id", Text, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("root", Text),
    PrimaryKeyConstraint("number"),
)
# The manifests of inputs that are landed in tables of a catalog.
LANDED_INPUT = Table(
    "landed_input",
    METADATA,
    Column("folder", String(255), nullable=False),
    Column("manifest", Text, nullable=False),
    PrimaryKeyConstraint("folder"),
)
# One line for each act, as canonical JSON that holds the digest of the line before it.
LOG_LINE = Table(
    "log_line",
    METADATA,
    Column("number", BigInteger, nullable=False, autoincrement=False),
    Column("line", Text, nullable=False),
    PrimaryKeyConstraint("number"),
)
# One row: the number and the digest of the last line. Writers of the log lock it.
LOG_HEAD = Table(
    "log_head",
    METADATA,
    Column("number", BigInteger, nullable=False),
    Column("digest", String(64), nullable=False),
)
# Rows here are permanent: a certificate is known by the SHA-256 of its payload.
SEAL = Table(
    "seal",
    METADATA,
    Column("payload", String(64), nullable=False),
    Column("calendar_id", String(128), nullable=False),
    Column("identifier", String(128), nullable=False),
    Column("level", Text, nullable=False),
    Column("start_date", Date, nullable=False),
    Column("end_date", Date, nullable=False),
    Column("number", Integer, nullable=False),
    Column("sealed_at", UtcTimestamp, nullable=False),
    Column("sealed_by", Text, nullable=False),
    Column("key_id", String(64), nullable=False),
    Column("certificate", Text, nullable=False),
    PrimaryKeyConstraint("payload"),
    Index("uq_seal_period", "calendar_id", "identifier", "number", unique=True),
)
# The runs of a sealed period are kept, with what they read and wrote.
SEALED_RUN = Table(
    "sealed_run",
    METADATA,
    Column("payload", String(64), nullable=False),
    Column("run_id", String(64), nullable=False),
    PrimaryKeyConstraint("payload", "run_id"),
    ForeignKeyConstraint(["payload"], ["seal.payload"]),
    ForeignKeyConstraint(["run_id"], ["run.id"]),
)
PERSON = Table(
    "person",
    METADATA,
    Column("name", String(128), nullable=False),
    Column("roles", JsonText, nullable=False),
    # The account of the operating system that is this person, on an embedded store.
    Column("account", BigInteger),
    Column("token_id", String(32)),
    Column("token_hash", Text),
    Column("token_at", UtcTimestamp),
    Column("added_at", UtcTimestamp, nullable=False),
    Column("removed_at", UtcTimestamp),
    PrimaryKeyConstraint("name"),
    Index("uq_person_token_id", "token_id", unique=True),
    Index("uq_person_account", "account", unique=True),
)
# The last one is in force.
POLICY = Table(
    "policy",
    METADATA,
    Column("number", Integer, nullable=False),
    Column("body", Text, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("adopted_at", UtcTimestamp, nullable=False),
    Column("adopted_by", Text, nullable=False),
    PrimaryKeyConstraint("number"),
)
# `digest` binds what is to happen to what it was asked for on; a released one is claimed by the process that does it.
REQUEST = Table(
    "request",
    METADATA,
    Column("number", Integer, nullable=False),
    Column("act", String(32), nullable=False),
    Column("subject", Text, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("payload", JsonText, nullable=False),
    Column("changes", JsonText, nullable=False),
    Column("reason", Text),
    Column("requested_by", String(128), nullable=False),
    Column("requested_at", UtcTimestamp, nullable=False),
    Column("status", String(16), nullable=False),
    Column("ended_at", UtcTimestamp),
    Column("ended_by", Text),
    Column("ended_reason", Text),
    Column("claimed_until", UtcTimestamp),
    Column("host_name", Text),
    Column("host_id", Text),
    Column("pid", Integer),
    Column("process_started", Text),
    PrimaryKeyConstraint("number"),
    Index("ix_request_status", "status"),
)
DECISION = Table(
    "decision",
    METADATA,
    Column("number", Integer, nullable=False),
    Column("person", String(128), nullable=False),
    Column("verdict", String(16), nullable=False),
    Column("reason", Text),
    Column("decided_at", UtcTimestamp, nullable=False),
    PrimaryKeyConstraint("number", "person"),
)
