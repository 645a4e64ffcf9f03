"""`daybook run`, `retry`, `replay` and `cancel`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from daybook.cli import completion
from daybook.cli.invocation import invocation
from daybook.cli.parameters import AsJson, ProjectArgument, period_option
from daybook.cli.terminal import say, say_json

if TYPE_CHECKING:
    import datetime

    from daybook.model.loading import Workspace
    from daybook.runs.result import RunResult
    from daybook.runs.starting import RunWish

FAILED = 1


def _run_id(*status: str) -> Any:
    """The argument of a command that takes runs of these statuses."""
    known = completion.run_ids(*status)
    return typer.Argument(metavar="RUN", help="The id of a run, as `daybook runs` lists it.", autocompletion=known)


def run(
    context: typer.Context,
    project: ProjectArgument,
    period: Annotated[str, period_option("A period, or a range: 2026-01..2026-12.")],
    as_of: Annotated[
        str | None, typer.Option("--as-of", metavar="DATE", help="Date for bitemporal data: 2026-01-15.")
    ] = None,
    draft: Annotated[bool, typer.Option("--draft", help="Run the file as it is, without activating it.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Resolve, plan and check; write nothing.")] = False,
    allow_empty: Annotated[bool, typer.Option("--allow-empty", help="Let an output replace rows by none.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a project for a period, or for a range of periods.

    A range runs in order and ends at the first failure. A project that was never activated runs as a draft.
    """
    from daybook.cli import run_data, run_report
    from daybook.cli.run_progress import watching
    from daybook.cli.spark_session import background_session
    from daybook.cli.workspace_store import load
    from daybook.errors import DaybookError
    from daybook.runs.opening import rehearsing, surroundings
    from daybook.runs.result import RunFailedError
    from daybook.runs.running import rehearse
    from daybook.runs.running import run as execute
    from daybook.runs.starting import RunWish

    called = invocation(context)
    workspace = load(context)
    wanted = RunWish(project, period, _date(as_of), draft, allow_empty)
    _check_names(workspace, wanted)
    results: list[RunResult] = []
    with background_session(workspace.settings.engine, show_log=called.is_verbose) as session:
        if dry_run:
            with rehearsing(workspace) as copied, surroundings(copied, session) as around:
                planned = tuple(rehearse(copied, around, wanted))
            say_json([run_data.of_dry_run(each) for each in planned]) if as_json else run_report.show_dry_runs(planned)
            return
        try:
            with (
                watching(is_quiet=called.is_quiet or as_json) as listener,
                surroundings(workspace, session, listener) as around,
            ):
                results.extend(execute(workspace, around, wanted, on_planned=session.begin_for))
        except (RunFailedError, DaybookError) as failure:
            # The periods before it are done, whatever became of this one.
            run_report.show_all(results, is_quiet=called.is_quiet, as_json=as_json, failed=failure)
            if isinstance(failure, DaybookError):
                raise
            raise typer.Exit(FAILED) from None
    run_report.show_all(results, is_quiet=called.is_quiet, as_json=as_json)


def retry(
    context: typer.Context, run_id: Annotated[str, _run_id("failed", "cancelled")], as_json: AsJson = False
) -> None:
    """Take a failed or cancelled run up again.

    It goes on from the run's own snapshot; what the run committed is not written again.
    """
    from daybook.cli import run_data, run_report
    from daybook.cli.run_progress import watching
    from daybook.cli.spark_session import background_session
    from daybook.cli.workspace_store import load
    from daybook.runs.opening import surroundings
    from daybook.runs.result import RunFailedError
    from daybook.runs.running import retry as execute

    called = invocation(context)
    workspace = load(context)
    with background_session(workspace.settings.engine, show_log=called.is_verbose) as session:
        try:
            with (
                watching(is_quiet=called.is_quiet or as_json) as listener,
                surroundings(workspace, session, listener) as around,
            ):
                result = execute(around, run_id)
        except RunFailedError as failed:
            run_report.show_failure(failed, as_json=as_json)
            raise typer.Exit(FAILED) from None
    say_json(run_data.of_result(result)) if as_json else run_report.show(result, is_quiet=called.is_quiet)


def replay(
    context: typer.Context,
    run_id: Annotated[str, _run_id("completed")],
    verify: Annotated[bool, typer.Option("--verify", help="Only compare; exit with 1 if anything differs.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compute a run again and compare it with what it wrote.

    The run's snapshot is executed in a scratch place, with the definitions, data and timestamp of that time.
    """
    from daybook.cli import run_data, run_report
    from daybook.cli.spark_session import background_session
    from daybook.cli.workspace_store import load
    from daybook.runs.opening import surroundings
    from daybook.runs.replaying import replay as execute

    workspace = load(context)
    is_verbose = invocation(context).is_verbose
    with (
        background_session(workspace.settings.engine, show_log=is_verbose) as session,
        surroundings(workspace, session) as around,
    ):
        result = execute(around, run_id, keep=not verify)
    say_json(run_data.of_replay(result)) if as_json else run_report.show_replay(result)
    if not result.is_same and verify:
        raise typer.Exit(FAILED)


def cancel(context: typer.Context, run_id: Annotated[str, _run_id("queued", "running")]) -> None:
    """Ask a run to stop.

    It ends within seconds and leaves nothing half-written; `daybook retry` takes it up again.
    """
    from daybook.cli.workspace_store import opened, settings

    root, found = settings(context)
    with opened(found.store, root) as store, store.write() as transaction:
        run = transaction.runs.request_cancel(run_id, now=transaction.now())
    say(f"run {run_id} is {run.status}" if not run.is_active else f"run {run_id} was asked to stop")


def _check_names(workspace: "Workspace", wanted: "RunWish") -> None:
    """A typo in the project or the period is answered before Spark begins to start."""
    from daybook.model.workspace_catalog import WorkspaceCatalog
    from daybook.runs.named_project import find_project
    from daybook.runs.starting import periods_of

    definition = find_project(workspace, wanted.project)
    calendar_id = definition.model.calendar_id
    if calendar_id is None or workspace.get("calendar", calendar_id) is not None:
        periods_of(definition, wanted.period, WorkspaceCatalog(workspace))


def _date(text: str | None) -> "datetime.date | None":
    import datetime

    from daybook.errors import DaybookError

    if text is None:
        return None
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise DaybookError("RUN_013", text=text) from None
