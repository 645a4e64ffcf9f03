"""`daybook test`: runs scenarios, again after each change if asked, and writes new ones."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli import completion
from daybook.cli.arguments import json_option
from daybook.cli.exit_codes import FAILED, WRONG_INPUT
from daybook.cli.open_workspace import open_workspace, open_workspace_with_spark, workspace_session
from daybook.cli.root_options import root_options
from daybook.cli.terminal import confirm, echo, echo_json, echo_marked, echo_note, show_error, show_notice
from daybook.runs.run_listener import RunListener

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from daybook.errors import Notice
    from daybook.scenarios.engines import EngineName
    from daybook.scenarios.run_scenarios import ScenarioResult
    from daybook.workspace.spark_session import BackgroundSession


def run_scenarios(
    context: typer.Context,
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="PATH", help="Files or folders; tests/scenarios by default.")
    ] = None,
    keyword: Annotated[
        str | None, typer.Option("-k", metavar="TEXT", help="Only scenarios whose file or name contains this.")
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Write actual rows into `expect`, after asking.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --update: do not ask.")] = False,
    new: Annotated[
        str | None,
        typer.Option(
            "--new",
            metavar="PROJECT",
            help="Create a scenario from a few rows that its last run read.",
            autocompletion=completion.project_ids,
        ),
    ] = None,
    run_id: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="RUN",
            help="With --new: use this run, by its id or as PROJECT@PERIOD.",
            autocompletion=completion.run_ids("completed"),
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="With --new: the file to write.")] = None,
    within: Annotated[
        str, typer.Option("--within", metavar="TIME", help="With --new: how long to look for rows: 90s, 5m.")
    ] = "60s",
    junit_xml: Annotated[Path | None, typer.Option("--junit-xml", metavar="FILE", help="Write JUnit XML.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Compute without Spark, by the second engine: all of them in seconds.")
    ] = False,
    both: Annotated[
        bool, typer.Option("--both", help="Compute on Spark and by the second engine, and compare every cell.")
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Run again whenever a file changes, until Ctrl-C.")] = False,
    as_json: Annotated[bool, json_option("The results as JSON.")] = False,
) -> None:
    """Run scenarios: rows in, a project, rows expected.

    All of them run in one Spark session. Without Spark on this machine, the second engine computes them, as with
    --quick.
    """
    from daybook.scenarios.load_scenario import DEFAULT_SCENARIO_FOLDER
    from daybook.workspace.scenarios import scenario_engine, select_scenarios

    if new is not None:
        _write_new_scenario(context, new, run_id, out, within, as_json=as_json)
        return
    called = root_options(context)
    # Scenarios that are named need no workspace.
    root = Path() if paths else open_workspace(context).root
    files = select_scenarios(paths or (), root, keyword=keyword)
    if not files:
        where = ", ".join(path.as_posix() for path in paths or [root / DEFAULT_SCENARIO_FOLDER])
        echo_note(f"no scenarios found in {where}" + (f" with {keyword!r} in the file or name" if keyword else ""))
        raise typer.Exit(WRONG_INPUT)

    engine = scenario_engine(quick=quick, both=both)

    def test() -> bool:
        # A scenario may have been added since.
        selected = select_scenarios(paths or (), root, keyword=keyword)
        return _test_scenarios(context, selected, engine, junit_xml, as_json=as_json, update=update, yes=yes)

    if watch:
        _watch(test, (root, *(paths or ())), is_quiet=called.is_quiet or as_json)
    elif not test():
        raise typer.Exit(FAILED)


def _test_scenarios(
    context: typer.Context,
    files: "Sequence[Path]",
    engine: "EngineName",
    junit_xml: Path | None,
    *,
    as_json: bool,
    update: bool,
    yes: bool,
) -> bool:
    """Whether all of them passed."""
    from daybook.workspace.scenarios import run_scenarios

    is_quiet = root_options(context).is_quiet

    def show(result: "ScenarioResult") -> None:
        if not as_json:
            _show_scenario(result, is_quiet=is_quiet)

    with contextlib.nullcontext() if engine == "quick" else _scenario_session(context) as session:
        report = run_scenarios(files, session, engine=engine, on_result=show)
    if junit_xml is not None:
        junit_xml.write_text(report.junit_xml, encoding="utf-8")
    if as_json:
        echo_json(report.outcomes)
    else:
        echo(f"{len(report.results) - len(report.failed)} passed, {len(report.failed)} failed")
    if update:
        _update_expected_rows(report.failed, is_asking=not yes)
    return report.is_ok


def _watch(test: "Callable[[], object]", folders: "Sequence[Path]", *, is_quiet: bool) -> None:
    """Test again after each change; what is wrong with a file is shown, and the next change tried."""
    from daybook.errors import DaybookError
    from daybook.workspace.watch import repeat_on_change

    def attempt() -> None:
        try:
            test()
        except DaybookError as error:
            show_error(error)
        if not is_quiet:
            echo_note("waiting for a change; Ctrl-C ends")

    repeat_on_change(attempt, folders)


def _write_new_scenario(
    context: typer.Context, project: str, run_id: str | None, out: Path | None, within: str, *, as_json: bool
) -> None:
    from daybook.workspace.scenarios import new_scenario

    listener = _SearchLines(is_quiet=root_options(context).is_quiet)
    with open_workspace_with_spark(context) as workspace:
        scenario = new_scenario(workspace, project, run_id=run_id, file=out, within=within, listener=listener)
    if as_json:
        echo_json(scenario)
        return
    echo(f"wrote {scenario.file.as_posix()}: {scenario.rows} rows of run {scenario.run_id}")
    if scenario.missed:
        echo_note(f"no row reaches {', '.join(scenario.missed)}")
    if not scenario.is_reduced:
        echo_note(f"the limit of {within} ended the search, so some of the rows may not be needed; see --within")
    echo_note("it expects what the project computes from these rows now: check that this is correct")


class _SearchLines(RunListener):
    """A line for every step of the search, when it begins."""

    def __init__(self, *, is_quiet: bool) -> None:
        self._is_quiet = is_quiet

    def stage(self, text: str) -> None:
        if not self._is_quiet:
            echo_note(text)

    def notice(self, notice: "Notice") -> None:
        show_notice(notice)


def _scenario_session(context: typer.Context) -> "AbstractContextManager[BackgroundSession]":
    """The session of the workspace around here, or one with default settings where there is none."""
    from daybook.errors import DaybookError
    from daybook.workspace.spark_session import background_session, engines_outside_workspaces

    try:
        return workspace_session(context, open_workspace(context))
    except DaybookError:
        is_verbose = root_options(context).is_verbose
        engines = engines_outside_workspaces()
        on_note = echo_note if is_verbose else lambda text: None
        return background_session(engines.settings, show_log=is_verbose, engines=lambda: engines, on_note=on_note)


def _show_scenario(result: "ScenarioResult", *, is_quiet: bool) -> None:
    from daybook.scenarios.scenario_report import failure_lines

    if result.is_passed:
        if not is_quiet:
            echo_marked("passed", typer.colors.GREEN, f"{result.name}  ({result.duration:.1f} s)")
        return
    echo_marked("FAILED", typer.colors.RED, f"{result.name}  ({result.file})")
    for line in failure_lines(result):
        echo(f"    {line}")


def _update_expected_rows(failed: "Sequence[ScenarioResult]", *, is_asking: bool) -> None:
    from daybook.workspace.scenarios import propose_update

    for result in failed:
        proposed = propose_update(result)
        if proposed is None:
            continue
        if not is_asking or confirm(f"Write the actual rows into {proposed.file}?"):
            proposed.write()
            echo(f"updated {proposed.file}")
