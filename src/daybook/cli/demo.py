"""`daybook demo`: creates the demonstration, closes its quarter, and shows the results as tables and bars."""

import shlex
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.arguments import json_option, period_option
from daybook.cli.build_progress import build_listener
from daybook.cli.certificates import show_verification
from daybook.cli.close import show_build_result, show_status
from daybook.cli.exit_codes import FAILED, INTERRUPTED
from daybook.cli.root_options import RootOptions, root_options
from daybook.cli.run_results import format_seconds, show_effects
from daybook.cli.terminal import console, echo, echo_json, echo_note, shorten_path, show_table
from daybook.cli.variance_chart import ASCII_GLYPHS, BLOCK_GLYPHS, ChartBar, variance_chart

if TYPE_CHECKING:
    from daybook.compare.bridge_result import BridgeResult
    from daybook.demo.month_close import DemoQuarter, DemoResult, HeadlineLine, SealedMonth
    from daybook.demo.workspace_files import DemoWorkspace
    from daybook.runs.run_result import RunResult
    from daybook.workspace.totals import TotalsOfRun


_CHART_WIDTH = _TEXT_WIDTH = 78


def show_runs(results: "Iterable[RunResult]") -> None:
    for result in results:
        echo(f"\n{result.project_id} for {result.period} in {format_seconds(result.duration_ms)}\n")
        show_effects(result.operations, result.names)


def show_headline(lines: "Sequence[HeadlineLine]", period: str) -> None:
    """The table, then the variances as bars."""
    from daybook.errors.render import one_line

    echo(f"\nActual versus budget {period}, in euro: income positive, costs negative\n")
    titles = ("  account type", "actual", "budget", "variance", "%", "")
    rows = [[(cell, "bold" if line.is_result else "") for cell in _headline_cells(line)] for line in lines]
    show_table(titles, rows, right=(1, 2, 3, 4))
    bars = [ChartBar(one_line(line.account_type), line.variance) for line in lines if not line.is_result]
    if bars:
        screen = console()
        echo("\nVariance: bars to the right are good for the result\n")
        glyphs = ASCII_GLYPHS if screen.options.ascii_only else BLOCK_GLYPHS
        for text in variance_chart(bars, width=min(screen.width, _CHART_WIDTH), glyphs=glyphs):
            screen.print(text)


def show_correction(bridge: "BridgeResult") -> None:
    """What the close would be with the rates as they were corrected later in the month, as a waterfall."""
    from daybook.cli.waterfall import show_waterfall

    echo(f"\nWhy the result of {bridge.b.period} changes with the rates corrected by its end\n")
    if bridge.causes:
        show_waterfall(bridge)
    else:
        echo("  it does not change")


def show_quarter(quarter: "DemoQuarter") -> None:
    """The other months of the quarter, built after the first, and what is up to date now."""
    echo(f"\ndaybook build --period {quarter.span}\n")
    show_build_result(quarter.build)
    echo(f"\ndaybook status --period {quarter.span}\n")
    show_status(quarter.status)


def show_sealed_month(sealed: "SealedMonth") -> None:
    """The certificate, as `daybook verify` shows it."""
    certificate, public_key = shorten_path(sealed.certificate), shorten_path(sealed.public_key)
    echo(f"\ndaybook periods lock {sealed.seal.period}\ndaybook seal {sealed.seal.period}: {certificate}")
    echo(f"\ndaybook verify {certificate} \\\n  --key {public_key} --data --recompute\n")
    show_verification(sealed.verification, is_quiet=False)


def show_accounted(totals: "TotalsOfRun") -> None:
    """What came in, what the operations did to it, and what was written, measure by measure."""
    import textwrap

    from daybook.workspace.totals import balance_sentences

    echo("\nEvery euro is accounted for\n")
    for sentence in balance_sentences(totals):
        echo(textwrap.fill(sentence, _TEXT_WIDTH, initial_indent="  ", subsequent_indent="    "))


def show_files(results: "Iterable[RunResult]") -> None:
    outputs = [output for result in results for output in result.outputs]
    width = max(len(shorten_path(output.place)) for output in outputs)
    echo("\nWhere the numbers are: a table has all months, a file has one month\n")
    for output in outputs:
        kind = "Delta table" if output.format == "delta" else output.format.upper()
        echo(f"  {shorten_path(output.place):<{width}}  {kind}")
    for output in outputs:
        if output.dataset_id:
            echo(f"\n  The second project read the first table, as dataset {output.dataset_id}.")


