"""What the status of a period means for runs: locked refuses, closed warns."""

from collections.abc import Iterator

from daybook.errors import DaybookError, Notice, notice
from daybook.model.period import Period
from daybook.store.store import Transaction


def require_unlocked(transaction: Transaction, period: Period) -> None:
    """RUN_002 for a locked period and for one inside of a locked period."""
    effective = transaction.periods.status(period)
    if effective.status == "locked":
        raise DaybookError("RUN_002", period=period.identifier, because_of=effective.because_of)


def check_period(transaction: Transaction, period: Period) -> Iterator[Notice]:
    """A locked period refuses runs, a closed one warns."""
    require_unlocked(transaction, period)
    if transaction.periods.status(period).status == "closed":
        yield notice("RUN_003", period=period.identifier)
