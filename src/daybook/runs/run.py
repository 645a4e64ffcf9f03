"""Running and retrying: from what a user asks for to what came of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from daybook.errors import Notice
from daybook.model.loading import LoadedWorkspace
from daybook.runs.environment import RunEnvironment
from daybook.runs.execution import execute_attempt
from daybook.runs.outputs import check_outputs
from daybook.runs.permissions import check_period, require_unlocked
from daybook.runs.preparation import PreparedRun, check_sources, restore_run
from daybook.runs.result import RunResult
from daybook.runs.snapshot import snapshot_from_json
from daybook.runs.start import (
    RunnableProject,
    RunRequest,
    StartedRun,
    apply_project_files,
    find_runnable,
    parse_periods,
    prepare_run,
    start_run,
)
from daybook.store.process import current_process
from daybook.store.references import find_project


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run that was resolved, planned and checked, and has not begun."""

    prepared: PreparedRun
    notices: tuple[Notice, ...]


def run(
    workspace: LoadedWorkspace,
    around: RunEnvironment,
    wanted: RunRequest,
    *,
    on_planned: Callable[[PreparedRun], None] = lambda _: None,
) -> Iterator[RunResult]:
    """One result per period, in order; the first failure ends the range.

    `on_planned` learns of each run before it begins, when all that can be checked without data has been checked.
    """
    for planned in prepare_runs(workspace, around, wanted):
        on_planned(planned.prepared)
        yield execute_attempt(start_run(around.store, planned.prepared, planned.notices), around)


def prepare_runs(workspace: LoadedWorkspace, around: RunEnvironment, wanted: RunRequest) -> Iterator[PlannedRun]:
    """Everything a run checks before it exists.

    Each period is prepared when its turn comes, since a run may read what the one before it wrote.
    """
    definition = find_project(workspace, wanted.project)
    applied: tuple[Notice, ...] = ()
    if not around.store.is_shared:
        applied = apply_project_files(workspace, definition, around.store, around.validate, around.clock())
    with around.store.read() as transaction:
        periods = parse_periods(definition, wanted.period, transaction.catalog())
        is_sandboxed = _is_sandboxed(workspace, find_runnable(transaction, definition, as_draft=wanted.is_draft))
        for period in periods:
            # A range with a locked period in it is refused before its first run.
            if not is_sandboxed:
                require_unlocked(transaction, period)
    for period in periods:
        with around.store.read() as transaction:
            chosen = find_runnable(transaction, definition, as_draft=wanted.is_draft)
            prepared, notices = prepare_run(
                workspace, transaction, chosen, period, wanted, now=around.clock(), version=around.version
            )
        check_outputs(prepared.outputs)
        yield PlannedRun(prepared, (*applied, *notices))
        applied = ()


def _is_sandboxed(workspace: LoadedWorkspace, chosen: RunnableProject) -> bool:
    return chosen.is_draft and workspace.settings.sandbox is not None


def check_runs(workspace: LoadedWorkspace, around: RunEnvironment, wanted: RunRequest) -> Iterator[PlannedRun]:
    """Everything a run checks, and that the data it would read is there."""
    for planned in prepare_runs(workspace, around, wanted):
        check_sources(planned.prepared)
        yield planned


def retry(around: RunEnvironment, run_id: str) -> RunResult:
    """Take a failed or cancelled run up again from its own snapshot; what it committed is not written again."""
    with around.store.read() as transaction:
        snapshot = snapshot_from_json(transaction.runs.snapshot(run_id))
        is_sandboxed = snapshot.settings.sandbox is not None
        notices = tuple(check_period(transaction, snapshot.period, is_sandboxed=is_sandboxed))
    prepared = restore_run(snapshot, around.root)
    with around.store.write() as transaction:
        lease = transaction.runs.resume(run_id, process=current_process(), now=transaction.now())
    return execute_attempt(StartedRun(prepared, lease, notices, is_retry=True), around)
