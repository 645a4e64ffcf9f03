"""`daybook run`, `retry`, `replay` and `cancel`."""

from typing import Annotated, Any

import typer

from daybook.cli import completion
from daybook.cli.arguments import AsJson, ProjectArgument, Settings, period_option
from daybook.cli.exit_codes import FAILED, WRONG_INPUT
from daybook.cli.open_workspace import open_workspace, open_workspace_with_spark
from daybook.cli.root_options import root_options
from daybook.cli.terminal import echo, echo_json


def _run_argument(*status: str) -> Any:
    """The argument of a command that takes runs of these statuses."""
    by_name = ", or PROJECT@PERIOD for its last completed run" if "completed" in status else ""
    text = f"The id of a run, as `daybook runs` lists it{by_name}."
    return typer.Argument(metavar="RUN", help=text, autocompletion=completion.run_ids(*status))


def run(
    context: typer.Context,
    project: ProjectArgument,
    period: Annotated[str, period_option("A period, or a range: 2026-01..2026-12.")],
    as_of: Annotated[
        str | None, typer.Option("--as-of", metavar="DATE", help="Date for bitemporal data: 2026-01-15.")
    ] = None,
    draft: Annotated[bool, typer.Option("--draft", help="Run the file as it is, without activating it.")] = False,
    require_fresh: Annotated[
        bool, typer.Option("--require-fresh", help="Refuse to run if an input is out of date.")
    ] = False,
    sandbox_inputs: Annotated[
        bool,
        typer.Option("--sandbox-inputs/--no-sandbox-inputs", help="Whether a draft reads the results of your drafts."),
    ] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Resolve, plan and check; write nothing.")] = False,
    allow_empty: Annotated[bool, typer.Option("--allow-empty", help="Allow an empty output to replace rows.")] = False,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Run a project for a period, or for a range of periods.

    A range runs in order and ends at the first failure. A project that was never activated runs as a draft.
    """
    from daybook.cli.terminal import run_listener
    from daybook.model.parameter import parse_settings

    is_quiet = root_options(context).is_quiet
    parameters = parse_settings(settings or ())
    with open_workspace_with_spark(context, starts_ahead=not dry_run) as workspace:
        # Java starts meanwhile.
        from daybook.cli import run_results
        from daybook.runs.attempt.run_request import RunRequest
        from daybook.runs.run_result import RunFailedError
        from daybook.workspace.execution import dry_run_project, parse_as_of, run_project

        request = RunRequest(
            project,
            period,
            parse_as_of(as_of),
            is_draft=draft,
            allow_empty=allow_empty,
            requires_fresh=require_fresh,
            reads_sandbox=sandbox_inputs,
            parameters=parameters,
        )
        if dry_run:
            planned = dry_run_project(workspace, request)
            echo_json(planned) if as_json else run_results.show_dry_runs(planned)
            return
        with run_listener(is_quiet=is_quiet or as_json) as listener:
            result = run_project(workspace, request, listener=listener, repeat_plan_warnings=not is_quiet)
    echo_json(result.outcomes) if as_json else run_results.show_range(result, is_quiet=is_quiet)
    if result.failure is not None:
        raise typer.Exit(FAILED if isinstance(result.failure, RunFailedError) else WRONG_INPUT)


def retry(
    context: typer.Context, run_id: Annotated[str, _run_argument("failed", "cancelled")], as_json: AsJson = False
) -> None:
    """Continue a failed or cancelled run.

    It continues from the run's own snapshot; what the run committed is not written again.
    """
    from daybook.cli.terminal import run_listener

    is_quiet = root_options(context).is_quiet
    with open_workspace_with_spark(context, starts_ahead=True) as workspace:
        # Java starts meanwhile.
        from daybook.cli import run_results
        from daybook.runs.run_result import RunFailedError
        from daybook.workspace.execution import retry_run

        try:
            with run_listener(is_quiet=is_quiet or as_json) as listener:
                result = retry_run(workspace, run_id, listener=listener)
        except RunFailedError as failed:
            run_results.show_run_failure(failed, as_json=as_json)
            raise typer.Exit(FAILED) from None
    echo_json(result) if as_json else run_results.show_run_result(result, is_quiet=is_quiet)


def replay(
    context: typer.Context,
    run_id: Annotated[str, _run_argument("completed")],
    verify: Annotated[bool, typer.Option("--verify", help="Only compare; exit with 1 if anything differs.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compute a run again and compare it with what it wrote.

    The run's snapshot is executed in a scratch place, with the definitions, data and timestamp of that time.
    """
    with open_workspace_with_spark(context, starts_ahead=True) as workspace:
        # Java starts meanwhile.
        from daybook.cli.run_results import show_replay
        from daybook.workspace.execution import replay_run

        result = replay_run(workspace, run_id, keep_rows=not verify)
    echo_json(result) if as_json else show_replay(result)
    if verify and not result.is_same:
        raise typer.Exit(FAILED)


def cancel(
    context: typer.Context, run_id: Annotated[str, _run_argument("queued", "running")], as_json: AsJson = False
) -> None:
    """Ask a run to stop.

    It ends within seconds and leaves nothing half-written; `daybook retry` continues it.
    """
    from daybook.workspace.runs import cancel_run

    done = cancel_run(open_workspace(context), run_id)
    if as_json:
        echo_json(done)
    else:
        echo(f"run {run_id} was asked to stop" if done.is_active else f"run {run_id} is {done.status}")