def show_next_steps(folder: Path, results: "Sequence[RunResult]") -> None:
    """Commands that work without changes, inside the workspace."""
    run_id = results[0].run_id
    commands = (
        ("daybook run close -p 2026-04", "April; other months stay"),
        ("daybook run close -p 2026-01 --as-of 2026-01-31", "the corrected dollar rate"),
        (f"daybook show run {run_id}", "what ran, on which data"),
        (f"daybook explain {run_id} 110", "the rows behind the numbers"),
        ("daybook diff close@2026-01 close@2026-02", "changes; `bridge`: why"),
        (f"daybook replay {run_id} --verify", "compute again and compare"),
        ("daybook test", "the tests of the close"),
        ("daybook totals close@2026-01", "where every euro went"),
        ("daybook status", "what is up to date"),
        ("daybook build -p 2026-01..2026-03", "bring it up to date"),
        ("daybook serve", "all of it in a browser"),
        ("daybook report close@2026-01", "January as one HTML file"),
    )
    echo_note("\nWhat to try next\n")
    echo_note(f"  cd {shlex.quote(folder.as_posix())}")
    width = max(len(command) for command, _ in commands)
    for command, meaning in commands:
        echo_note(f"  {command:<{width}}  # {meaning}")
    echo_note("\nThen break something: in projects/close.yaml, operation 20, write the expression")
    echo_note("ROUND(amout * rates.rate, 2), and run `daybook validate`. Or change what it")
    echo_note("computes: `daybook run close -p 2026-01 --draft` tries that out in the sandbox,")
    echo_note("and `daybook activate close` makes it the version that runs.")


def _headline_cells(line: "HeadlineLine") -> tuple[str, ...]:
    percent = "" if line.percent is None else f"{line.percent:+,.1f}"
    return (
        f"  {line.account_type}",
        *map(_format_euro, (line.actual, line.budget, line.variance)),
        percent,
        line.remark or "",
    )


def _format_euro(amount: Decimal) -> str:
    return f"{amount:,.2f}"


def demo(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the demo.")] = Path("daybook-demo"),
    period: Annotated[str, period_option("A month, or a range of months.")] = "2026-01",
    no_run: Annotated[bool, typer.Option("--no-run", help="Create the workspace, run nothing.")] = False,
    as_json: Annotated[bool, json_option("Runs and headline numbers as JSON.")] = False,
) -> None:
    """Create a workspace with a year of ledger data, close a month and build its quarter.

    A second call runs what is in the folder, with your changes.
    """
    from daybook.demo.month_close import demo_as_json
    from daybook.demo.workspace_files import make_demo_workspace

    called = root_options(context)
    workspace = make_demo_workspace(folder)
    if not (called.is_quiet or as_json):
        echo_note(f"{'Created' if workspace.is_new else 'Using'} the workspace {folder.as_posix()}")
    if no_run:
        _write_data(workspace, is_quiet=called.is_quiet or as_json)
        return
    done, quarter, sealed = _run_close(folder, period, workspace, called, as_json=as_json)
    if as_json:
        echo_json(demo_as_json(done, quarter))
    else:
        show_quarter(quarter)
        if sealed is not None:
            show_sealed_month(sealed)
        if not called.is_quiet:
            show_files(done.runs)
            if done.totals is not None:
                show_accounted(done.totals)
            show_next_steps(folder, done.runs)
    if not quarter.build.is_ok:
        raise typer.Exit(INTERRUPTED if quarter.build.is_cancelled else FAILED)


def _show_month(done: "DemoResult", *, is_quiet: bool) -> None:
    if not is_quiet:
        show_runs(done.runs)
    show_headline(done.headline, done.period)
    if done.correction is not None:
        show_correction(done.correction)


def _run_close(
    folder: Path, period: str, demo_workspace: "DemoWorkspace", called: RootOptions, *, as_json: bool
) -> "tuple[DemoResult, DemoQuarter, SealedMonth | None]":
    """The month, the quarter and the seal of the month, in one Spark session that starts while the data is written."""
    from dataclasses import replace

    from daybook.cli import run_results
    from daybook.cli.terminal import run_listener, spinner
    from daybook.demo.month_close import build_quarter, close_month, seal_month
    from daybook.runs.run_result import RunFailedError
    from daybook.workspace.open_workspace import open_workspace
    from daybook.workspace.spark_session import background_session

    is_quiet = called.is_quiet or as_json
    workspace = open_workspace(folder)
    with background_session(workspace.settings.engine, show_log=called.is_verbose) as session:
        session.begin()
        _write_data(demo_workspace, is_quiet=is_quiet)
        with spinner("Starting Spark", is_quiet=is_quiet):
            session()
        try:
            workspace = replace(workspace, session=session)
            with run_listener(is_quiet=is_quiet) as listener:
                done = close_month(workspace, period, listener=listener)
            if not as_json:
                _show_month(done, is_quiet=called.is_quiet)
            with build_listener(is_quiet=is_quiet) as watching:
                quarter = build_quarter(workspace, done.period, listener=watching)
            return done, quarter, seal_month(workspace, done.period) if quarter.build.is_ok else None
        except RunFailedError as failed:
            run_results.show_run_failure(failed, as_json=as_json)
            raise typer.Exit(FAILED) from None


def _write_data(workspace: "DemoWorkspace", *, is_quiet: bool) -> None:
    if workspace.write_data is None:
        return
    lines = workspace.write_data()
    if not is_quiet:
        echo_note(f"Wrote {lines:,} journal lines, exchange rates, budgets and master data")
