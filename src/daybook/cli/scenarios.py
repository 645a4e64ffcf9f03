"""`daybook test`: runs scenarios in one Spark session."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli import completion
from daybook.cli.arguments import (
    json_option,
    open_workspace,
    open_workspace_with_spark,
    root_options,
    workspace_session,
)
from daybook.cli.terminal import confirm, echo, echo_json, echo_marked, echo_note

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from daybook.scenarios.run_scenarios import ScenarioResult
    from daybook.workspace.spark_session import BackgroundSession

WRONG_INPUT = 2


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
    junit_xml: Annotated[Path | None, typer.Option("--junit-xml", metavar="FILE", help="Write JUnit XML.")] = None,
    as_json: Annotated[bool, json_option("The results as JSON.")] = False,
) -> None:
    """Run scenarios: rows in, a project, rows expected.

    All of them run in one Spark session.
    """
    from daybook.scenarios.load_scenario import DEFAULT_SCENARIO_FOLDER
    from daybook.workspace.json.results import scenarios_as_json
    from daybook.workspace.scenario_tests import run_scenarios, select_scenarios

    if new is not None:
        _write_new_scenario(context, new, run_id, out, as_json=as_json)
        return
    called = root_options(context)
    # Scenarios that are named need no workspace.
    root = Path() if paths else open_workspace(context).root
    files = select_scenarios(paths or (), root, keyword=keyword)
    if not files:
        where = ", ".join(path.as_posix() for path in paths or [root / DEFAULT_SCENARIO_FOLDER])
        echo_note(f"no scenarios found in {where}" + (f" with {keyword!r} in the file or name" if keyword else ""))
        raise typer.Exit(WRONG_INPUT)

    def show(result: "ScenarioResult") -> None:
        if not as_json:
            _show_scenario(result, is_quiet=called.is_quiet)

    with _scenario_session(context) as session:
        report = run_scenarios(files, session, on_result=show)
    if junit_xml is not None:
        junit_xml.write_text(report.junit_xml, encoding="utf-8")
    if as_json:
        echo_json(scenarios_as_json(report))
    else:
        echo(f"{len(report.results) - len(report.failed)} passed, {len(report.failed)} failed")
    if update:
        _update_expected_rows(report.failed, is_asking=not yes)
    if not report.is_ok:
        raise typer.Exit(1)


def _write_new_scenario(
    context: typer.Context, project: str, run_id: str | None, out: Path | None, *, as_json: bool
) -> None:
    from daybook.workspace.json.results import new_scenario_as_json
    from daybook.workspace.scenario_tests import new_scenario

    with open_workspace_with_spark(context) as workspace:
        made = new_scenario(workspace, project, run_id=run_id, file=out)
    if as_json:
        echo_json(new_scenario_as_json(made))
        return
    echo(f"wrote {made.file.as_posix()}: {made.rows} rows of run {made.run_id}")
    if made.missed:
        echo_note(f"no row reaches {', '.join(made.missed)}")
    echo_note("it expects what the project computes from these rows now: check that this is correct")


def _scenario_session(context: typer.Context) -> "AbstractContextManager[BackgroundSession]":
    """The session of the workspace around here, or one with default settings where there is none."""
    from daybook.errors import DaybookError
    from daybook.model.settings import EngineSettings
    from daybook.workspace.spark_session import background_session

    try:
        return workspace_session(context, open_workspace(context))
    except DaybookError:
        return background_session(EngineSettings(), show_log=root_options(context).is_verbose)


def _show_scenario(result: "ScenarioResult", *, is_quiet: bool) -> None:
    from daybook.scenarios.report import failure_lines

    if result.is_passed:
        if not is_quiet:
            echo_marked("passed", typer.colors.GREEN, f"{result.name}  ({result.duration:.1f} s)")
        return
    echo_marked("FAILED", typer.colors.RED, f"{result.name}  ({result.file})")
    for line in failure_lines(result):
        echo(f"    {line}")


def _update_expected_rows(failed: "Sequence[ScenarioResult]", *, is_asking: bool) -> None:
    from daybook.workspace.scenario_tests import propose_update

    for result in failed:
        proposed = propose_update(result)
        if proposed is None:
            continue
        if not is_asking or confirm(f"Write the actual rows into {proposed.file}?"):
            proposed.write()
            echo(f"updated {proposed.file}")
