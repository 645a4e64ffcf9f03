"""Who may write a slice of a table: one operation of one project, or all who append."""

import datetime

from daybook.errors import DaybookError
from daybook.io.writing import Target
from daybook.store.slices import Slices

# Appends share a slice: nobody owns it, so nobody may replace it.
SHARED_PROJECT = "*"
SHARED_OPERATION = "append"


def require_slice(slices: Slices, target: Target) -> None:
    """Refuse another owner's slice."""
    if target.run_period is None or target.mode not in ("replace_period", "append"):
        return
    owner = slices.owner(target.place, target.run_period)
    if owner is None:
        return
    if owner.project_id == SHARED_PROJECT:
        if target.mode != "append":
            shared = "all who append to it"
            raise DaybookError("STORE_016", destination=target.place, period=target.run_period, owner=shared)
        return
    if target.mode == "append" and owner.project_id == target.owner.project_id:
        return
    slices.require_free(
        target.place, target.run_period, project_id=target.owner.project_id, operation_id=target.owner.operation_id
    )


def claim_slice(slices: Slices, target: Target, now: datetime.datetime) -> None:
    """Make a free slice ours right before it is written, so that nobody else can take it in between."""
    require_slice(slices, target)
    if target.run_period is None or target.mode not in ("replace_period", "append"):
        return
    if slices.owner(target.place, target.run_period) is not None:
        return
    is_shared = target.mode == "append"
    slices.take(
        target.place,
        target.run_period,
        project_id=SHARED_PROJECT if is_shared else target.owner.project_id,
        operation_id=SHARED_OPERATION if is_shared else target.owner.operation_id,
        run_id=target.run_id,
        rows=None,
        now=now,
    )
