"""`daybook test`: scenarios, all in one Spark session."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.invocation import invocation, workspace_root
from daybook.cli.parameters import json_option
from daybook.cli.terminal import remark, say, say_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daybook.model.workspace_file import EngineSettings
    from daybook.scenarios.running import ScenarioResult

_THREADS = 4
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
    from daybook.cli.spark_session import background_session
    from daybook.scenarios.loading import find_scenarios
    from daybook.scenarios.reporting import junit
    from daybook.scenarios.running import run_files

    called = invocation(context)
    files = [path for path in find_scenarios(paths or (), _root(context, paths)) if _is_wanted(path, keyword)]
    if not files:
        where = ", ".join(path.as_posix() for path in paths or [_root(context, paths) / "tests" / "scenarios"])
        remark(f"no scenarios in {where}" + (f" have {keyword!r} in their file or name" if keyword else ""))
        raise typer.Exit(WRONG_INPUT)
    results = []
    with background_session(_engine(context), show_log=called.is_verbose) as session:
        for result in run_files(session(), files, threads=min(_THREADS, len(files))):
            results.append(result)
            if not as_json:
                _show(result, is_quiet=called.is_quiet)
    if junit_xml is not None:
        junit_xml.write_text(junit(results), encoding="utf-8")
    if as_json:
        say_json([_as_data(result) for result in results])
    failed = [result for result in results if not result.is_passed]
    if not as_json:
        say(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    if update and failed:
        _update(failed, is_asking=not yes)
    if failed:
        raise typer.Exit(1)


def _root(context: typer.Context, paths: "list[Path] | None") -> Path:
    return Path() if paths else workspace_root(context)


def _engine(context: typer.Context) -> "EngineSettings":
    """Scenarios need no workspace when they are named."""
    from daybook.cli.workspace_store import settings
    from daybook.errors import DaybookError
    from daybook.model.workspace_file import EngineSettings

    try:
        return settings(context)[1].engine
    except DaybookError:
        return EngineSettings()


def _is_wanted(path: Path, keyword: str | None) -> bool:
    if keyword is None:
        return True
    first_lines = path.read_text(encoding="utf-8", errors="replace")[:2000]
    name = next((line for line in first_lines.splitlines() if line.startswith("name:")), "")
    return keyword.casefold() in f"{path.as_posix()} {name}".casefold()


def _show(result: "ScenarioResult", *, is_quiet: bool) -> None:
    from daybook.scenarios.reporting import explain

    if result.is_passed:
        if not is_quiet:
            say(f"{typer.style('passed', fg=typer.colors.GREEN)}  {result.name}  ({result.duration:.1f} s)")
        return
    say(f"{typer.style('FAILED', fg=typer.colors.RED, bold=True)}  {result.name}  ({result.file})")
    for line in explain(result):
        say(f"    {line}")


def _update(failed: "Sequence[ScenarioResult]", *, is_asking: bool) -> None:
    from daybook.scenarios.updating import updated_text, write

    for result in failed:
        text = updated_text(result)
        if text is None:
            continue
        if not is_asking or typer.confirm(f"Write the actual rows into {result.file}?"):
            write(result.file, text)
            say(f"updated {result.file}")


def _as_data(result: "ScenarioResult") -> dict[str, object]:
    from daybook.scenarios.reporting import explain

    return {
        "file": result.file.as_posix(),
        "name": result.name,
        "is_passed": result.is_passed,
        "seconds": round(result.duration, 3),
        "explanation": list(explain(result)),
    }
