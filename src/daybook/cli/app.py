"""The `daybook` command: its commands by section, and the output and exit codes of errors."""

import gc
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperGroup

from daybook.cli import (
    approvals,
    bridge,
    certificates,
    close,
    demo,
    diff,
    engine,
    explain,
    expressions,
    impact,
    init,
    lifecycle,
    lineage,
    log,
    maintenance,
    people,
    periods,
    policy,
    preview,
    recompute,
    report,
    run,
    runs,
    scenarios,
    serve,
    slices,
    totals,
    validate,
)
from daybook.cli.command_help import add_command
from daybook.cli.exit_codes import INTERNAL_ERROR, INTERRUPTED, WRONG_INPUT
from daybook.cli.root_options import RootOptions, move_root_options_first
from daybook.cli.standard_streams import StandardStreams

# An act that needs approval made a request instead.
REQUEST_MADE = "APPROVAL_001"

# A paragraph that begins with \b is not wrapped.
_EPILOG = """\b
Exit codes:
  0    done
  1    a run failed or was cancelled, a test or a check failed
  2    the input is wrong: an argument, a definition, a period
  3    an internal error of Daybook
  130  stopped by Ctrl-C, with no run to cancel

\b
The options above may be anywhere on the line. `daybook COMMAND --help`
shows examples; `daybook demo` runs a complete example."""

_SECTIONS = {
    "Begin": ("init", "demo"),
    "Definitions": (
        *("validate", "preview", "test", "compile", "plan", "apply", "activate", "deactivate", "impact", "show"),
        *("functions", "parse", "schema"),
    ),
    "Runs": ("run", "build", "status", "graph", "runs", "retry", "cancel", "periods"),
    "Where numbers come from": ("explain", "totals", "lineage", "diff", "bridge", "report", "serve"),
    "Proof": ("replay", "recompute", "seal", "verify", "prove", "keys"),
    "Approvals": ("requests", "approve", "reject", "withdraw", "people", "policy", "log"),
    "Care": ("doctor", "gc", "slices", "engine"),
}


