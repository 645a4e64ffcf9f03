"""`daybook demo`: a month-end close on generated data, from nothing to numbers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.invocation import Invocation, invocation
from daybook.cli.parameters import json_option, period_option
from daybook.cli.terminal import remark, say_json

if TYPE_CHECKING:
    from daybook.demo.making import Made
    from daybook.runs.result import RunResult

FAILED = 1


def demo(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to make it.")] = Path("daybook-demo"),
    period: Annotated[str, period_option("A month, or a range of months.")] = "2026-01",
    no_run: Annotated[bool, typer.Option("--no-run", help="Only make the workspace.")] = False,
    as_json: Annotated[bool, json_option("Runs and headline numbers as JSON.")] = False,
) -> None:
    """Make a workspace with a year of ledger data and close a month.

    A second call runs what is in the folder, with your changes.
    """
    from daybook.cli import demo_report, run_data
    from daybook.demo.headline import headline
    from daybook.demo.making import make_workspace

    called = invocation(context)
    made = make_workspace(folder)
    if not (called.is_quiet or as_json):
        remark(f"{'Made' if made.is_new else 'Using'} the workspace {folder.as_posix()}")
    if no_run:
        _write_data(made, is_quiet=called.is_quiet or as_json)
        return
    results = _closed(folder, period, made, called, as_json=as_json)
    # A range of months ends with the one that is shown.
    last = results[-1].period
    lines = headline(folder, last)
    if as_json:
        runs = [run_data.of_result(result) for result in results]
        say_json({"workspace": str(folder.resolve()), "runs": runs, "headline": demo_report.as_data(lines)})
        return
    if not called.is_quiet:
        demo_report.show_runs(results)
    demo_report.show_headline(lines, last)
    if not called.is_quiet:
        demo_report.show_files(results)
        demo_report.show_next(folder, results)


def _closed(folder: Path, period: str, made: "Made", called: Invocation, *, as_json: bool) -> "list[RunResult]":
    """Both projects, run in one Spark session that starts while the data is written."""
    from daybook.cli import run_report
    from daybook.cli.run_progress import waiting, watching
    from daybook.cli.spark_session import background_session
    from daybook.demo.closing import close_month
    from daybook.model.loading import load_workspace
    from daybook.runs.opening import surroundings
    from daybook.runs.result import RunFailedError

    is_quiet = called.is_quiet or as_json
    workspace = load_workspace(folder)
    with background_session(workspace.settings.engine, show_log=called.is_verbose) as session:
        session.begin()
        _write_data(made, is_quiet=is_quiet)
        with waiting("Starting Spark", is_quiet=is_quiet):
            session()
        try:
            with watching(is_quiet=is_quiet) as listener, surroundings(workspace, session, listener) as around:
                return list(close_month(workspace, around, period))
        except RunFailedError as failed:
            run_report.show_failure(failed, as_json=as_json)
            raise typer.Exit(FAILED) from None


def _write_data(made: "Made", *, is_quiet: bool) -> None:
    if made.write_data is None:
        return
    lines = made.write_data()
    if not is_quiet:
        remark(f"Wrote {lines:,} journal lines, exchange rates, budgets and master data")
