"""Which runs live, and which only claim to."""

from daybook.store.records import RunFilter, RunRecord, RunStatus
from daybook.store.store import Store, Transaction

_ACTIVE: tuple[RunStatus, ...] = ("queued", "running")


def live_runs(store: Store) -> tuple[RunRecord, ...]:
    """Runs that are queued or running in a process that lives."""
    with store.read() as transaction:
        dead = {run.id for run in transaction.runs.abandoned(now=transaction.now())}
        return tuple(run for status in _ACTIVE for run in _all(transaction, status) if run.id not in dead)


def abandoned_runs(store: Store) -> tuple[RunRecord, ...]:
    """Runs that claim to be queued or running and have no living process."""
    with store.read() as transaction:
        return transaction.runs.abandoned(now=transaction.now())


def dead_runs(store: Store) -> tuple[RunRecord, ...]:
    """Runs that may have left something behind: they failed, were cancelled, or lost their process."""
    with store.read() as transaction:
        dead = transaction.runs.abandoned(now=transaction.now())
        return (*dead, *_all(transaction, "failed"), *_all(transaction, "cancelled"))


def _all(transaction: Transaction, status: RunStatus) -> tuple[RunRecord, ...]:
    found: list[RunRecord] = []
    after: str | None = None
    while True:
        page = transaction.runs.page(RunFilter(status=status), limit=500, after=after)
        found += page.runs
        if (after := page.next_page) is None:
            return tuple(found)