class _CommandsBySection(TyperGroup):
    """The commands, listed by what they are for."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, self.commands))
        for title, names in _SECTIONS.items():
            summaries = [self.commands[name].get_short_help_str(formatter.width) for name in names]
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in zip(names, summaries, strict=True)])


app = typer.Typer(
    name="daybook",
    cls=_CommandsBySection,
    help="Month-end calculations on Spark: declared in YAML, versioned, rerun, explained and audited.",
    epilog=_EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        from daybook.cli.terminal import echo

        echo(f"daybook {version('daybook')}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    workspace: Annotated[
        Path | None,
        typer.Option(
            "--workspace",
            "-w",
            metavar="FOLDER",
            help="A workspace; by default this folder or the nearest one above it.",
        ),
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Results and errors only.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show more details, and Spark's log.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    if quiet and verbose:
        raise typer.BadParameter("--quiet and --verbose cannot be used together")
    context.obj = RootOptions(workspace, debug, quiet, verbose)


add_command(app, "init", init.init, "daybook init sales")
add_command(app, "demo", demo.demo, "daybook demo", "daybook demo my-close --period 2026-02")
add_command(app, "validate", validate.validate, "daybook validate", "daybook validate projects/close.yaml --json")
add_command(app, "compile", validate.compile_project, "daybook compile close --period 2026-01")
add_command(
    app,
    "run",
    run.run,
    "daybook run close --period 2026-01",
    "daybook run close --period 2026-01..2026-12",
    "daybook run projects/close.yaml --period 2026-01 --draft",
    "daybook run close --period 2026-01 --dry-run --json",
)
add_command(
    app,
    "build",
    close.build,
    "daybook build --period 2026-01..2026-03",
    "daybook build board-report --period 2026-01 --dry-run",
)
add_command(app, "status", close.status, "daybook status", "daybook status --period 2026-01..2026-03 --json")
add_command(app, "graph", close.graph, "daybook graph", "daybook graph --period 2026-01 --mermaid")
add_command(
    app,
    "lineage",
    lineage.lineage,
    "daybook lineage close",
    "daybook lineage close net_revenue --all",
    "daybook lineage --downstream gl-lines.amount --json",
)
add_command(app, "retry", run.retry, "daybook retry 20260131-180000-4f1c2a")
add_command(
    app,
    "replay",
    run.replay,
    "daybook replay 20260131-180000-4f1c2a",
    "daybook replay 20260131-180000-4f1c2a --verify",
)
add_command(app, "cancel", run.cancel, "daybook cancel 20260131-180000-4f1c2a")
add_command(app, "runs", runs.runs, "daybook runs", "daybook runs --project close --status failed --json")
add_command(
    app,
    "show",
    runs.show,
    "daybook show project close",
    "daybook show dataset orders --version 2",
    "daybook show run 20260131-180000-4f1c2a --json",
)
add_command(
    app,
    "explain",
    explain.explain,
    "daybook explain IO_021",
    "daybook explain 20260131-180000-4f1c2a 30 region=EMEA month=2026-01-31",
    "daybook explain 20260131-180000-4f1c2a totals region= --limit 100 --json",
)
add_command(
    app,
    "report",
    report.report,
    "daybook report close@2026-01 -o close.html",
    "daybook report 20260131-180000-4f1c2a --no-diff --json",
)
add_command(app, "serve", serve.serve, "daybook serve", "daybook serve --port 9000 --allow-actions")
add_command(
    app,
    "diff",
    diff.diff,
    "daybook diff 20260131-180000-4f1c2a 20260207-090000-91b3d0",
    "daybook diff close@2026-01 close@2026-02 totals --key region",
    "daybook diff close@2026-01 close@2026-02 --rows 0 --tolerance 0.01 --json",
)
add_command(
    app,
    "bridge",
    bridge.bridge,
    "daybook bridge close@2026-01 close@2026-02 --measure total",
    "daybook bridge 20260131-180000-4f1c2a 20260207-090000-91b3d0 -m total --by region",
    "daybook bridge close@2026-01 close@2026-02 -m total --order definition,data --json",
)
add_command(
    app,
    "totals",
    totals.totals,
    "daybook totals close@2026-01",
    "daybook totals 20260131-180000-4f1c2a --measure amount --json",
)
add_command(
    app,
    "impact",
    impact.impact,
    "daybook impact",
    "daybook impact --against origin/main --markdown impact.md",
    "daybook impact close --period 2026-01..2026-03 --fail-over lake.report.total=1000",
)
add_command(
    app,
    "preview",
    preview.preview,
    "daybook preview close --period 2026-01",
    "daybook preview close --period 2026-01 --set threshold=250 --rows 3 --watch",
)
add_command(
    app,
    "recompute",
    recompute.recompute,
    "daybook recompute close@2026-01",
    "daybook recompute 20260131-180000-4f1c2a --rows account=4711 --json",
)
add_command(
    app,
    "test",
    scenarios.run_scenarios,
    "daybook test",
    "daybook test tests/scenarios -k discount",
    "daybook test --quick --watch",
    "daybook test --junit-xml build/scenarios.xml",
)
add_command(app, "plan", lifecycle.plan, "daybook plan", "daybook plan --prune --json")
add_command(app, "apply", lifecycle.apply, "daybook apply", "daybook apply --prune")
add_command(
    app,
    "activate",
    lifecycle.activate,
    "daybook activate close",
    "daybook activate close --dataset-version 3",
)
add_command(app, "deactivate", lifecycle.deactivate, "daybook deactivate close")
add_command(app, "log", log.log, "daybook log", "daybook log --verify --head 9f86d081884c7d65...")
add_command(
    app, "requests", approvals.requests, "daybook requests", "daybook requests 7", "daybook requests --all --json"
)
add_command(app, "approve", approvals.approve, "daybook approve 7", 'daybook approve 7 --reason "compared with SAP"')
add_command(app, "reject", approvals.reject, 'daybook reject 7 --reason "the rates of March are missing"')
add_command(app, "withdraw", approvals.withdraw, "daybook withdraw 7")
app.add_typer(people.people_app, name="people")
app.add_typer(policy.policy_app, name="policy")
app.add_typer(periods.app, name="periods")
add_command(
    app,
    "seal",
    certificates.seal,
    "daybook seal 2026-01 --key file:///safe/controlling.key -o close-2026-01.json",
    "daybook seal 2026-01 --key env://SEAL_KEY --timestamp https://tsa.example/tsr -o close-2026-01.json",
)
add_command(
    app,
    "verify",
    certificates.verify,
    "daybook verify close-2026-01.json --key controlling.pub",
    "daybook --workspace . verify close-2026-*.json --data --recompute",
)
add_command(
    app,
    "prove",
    certificates.prove,
    "daybook prove close-2026-01.json warehouse.totals account=4711 -o proof.json",
)
app.add_typer(certificates.keys_app, name="keys")
app.add_typer(slices.app, name="slices")
app.add_typer(engine.app, name="engine")
add_command(app, "functions", expressions.functions, "daybook functions", "daybook functions EOMONTH")
add_command(
    app,
    "parse",
    expressions.parse,
    "daybook parse 'ROUND(amount * 0.1, 2)' --columns 'amount decimal(18,2)'",
    "daybook parse 'SUM(amount)' --columns 'amount decimal(18,2), region string' --group-by region",
)
add_command(app, "schema", validate.schema, "daybook schema", "daybook schema --out .schemas")
add_command(app, "doctor", maintenance.doctor, "daybook doctor", "daybook doctor --fix")
add_command(app, "gc", maintenance.collect_garbage, "daybook gc --dry-run")


def collect_seldom() -> None:
    """A command runs shortly and keeps most of its objects, so frequent garbage collection only costs time."""
    gc.set_threshold(50_000, 20, 20)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line; 0 done, 1 the run or a test failed, 2 the input is wrong, 3 an internal error.

    Without arguments it is the process `daybook`, whose output may have been closed, end early or go to a full disk.
    """
    if arguments is not None:
        return _execute(arguments)
    streams = StandardStreams()
    code = _execute(sys.argv[1:])
    # Python searches what is left for cycles once more before it ends, which takes a while after a large close.
    gc.freeze()
    if (reason := streams.write_failure()) is None:
        return code
    from daybook.cli.terminal import show_error
    from daybook.errors import DaybookError

    show_error(
        DaybookError("IO_012", location="the standard output", reason=reason, hint="write to another file or device")
    )
    return code or WRONG_INPUT


