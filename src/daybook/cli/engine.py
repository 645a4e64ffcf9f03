"""`daybook engine`: start, stop and show the warm engine."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.arguments import AsJson, add_command, open_workspace
from daybook.cli.terminal import echo, echo_json

if TYPE_CHECKING:
    from daybook.workspace.warm_engine import EngineStatus

app = typer.Typer(
    help="Keep Spark running for the next commands: start, stop and show the warm engine.",
    short_help="Keep Spark running for the next commands",
    epilog="""\b
Examples:
  daybook engine start --idle 2h
  daybook engine status
  daybook engine stop""",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def start(
    context: typer.Context,
    idle: Annotated[
        str | None, typer.Option("--idle", metavar="TIME", help="End after so long without use: 30m, 2h.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Start a Spark server that later commands of this user use.

    It listens on this machine only, answers this user only, and fits commands with the same versions, settings,
    state folder and storage variables. Other commands start Spark themselves.
    """
    from daybook.workspace.json.results import engine_as_json
    from daybook.workspace.warm_engine import start_engine

    found = start_engine(open_workspace(context), idle)
    if as_json:
        echo_json(engine_as_json(found))
    else:
        echo(f"the engine runs: process {found.pid}, ends after {found.idle} without use")


def stop(
    context: typer.Context,
    include_others: Annotated[
        bool, typer.Option("--all", help="End all engines of this user, also those that do not fit this workspace.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="End it although a command uses it, which then fails.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """End the warm engine."""
    from daybook.workspace.warm_engine import engine_status, stop_engine

    workspace = open_workspace(context)
    ended = stop_engine(workspace, include_others=include_others, force=force)
    if as_json:
        echo_json({"stopped": list(ended)})
    elif ended:
        echo("\n".join(f"the engine with process {pid} has ended" for pid in ended))
    elif engine_status(workspace):
        echo("no engine that fits this workspace runs; `daybook engine stop --all` ends others")
    else:
        echo("no engine runs")


def status(context: typer.Context, as_json: AsJson = False) -> None:
    """Show the engines of this user that run."""
    from daybook.workspace.json.results import engine_as_json
    from daybook.workspace.warm_engine import engine_status

    found = engine_status(open_workspace(context))
    if as_json:
        echo_json({"engines": [engine_as_json(each) for each in found]})
    else:
        echo("\n".join(_status_text(each) for each in found) or "no engine runs")


def _status_text(engine: "EngineStatus") -> str:
    started = engine.started.strftime("%Y-%m-%d %H:%M UTC")
    use = "in use" if engine.is_used else f"ends after {engine.idle} without use"
    fit = "fits this workspace" if engine.is_fit else f"does not fit this workspace: {', '.join(engine.differences)}"
    return f"process {engine.pid} since {started}, {use}; {fit}"


add_command(app, "start", start, "daybook engine start", "daybook engine start --idle 2h")
add_command(app, "stop", stop, "daybook engine stop", "daybook engine stop --all")
add_command(app, "status", status, "daybook engine status", "daybook engine status --json")
