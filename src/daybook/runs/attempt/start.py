"""Creates a run in the store, with its snapshot and a lease."""

from collections.abc import Callable
from typing import Any

from daybook.runs.attempt.prepare import PreparedRun
from daybook.runs.snapshot import RunSnapshot
from daybook.store.process import current_process
from daybook.store.records import Lease
from daybook.store.store import MetadataStore, Transaction


def start_run(
    store: MetadataStore, prepared: PreparedRun, before: Callable[[Transaction], None] = lambda _: None
) -> Lease:
    """Create the run; refused while another one of its project and period is running.

    `before` sees the store as it is when the run begins, and may refuse it, too.
    """
    snapshot = prepared.snapshot
    with store.write() as transaction:
        before(transaction)
        transaction.log.append("run", f"{snapshot.project.id}@{snapshot.period.identifier}", _logged_run(snapshot))
        return transaction.runs.start(
            snapshot.run_id,
            snapshot.project.id,
            snapshot.project_version,
            snapshot.period.identifier,
            snapshot.to_json(),
            process=current_process(),
            now=transaction.now(),
            calendar_id=snapshot.period.calendar_id,
            as_of=snapshot.as_of,
            is_draft=snapshot.settings.is_draft,
            is_sandboxed=snapshot.settings.sandbox is not None,
            user=snapshot.provenance.user,
        )


def _logged_run(snapshot: RunSnapshot) -> dict[str, Any]:
    return {
        "as_of": snapshot.as_of.isoformat(),
        "calendar": snapshot.period.calendar_id,
        "draft": snapshot.settings.is_draft,
        "parameters": dict(snapshot.parameters),
        "run": snapshot.run_id,
        "sandbox": snapshot.settings.sandbox is not None,
        "version": snapshot.project_version,
    }
