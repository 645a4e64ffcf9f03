"""`daybook test`: scenarios, all in one Spark session."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.arguments import find_workspace_root, json_option, root_options
from daybook.cli.terminal import echo, echo_json, echo_note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daybook.model.settings import EngineSettings
    from daybook.scenarios.run_scenarios import ScenarioResult

_MOST_THREADS = 4
WRONG_INPUT = 2


def run_scenarios(
    context: typer.Context,
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="PATH", help="Files or folders; tests/scenarios by default.")
    ] = None,
    keyword: Annotated[
        str | None, typer.Option("-k", metavar="TEXT", help="Only scenarios whose file or name has this.")
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Write actual rows into `expect`, after asking.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --update: do not ask.")] = False,
    junit_xml: Annotated[Path | None, typer.Option("--junit-xml", metavar="FILE", help="Write JUnit XML.")] = None,
    as_json: Annotated[bool, json_option("The results as JSON.")] = False,
) -> None:
    """Run scenarios: rows in, a project, rows expected.

    All of them run in one Spark session.
    """
    from daybook.scenarios.report import render_junit
    from daybook.scenarios.run_scenarios import run_scenario_files
    from daybook.scenarios.scenario import find_scenarios
    from daybook.workspace.spark_session import background_session

    called = root_options(context)
    files = [
        path for path in find_scenarios(paths or (), _scenario_root(context, paths)) if _matches_keyword(path, keyword)
    ]
    if not files:
        where = ", ".join(path.as_posix() for path in paths or [_scenario_root(context, paths) / "tests" / "scenarios"])
        echo_note(f"no scenarios in {where}" + (f" have {keyword!r} in their file or name" if keyword else ""))
        raise typer.Exit(WRONG_INPUT)
    results = []
    with background_session(_engine_settings(context), show_log=called.is_verbose) as session:
        for result in run_scenario_files(session(), files, threads=min(_MOST_THREADS, len(files))):
            results.append(result)
            if not as_json:
                _show_scenario(result, is_quiet=called.is_quiet)
    if junit_xml is not None:
        junit_xml.write_text(render_junit(results), encoding="utf-8")
    if as_json:
        echo_json([_scenario_as_json(result) for result in results])
    failed = [result for result in results if not result.is_passed]
    if not as_json:
        echo(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    if update and failed:
        _update_expected_rows(failed, is_asking=not yes)
    if failed:
        raise typer.Exit(1)


def _scenario_root(context: typer.Context, paths: "list[Path] | None") -> Path:
    return Path() if paths else find_workspace_root(context)


def _engine_settings(context: typer.Context) -> "EngineSettings":
    """Scenarios need no workspace when they are named."""
    from daybook.cli.arguments import root_and_settings
    from daybook.errors import DaybookError
    from daybook.model.settings import EngineSettings

    try:
        return root_and_settings(context)[1].engine
    except DaybookError:
        return EngineSettings()


def _matches_keyword(path: Path, keyword: str | None) -> bool:
    if keyword is None:
        return True
    first_lines = path.read_text(encoding="utf-8", errors="replace")[:2000]
    name = next((line for line in first_lines.splitlines() if line.startswith("name:")), "")
    return keyword.casefold() in f"{path.as_posix()} {name}".casefold()


def _show_scenario(result: "ScenarioResult", *, is_quiet: bool) -> None:
    from daybook.scenarios.report import failure_lines

    if result.is_passed:
        if not is_quiet:
            echo(f"{typer.style('passed', fg=typer.colors.GREEN)}  {result.name}  ({result.duration:.1f} s)")
        return
    echo(f"{typer.style('FAILED', fg=typer.colors.RED, bold=True)}  {result.name}  ({result.file})")
    for line in failure_lines(result):
        echo(f"    {line}")


def _update_expected_rows(failed: "Sequence[ScenarioResult]", *, is_asking: bool) -> None:
    from daybook.scenarios.report import updated_scenario_text, write_scenario

    for result in failed:
        text = updated_scenario_text(result)
        if text is None:
            continue
        if not is_asking or typer.confirm(f"Write the actual rows into {result.file}?"):
            write_scenario(result.file, text)
            echo(f"updated {result.file}")


def _scenario_as_json(result: "ScenarioResult") -> dict[str, object]:
    from daybook.scenarios.report import failure_lines

    return {
        "file": result.file.as_posix(),
        "name": result.name,
        "is_passed": result.is_passed,
        "seconds": round(result.duration, 3),
        "explanation": list(failure_lines(result)),
    }
