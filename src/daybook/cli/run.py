"""`daybook run`, `retry`, `replay` and `cancel`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from daybook.cli import completion
from daybook.cli.arguments import AsJson, ProjectArgument, open_workspace, period_option, root_options
from daybook.cli.terminal import echo, echo_json

if TYPE_CHECKING:
    import datetime

    from daybook.model.loading import LoadedWorkspace
    from daybook.runs.result import RunResult
    from daybook.runs.start import RunRequest

FAILED = 1


def _run_argument(*status: str) -> Any:
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
    from daybook.cli import run_report
    from daybook.cli.arguments import load_checked_workspace
    from daybook.cli.terminal import run_listener
    from daybook.errors import DaybookError
    from daybook.runs.environment import open_run_environment, workspace_with_store_copy
    from daybook.runs.result import RunFailedError
    from daybook.runs.run import check_runs
    from daybook.runs.run import run as execute
    from daybook.runs.start import RunRequest
    from daybook.workspace import result_json
    from daybook.workspace.spark_session import background_session

    called = root_options(context)
    workspace = load_checked_workspace(context)
    wanted = RunRequest(project, period, _parse_date(as_of), draft, allow_empty)
    _check_project_and_period(workspace, wanted)
    results: list[RunResult] = []
    with background_session(workspace.settings.engine, show_log=called.is_verbose) as session:
        if dry_run:
            with workspace_with_store_copy(workspace) as copied, open_run_environment(copied, session) as around:
                planned = tuple(check_runs(copied, around, wanted))
            echo_json([result_json.dry_run_as_json(each) for each in planned]) if as_json else run_report.show_dry_runs(
                planned
            )
            return
        try:
            with (
                run_listener(is_quiet=called.is_quiet or as_json) as listener,
                open_run_environment(workspace, session, listener) as around,
            ):
                results.extend(execute(workspace, around, wanted, on_planned=session.begin_for))
        except (RunFailedError, DaybookError) as failure:
            # The periods before it are done, whatever became of this one.
            run_report.show_run_results(results, is_quiet=called.is_quiet, as_json=as_json, failed=failure)
            if isinstance(failure, DaybookError):
                raise
            raise typer.Exit(FAILED) from None
    run_report.show_run_results(results, is_quiet=called.is_quiet, as_json=as_json)


def retry(
    context: typer.Context, run_id: Annotated[str, _run_argument("failed", "cancelled")], as_json: AsJson = False
) -> None:
    """Take a failed or cancelled run up again.

    It goes on from the run's own snapshot; what the run committed is not written again.
    """
    from daybook.cli import run_report
    from daybook.cli.arguments import load_checked_workspace
    from daybook.cli.terminal import run_listener
    from daybook.runs.environment import open_run_environment
    from daybook.runs.result import RunFailedError
    from daybook.runs.run import retry as execute
    from daybook.workspace import result_json
    from daybook.workspace.spark_session import background_session

    called = root_options(context)
    workspace = load_checked_workspace(context)
    with background_session(workspace.settings.engine, show_log=called.is_verbose) as session:
        try:
            with (
                run_listener(is_quiet=called.is_quiet or as_json) as listener,
                open_run_environment(workspace, session, listener) as around,
            ):
                result = execute(around, run_id)
        except RunFailedError as failed:
            run_report.show_run_failure(failed, as_json=as_json)
            raise typer.Exit(FAILED) from None
    echo_json(result_json.run_result_as_json(result)) if as_json else run_report.show_run_result(
        result, is_quiet=called.is_quiet
    )


def replay(
    context: typer.Context,
    run_id: Annotated[str, _run_argument("completed")],
    verify: Annotated[bool, typer.Option("--verify", help="Only compare; exit with 1 if anything differs.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compute a run again and compare it with what it wrote.

    The run's snapshot is executed in a scratch place, with the definitions, data and timestamp of that time.
    """
    from daybook.cli import run_report
    from daybook.cli.arguments import load_checked_workspace
    from daybook.runs.environment import open_run_environment
    from daybook.runs.replay import replay as execute
    from daybook.workspace import result_json
    from daybook.workspace.spark_session import background_session

    workspace = load_checked_workspace(context)
    is_verbose = root_options(context).is_verbose
    with (
        background_session(workspace.settings.engine, show_log=is_verbose) as session,
        open_run_environment(workspace, session) as around,
    ):
        result = execute(around, run_id, keep=not verify)
    echo_json(result_json.replay_as_json(result)) if as_json else run_report.show_replay(result)
    if not result.is_same and verify:
        raise typer.Exit(FAILED)


def cancel(context: typer.Context, run_id: Annotated[str, _run_argument("queued", "running")]) -> None:
    """Ask a run to stop.

    It ends within seconds and leaves nothing half-written; `daybook retry` takes it up again.
    """
    from daybook.workspace.history import cancel_run

    done = cancel_run(open_workspace(context), run_id)
    echo(f"run {run_id} was asked to stop" if done.is_active else f"run {run_id} is {done.status}")


def _check_project_and_period(workspace: "LoadedWorkspace", wanted: "RunRequest") -> None:
    """A typo in the project or the period is answered before Spark begins to start."""
    from daybook.model.loading.workspace import WorkspaceCatalog
    from daybook.runs.start import parse_periods
    from daybook.store.references import find_project

    definition = find_project(workspace, wanted.project)
    calendar_id = definition.model.calendar_id
    if calendar_id is None or workspace.get("calendar", calendar_id) is not None:
        parse_periods(definition, wanted.period, WorkspaceCatalog(workspace))


def _parse_date(text: str | None) -> "datetime.date | None":
    import datetime

    from daybook.errors import DaybookError

    if text is None:
        return None
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise DaybookError("RUN_013", text=text) from None
