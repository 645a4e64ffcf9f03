"""Closes, locks and reopens periods."""

import datetime
from collections.abc import Mapping

from daybook.model.calendar import Period, PeriodStatus
from daybook.store.records import ActName
from daybook.store.store import Transaction

PERIOD_ACTS: Mapping[PeriodStatus, ActName] = {"open": "reopen", "closed": "close", "locked": "lock"}


def change_period_status(
    transaction: Transaction,
    period: Period,
    status: PeriodStatus,
    *,
    now: datetime.datetime,
    user: str,
    reason: str | None,
) -> bool:
    """False when the period had the status before."""
    if status == "open":
        is_changed = transaction.periods.reopen(period, reason=reason or "", now=now, user=user)
    else:
        is_changed = transaction.periods.advance(period, status, now=now, user=user, reason=reason)
    if is_changed:
        details = {"calendar": period.calendar_id, "reason": reason}
        transaction.log.append(PERIOD_ACTS[status], period.identifier, details)
    return is_changed