@cache
def command_tree() -> Callable[..., object]:
    """Made once: reading the signatures of all commands takes longer than most commands that need no Spark."""
    return typer.main.get_command(app)


def _execute(arguments: Sequence[str]) -> int:
    collect_seldom()
    words = move_root_options_first(arguments)
    try:
        command_tree()(words, prog_name="daybook")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        return report_failure(error, is_debug="--debug" in words, as_json="--json" in words)
    return 0


def _first_line_of(error: Exception) -> str:
    try:
        return (str(error).splitlines() or [""])[0]
    except Exception:
        # An error of Java is asked for its text there, and Java may have ended.
        return ""


def report_failure(error: Exception, *, is_debug: bool, as_json: bool) -> int:
    """Show an error, with its traceback where asked for; the exit code for it."""
    from daybook.cli.terminal import echo, echo_json, echo_note, show_error, show_failure
    from daybook.errors import DaybookError
    from daybook.errors.render import findings_of
    from daybook.workspace.system_errors import system_error

    if is_debug:
        import traceback

        echo_note("".join(traceback.format_exception(error)))
    error = system_error(error) or error
    if isinstance(error, DaybookError) and error.code == REQUEST_MADE:
        if as_json:
            echo_json({"request": error.parameters["number"], **error.parameters})
        else:
            echo(error.message)
            echo_note(error.hint or "")
        return 0
    if isinstance(error, DaybookError):
        if as_json:
            echo_json({"errors": findings_of([error])})
        else:
            show_error(error)
        return WRONG_INPUT
    first_line = _first_line_of(error)
    hint = "" if is_debug else "\n  hint: run the command again with --debug, and report the output"
    show_failure("Daybook itself failed", f"  {type(error).__name__}: {first_line}{hint}")
    return INTERNAL_ERROR
