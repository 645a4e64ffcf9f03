"""Whether newer numbers stand where an older run would write."""

from sqlalchemy import Connection, select

from daybook.store.records import RunRecord
from daybook.store.tables import OUTPUT_COMMIT, RUN


def later_commit(connection: Connection, run: RunRecord) -> str | None:
    """A later run of the same project and period that has committed an output.

    Runs in the sandbox and runs on the real destinations do not stand in each other's way.
    """
    query = (
        select(OUTPUT_COMMIT.c.run_id)
        .join(RUN, RUN.c.id == OUTPUT_COMMIT.c.run_id)
        .where(
            RUN.c.project_id == run.project_id,
            RUN.c.period == run.period,
            RUN.c.id != run.id,
            RUN.c.is_sandboxed == run.is_sandboxed,
            OUTPUT_COMMIT.c.token > run.token,
        )
        .order_by(OUTPUT_COMMIT.c.token.desc())
        .limit(1)
    )
    found: str | None = connection.execute(query).scalar_one_or_none()
    return found
