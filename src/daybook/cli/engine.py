"""`daybook engine`: keeps Spark running for the next commands."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.arguments import AsJson
from daybook.cli.command_help import add_command
from daybook.cli.open_workspace import open_workspace
from daybook.cli.terminal import echo, echo_json

if TYPE_CHECKING:
    from daybook.workspace.maintenance import EngineStatus


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
        str | None, typer.Option("--idle", metavar="TIME", help="End after this time without use: 30m, 2h.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Start a Spark server that later commands of this user use.

    It listens on this machine only, answers this user only, and fits commands with the same versions, settings,
    state folder and storage variables. Other commands start Spark themselves.
    """
    from daybook.workspace.maintenance import start_engine

    engine = start_engine(open_workspace(context), idle)
    if as_json:
        echo_json(engine)
    else:
        echo(f"the engine is running: process {engine.pid}, ends after {engine.idle} without use")


def stop(
    context: typer.Context,
    include_others: Annotated[
        bool, typer.Option("--all", help="End all engines of this user, also those that do not fit this workspace.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="End it even if a command uses it; the command fails.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """End the warm engine."""
    from daybook.workspace.maintenance import engine_status, stop_engine

    workspace = open_workspace(context)
    ended = stop_engine(workspace, include_others=include_others, force=force)
    if as_json:
        echo_json({"stopped": list(ended)})
    elif ended:
        echo("\n".join(f"the engine with process {pid} has ended" for pid in ended))
    elif engine_status(workspace):
        echo("no engine of this workspace is running; `daybook engine stop --all` ends the others")
    else:
        echo("no engine is running")


def status(context: typer.Context, as_json: AsJson = False) -> None:
    """Show the engines of this user that run."""
    from daybook.workspace.maintenance import engine_status

    engines = engine_status(open_workspace(context))
    if as_json:
        echo_json({"engines": engines})
    else:
        echo("\n".join(_status_text(engine) for engine in engines) or "no engine is running")


def _status_text(engine: "EngineStatus") -> str:
    started = engine.started.strftime("%Y-%m-%d %H:%M UTC")
    use = "in use" if engine.is_used else f"ends after {engine.idle} without use"
    fit = "fits this workspace" if engine.is_fit else f"does not fit this workspace: {', '.join(engine.differences)}"
    progress = engine.warm_up
    warm = "" if progress is None or progress.is_over else f"warming up ({progress.rounds} of {progress.wanted}), "
    return f"process {engine.pid} since {started}, {warm}{use}; {fit}"


add_command(app, "start", start, "daybook engine start", "daybook engine start --idle 2h")
add_command(app, "stop", stop, "daybook engine stop", "daybook engine stop --all")
add_command(app, "status", status, "daybook engine status", "daybook engine status --json")
