"""Where the workspace of an embedded store lies, and what lies below it relative to it."""

import sqlalchemy as sa
from alembic import context, op

revision = "0006"
down_revision = "0005"

# Table, columns of its key, columns with one location, columns with JSON texts.
LOCATED = (
    ("slice", ("destination", "period"), ("destination",), ()),
    ("dropped_slice", ("destination", "period", "number"), ("destination",), ()),
    ("definition_version", ("kind", "id", "version"), ("pin_uri",), ()),
    ("output_commit", ("run_id", "operation_seq"), ("destination",), ("details",)),
    ("run_operation", ("run_id", "operation_seq"), (), ("details",)),
    ("run_snapshot", ("run_id",), (), ("body",)),
)
# Their rows are never changed otherwise.
TRIGGERS = {
    "definition_version": "definition_version_is_immutable",
    "output_commit": "output_commit_is_immutable",
    "run_snapshot": "run_snapshot_is_immutable",
    "dropped_slice": "dropped_slice_refuses_update",
}


def upgrade() -> None:
    op.create_table("workspace_root", sa.Column("root", sa.Text(), nullable=False))
    root = context.config.attributes.get("root")
    if root is None:
        return
    connection = op.get_bind()
    for table, key, locations, documents in LOCATED:
        if table in TRIGGERS:
            op.execute(f"DROP TRIGGER {TRIGGERS[table]}")
        names = dict.fromkeys((*key, *locations, *documents))
        for row in connection.execute(sa.text(f"SELECT {', '.join(names)} FROM {table}")).mappings().all():
            values = {name: root.shorten(row[name]) for name in locations if row[name] is not None}
            values |= {name: root.shorten_texts(row[name]) for name in documents if row[name] is not None}
            changed = {f"new_{name}": value for name, value in values.items() if value != row[name]}
            if changed:
                given = ", ".join(f"{name[4:]} = :{name}" for name in changed)
                where = " AND ".join(f"{name} = :{name}" for name in key)
                # Two spellings of one location become one row.
                update = sa.text(f"UPDATE OR REPLACE {table} SET {given} WHERE {where}")
                connection.execute(update, {**{name: row[name] for name in key}, **changed})
        if table in TRIGGERS:
            action = f"BEGIN SELECT RAISE(ABORT, '{table} is immutable'); END"
            op.execute(f"CREATE TRIGGER {TRIGGERS[table]} BEFORE UPDATE ON {table} {action}")
    connection.execute(sa.text("INSERT INTO workspace_root (root) VALUES (:root)"), {"root": root.real})
