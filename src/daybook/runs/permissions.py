"""Who may write a slice of a table: one project, or all who append; and what the status of a period allows.

An operation that moves within its project, as it does when another is put in before it, keeps its slices: a project
has one output into a table, unless all of them append.
"""

import datetime
from collections.abc import Iterable, Iterator
from typing import assert_never

from daybook.errors import DaybookError, Notice, notice
from daybook.io.target import Target
from daybook.model.calendar import Period
from daybook.store.database.periods import foreign_slice_error
from daybook.store.effects import ProjectEffect
from daybook.store.records import Slice
from daybook.store.store import Transaction

# Appends share a slice: nobody owns it, so nobody may replace it.
SHARED_PROJECT = "*"
SHARED_OPERATION = "append"


def require_slice(transaction: Transaction, target: Target) -> None:
    """Refuse to write over what others wrote; a project that is inactive gives its slices up."""
    for known in replaced_slices(transaction, target):
        if known.project_id == SHARED_PROJECT:
            if target.mode == "replace_period":
                shared = "every project that appends to it"
                raise DaybookError("STORE_016", destination=target.label, period=known.period, owner=shared)
        elif known.project_id != target.owner.project_id and not _is_released(transaction, known):
            raise foreign_slice_error(known)


def claim_slice(transaction: Transaction, target: Target, now: datetime.datetime) -> None:
    """Make a free slice ours right before it is written, so that nobody else can take it in between."""
    require_slice(transaction, target)
    if target.run_period is None or target.mode not in ("replace_period", "append"):
        return
    known = transaction.slices.owner(target.label, target.run_period)
    if known is not None and known.project_id in (SHARED_PROJECT, target.owner.project_id):
        return
    is_shared = target.mode == "append"
    transaction.slices.take(
        target.label,
        target.run_period,
        project_id=SHARED_PROJECT if is_shared else target.owner.project_id,
        operation_id=SHARED_OPERATION if is_shared else target.owner.operation_id,
        run_id=target.run_id,
        rows=None,
        now=now,
        instead_of=known.project_id if known else None,
    )


def replaced_slices(transaction: Transaction, target: Target) -> tuple[Slice, ...]:
    """The slices that an output writes to, or throws away because it replaces the table."""
    match target.mode:
        case "replace":
            return transaction.slices.of(target.label)
        case "replace_period" | "append":
            period = target.run_period
            known = transaction.slices.owner(target.label, period) if period is not None else None
            return (known,) if known else ()
        case "error":
            return ()
        case _:
            assert_never(target.mode)


def _is_released(transaction: Transaction, known: Slice) -> bool:
    state = transaction.projects.find(known.project_id)
    return state is not None and state.status == "inactive"


def require_unlocked(transaction: Transaction, period: Period) -> None:
    """RUN_002 for a locked period and for one inside of a locked period."""
    effective = transaction.periods.status(period)
    if effective.status == "locked":
        raise DaybookError("RUN_002", period=period.identifier, because_of=effective.because_of)


def check_period(transaction: Transaction, period: Period, *, is_sandboxed: bool) -> Iterator[Notice]:
    """A locked period refuses runs, a closed one warns; what goes to the sandbox changes neither."""
    if is_sandboxed:
        return
    require_unlocked(transaction, period)
    if transaction.periods.status(period).status == "closed":
        yield notice("RUN_003", period=period.identifier)


def conflict_notices(effects: Iterable[ProjectEffect], *, but: str | None = None) -> Iterator[Notice]:
    """One notice per project that is in conflict now and was not before; `but` is told of in another way."""
    for effect in effects:
        if effect.is_broken_now and effect.project_id != but:
            summary = "; ".join(finding.message for finding in effect.findings)
            yield notice("RUN_020", project=effect.project_id, summary=summary)
