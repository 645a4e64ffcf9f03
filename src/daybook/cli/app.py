"""The `daybook` command: root options, the commands, and what becomes of errors."""

import gc
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from daybook.cli import (
    apply,
    collect,
    compiling,
    demo,
    doctor,
    functions,
    init,
    lifecycle,
    parse,
    periods,
    run,
    runs,
    scenarios,
    schema,
    show,
    validate,
)
from daybook.cli.invocation import Invocation

# A program error of ours: neither the run (1) nor the input (2) is to blame.
INTERNAL_ERROR = 3
WRONG_INPUT = 2

app = typer.Typer(
    name="daybook",
    help="Month-end calculations on Spark: declared in YAML, versioned, rerun, explained and audited.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        typer.echo(f"daybook {version('daybook')}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    workspace: Annotated[
        Path | None,
        typer.Option("--workspace", "-w", help="A workspace; otherwise the nearest around here."),
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Results and errors only.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="More about what happens.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    if quiet and verbose:
        raise typer.BadParameter("--quiet and --verbose exclude each other")
    context.obj = Invocation(workspace, debug, quiet, verbose)


app.command("init")(init.init)
app.command("demo")(demo.demo)
app.command("apply")(apply.apply)
app.command("plan")(apply.plan)
app.command("validate")(validate.validate)
app.command("compile")(compiling.compile_project)
app.command("run")(run.run)
app.command("retry")(run.retry)
app.command("replay")(run.replay)
app.command("cancel")(run.cancel)
app.command("runs")(runs.runs)
app.command("show")(show.show)
app.command("test")(scenarios.run_scenarios)
app.command("doctor")(doctor.doctor)
app.command("gc")(collect.gc)
app.command("activate")(lifecycle.activate)
app.command("deactivate")(lifecycle.deactivate)
app.add_typer(periods.app, name="periods")
app.command("schema")(schema.schema)
app.command("functions")(functions.functions)
app.command("parse")(parse.parse)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line; 0 done, 1 the run or a test failed, 2 the input is wrong, 3 an error of ours."""
    # A command lives shortly and keeps most of what it makes, so collecting often only costs time.
    gc.set_threshold(50_000, 20, 20)
    given = _with_debug_first(sys.argv[1:] if arguments is None else arguments)
    try:
        app(given, prog_name="daybook")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        return _failed(error, is_debug=given[:1] == ["--debug"])
    return 0


def _with_debug_first(arguments: Sequence[str]) -> list[str]:
    """`--debug` is a root option, but everybody adds it at the end of the line that just failed."""
    rest = [argument for argument in arguments if argument != "--debug"]
    return ["--debug", *rest] if len(rest) < len(arguments) else rest


def _failed(error: Exception, *, is_debug: bool) -> int:
    from daybook.cli.terminal import show_error
    from daybook.errors import DaybookError

    if is_debug:
        import traceback

        typer.echo("".join(traceback.format_exception(error)), err=True)
    if isinstance(error, DaybookError):
        show_error(error)
        return WRONG_INPUT
    first_line = (str(error).splitlines() or [""])[0]
    typer.secho("Daybook itself failed", err=True, fg=typer.colors.RED, bold=True)
    typer.echo(f"  {type(error).__name__}: {first_line}", err=True)
    if not is_debug:
        typer.echo("  hint: run it again with --debug, and report what it shows", err=True)
    return INTERNAL_ERROR
