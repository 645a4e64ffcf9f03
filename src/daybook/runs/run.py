"""Running and retrying: from what a user asks for to what came of it."""

from collections.abc import Iterator
from dataclasses import replace

from daybook.errors import notice
from daybook.model.loading import LoadedWorkspace
from daybook.runs.environment import RunEnvironment
from daybook.runs.execution import execute_attempt
from daybook.runs.outputs import check_outputs
from daybook.runs.permissions import check_period, require_unlocked
from daybook.runs.preparation import PreparedRun, restore_run
from daybook.runs.result import RunResult
from daybook.runs.snapshot import snapshot_from_json
from daybook.runs.sources import check_sources
from daybook.runs.start import (
    RunRequest,
    apply_project_files,
    check_request,
    find_version,
    parse_periods,
    prepare_run,
    start_run,
)
from daybook.store.process import current_process


def run(workspace: LoadedWorkspace, environment: RunEnvironment, request: RunRequest) -> Iterator[RunResult]:
    """One result per period, in order; the first failure ends the range."""
    for prepared in prepare_runs(workspace, environment, request):
        yield execute_run(environment, prepared)


def prepare_runs(workspace: LoadedWorkspace, environment: RunEnvironment, request: RunRequest) -> Iterator[PreparedRun]:
    """Everything a run checks before it exists.

    Each period is prepared when its turn comes, since a run may read what the one before it wrote.
    """
    definition, notices = check_request(workspace, request)
    if (before := environment.store.moved_from) is not None:
        notices += (notice("STORE_040", before=before, root=environment.root),)
    if not environment.store.is_shared:
        notices += apply_project_files(workspace, definition, environment)
    with environment.store.read() as transaction:
        periods = parse_periods(definition, request.period, transaction.catalog())
        found = find_version(transaction, definition.model, as_draft=request.is_draft)
        for period in periods:
            # A range with a locked period in it is refused before its first run.
            if not (found.is_draft and workspace.settings.sandbox is not None):
                require_unlocked(transaction, period)
    for period in periods:
        with environment.store.read() as transaction:
            prepared = prepare_run(workspace, environment, transaction, definition, period, request)
        check_outputs(prepared.outputs)
        yield replace(prepared, notices=(*notices, *prepared.notices))
        notices = ()


def check_runs(workspace: LoadedWorkspace, environment: RunEnvironment, request: RunRequest) -> Iterator[PreparedRun]:
    """Everything a run checks, and that the data it would read is there."""
    for prepared in prepare_runs(workspace, environment, request):
        check_sources(prepared.plan.loads, prepared.snapshot)
        yield prepared


def execute_run(environment: RunEnvironment, prepared: PreparedRun) -> RunResult:
    """Create the run and execute it; raises RunFailedError when it does not complete."""
    lease = start_run(environment.store, prepared, environment.before_start)
    if environment.store.moved_from is not None:
        environment.store.settle(environment.root)
    return execute_attempt(prepared, lease, environment)


def retry(environment: RunEnvironment, run_id: str) -> RunResult:
    """Continue a failed or cancelled run from its own snapshot; what it committed is not written again."""
    with environment.store.read() as transaction:
        snapshot = snapshot_from_json(transaction.runs.snapshot(run_id))
        is_sandboxed = snapshot.settings.sandbox is not None
        notices = tuple(check_period(transaction, snapshot.period, is_sandboxed=is_sandboxed))
    prepared = replace(restore_run(snapshot, environment.root), notices=notices)
    with environment.store.write() as transaction:
        lease = transaction.runs.resume(run_id, process=current_process(), now=transaction.now())
    return execute_attempt(prepared, lease, environment, is_retry=True)
