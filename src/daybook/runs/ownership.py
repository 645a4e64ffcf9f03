"""Who may write a slice of a table: one project, or all who append.

An operation that moves within its project, as it does when another is put in before it, keeps its slices: a project
has one output into a table, unless all of them append.
"""

import datetime
from typing import assert_never

from daybook.errors import DaybookError
from daybook.io.writing import Target
from daybook.store.records import Slice
from daybook.store.slices import belongs_to_another
from daybook.store.store import Transaction

# Appends share a slice: nobody owns it, so nobody may replace it.
SHARED_PROJECT = "*"
SHARED_OPERATION = "append"


def require_slice(transaction: Transaction, target: Target) -> None:
    """Refuse to write over what others wrote; a project that is inactive gives its slices up."""
    for known in replaced_slices(transaction, target):
        if known.project_id == SHARED_PROJECT:
            if target.mode == "replace_period":
                shared = "all who append to it"
                raise DaybookError("STORE_016", destination=target.place, period=known.period, owner=shared)
        elif known.project_id != target.owner.project_id and not _is_given_up(transaction, known):
            raise belongs_to_another(known)


def claim_slice(transaction: Transaction, target: Target, now: datetime.datetime) -> None:
    """Make a free slice ours right before it is written, so that nobody else can take it in between."""
    require_slice(transaction, target)
    if target.run_period is None or target.mode not in ("replace_period", "append"):
        return
    known = transaction.slices.owner(target.place, target.run_period)
    if known is not None and known.project_id in (SHARED_PROJECT, target.owner.project_id):
        return
    is_shared = target.mode == "append"
    transaction.slices.take(
        target.place,
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
            return transaction.slices.of(target.place)
        case "replace_period" | "append":
            period = target.run_period
            known = transaction.slices.owner(target.place, period) if period is not None else None
            return (known,) if known else ()
        case "error":
            return ()
        case _:
            assert_never(target.mode)


def _is_given_up(transaction: Transaction, known: Slice) -> bool:
    state = transaction.projects.find(known.project_id)
    return state is not None and state.status == "inactive"
