"""Running and retrying: from what a user asks for to what came of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from daybook.errors import Notice
from daybook.model.loading import Workspace
from daybook.runs.attempt import Surroundings, attempt
from daybook.runs.named_project import find_project
from daybook.runs.period_status import check_period, require_unlocked
from daybook.runs.preparing import Prepared, restore
from daybook.runs.result import RunResult
from daybook.runs.snapshot import snapshot_from_json
from daybook.runs.sources import check_sources
from daybook.runs.starting import (
    RunWish,
    Started,
    apply_reached,
    periods_of,
    prepare_run,
    runnable,
    start,
)
from daybook.runs.writing import check_outputs
from daybook.store.process import current_process


@dataclass(frozen=True, slots=True)
class DryRun:
    """A run that was resolved, planned and checked, and has not begun."""

    prepared: Prepared
    notices: tuple[Notice, ...]


def run(
    workspace: Workspace,
    around: Surroundings,
    wanted: RunWish,
    *,
    on_planned: Callable[[Prepared], None] = lambda _: None,
) -> Iterator[RunResult]:
    """One result per period, in order; the first failure ends the range.

    `on_planned` learns of each run before it begins, when all that can be checked without data has been checked.
    """
    for planned in dry_run(workspace, around, wanted):
        on_planned(planned.prepared)
        yield attempt(start(around.store, planned.prepared, planned.notices), around)


def dry_run(workspace: Workspace, around: Surroundings, wanted: RunWish) -> Iterator[DryRun]:
    """Everything a run checks before it exists.

    Each period is prepared when its turn comes, since a run may read what the one before it wrote.
    """
    definition = find_project(workspace, wanted.project)
    applied: tuple[Notice, ...] = ()
    if not around.store.is_shared:
        applied = apply_reached(workspace, definition, around.store, around.validate, around.clock())
    with around.store.read() as transaction:
        periods = periods_of(definition, wanted.period, transaction.catalog())
        for period in periods:
            require_unlocked(transaction, period)
    for period in periods:
        with around.store.read() as transaction:
            chosen = runnable(transaction, definition, as_draft=wanted.is_draft)
            prepared, notices = prepare_run(
                workspace, transaction, chosen, period, wanted, now=around.clock(), version=around.version
            )
        check_outputs(prepared.outputs)
        yield DryRun(prepared, (*applied, *notices))
        applied = ()


def rehearse(workspace: Workspace, around: Surroundings, wanted: RunWish) -> Iterator[DryRun]:
    """Everything a run checks, and that the data it would read is there."""
    for planned in dry_run(workspace, around, wanted):
        check_sources(planned.prepared)
        yield planned


def retry(around: Surroundings, run_id: str) -> RunResult:
    """Take a failed or cancelled run up again from its own snapshot; what it committed is not written again."""
    with around.store.read() as transaction:
        snapshot = snapshot_from_json(transaction.runs.snapshot(run_id))
        notices = tuple(check_period(transaction, snapshot.period))
    prepared = restore(snapshot, around.root)
    with around.store.write() as transaction:
        lease = transaction.runs.resume(run_id, process=current_process(), now=transaction.now())
    return attempt(Started(prepared, lease, notices, is_retry=True), around)
