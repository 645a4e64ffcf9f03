"""Runs Alembic in the transaction that the store opened."""

from alembic import context

from daybook.store.database.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
with context.begin_transaction():
    context.run_migrations()
