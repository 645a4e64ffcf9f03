"""Which runs are executed by a living process, and which have lost theirs."""

from daybook.store.process import is_surely_running
from daybook.store.records import RunFilter, RunRecord, RunStatus
from daybook.store.store import MetadataStore, Transaction

_ACTIVE_STATUSES: tuple[RunStatus, ...] = ("queued", "running")


def live_runs(store: MetadataStore) -> tuple[RunRecord, ...]:
    """Runs that are queued or running in a process that exists.

    A process that this machine sees counts even if its lease is over: the clock may have been set forward since its
    last heartbeat.
    """
    with store.read() as transaction:
        return live_runs_in(transaction)


def live_runs_in(transaction: Transaction) -> tuple[RunRecord, ...]:
    abandoned = transaction.runs.abandoned(now=transaction.now())
    dead = {run.id for run in abandoned if not is_surely_running(run.process)}
    return tuple(
        run for status in _ACTIVE_STATUSES for run in _runs_with_status(transaction, status) if run.id not in dead
    )


def abandoned_runs(store: MetadataStore) -> tuple[RunRecord, ...]:
    """Runs that claim to be queued or running and have no living process."""
    with store.read() as transaction:
        return transaction.runs.abandoned(now=transaction.now())


def unsuccessful_runs(store: MetadataStore) -> tuple[RunRecord, ...]:
    """Runs that may have left files behind: they failed, were cancelled, or lost their process."""
    with store.read() as transaction:
        dead = transaction.runs.abandoned(now=transaction.now())
        ended = (*_runs_with_status(transaction, "failed"), *_runs_with_status(transaction, "cancelled"))
        return tuple({run.id: run for run in (*dead, *ended)}.values())


def _runs_with_status(transaction: Transaction, status: RunStatus) -> tuple[RunRecord, ...]:
    runs: list[RunRecord] = []
    after: str | None = None
    while True:
        page = transaction.runs.page(RunFilter(status=status), limit=500, after=after)
        runs += page.runs
        if (after := page.next_page) is None:
            return tuple(runs)


def fail_abandoned_runs(store: MetadataStore) -> tuple[str, ...]:
    """Mark runs without a process as failed, so that they can be retried; returns their ids."""
    with store.write() as transaction:
        now = transaction.now()
        return tuple(run.id for run in transaction.runs.abandoned(now=now) if transaction.runs.give_up(run.id, now=now))
