"""Commands about definitions: `validate`, `compile`, `schema`, `functions`, `parse` and `test`."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli import arguments
from daybook.cli.arguments import (
    AsJson,
    ProjectArgument,
    Settings,
    json_option,
    open_workspace,
    open_workspace_with_spark,
    period_option,
    root_options,
    workspace_session,
)
from daybook.cli.terminal import confirm, echo, echo_json, echo_marked, echo_note, show_error, show_notice, show_table
from daybook.runs.run_listener import RunListener

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from daybook.errors import DaybookError, Notice
    from daybook.scenarios.engines import EngineName
    from daybook.scenarios.run_scenarios import ScenarioResult
    from daybook.workspace.reference import FunctionEntry
    from daybook.workspace.spark_session import BackgroundSession


def validate(
    context: typer.Context,
    path: Annotated[
        Path | None,
        typer.Argument(metavar="PATH", help="A file or folder; by default the whole workspace.", show_default=False),
    ] = None,
    as_json: Annotated[bool, json_option("Findings as JSON.")] = False,
) -> None:
    """Check definitions and what projects compute.

    All errors are reported at once, each with its position. Spark is not started.
    """
    from daybook.workspace.validate import validate_definitions

    validation = validate_definitions(path, workspace=root_options(context).workspace)
    if as_json:
        echo_json(validation)
    else:
        for notice in validation.notices:
            show_notice(notice)
        for error in validation.errors:
            show_error(error)
        if not root_options(context).is_quiet:
            echo_note(_validation_summary(validation.definition_count, len(validation.errors), validation.accepted))
        if root_options(context).is_verbose and validation.skipped:
            echo_note(_skipped_summary(validation.skipped))
    if not validation.is_ok:
        raise typer.Exit(2)


def _validation_summary(checked: int, findings: int, accepted: int) -> str:
    definitions = f"{checked} definition{'' if checked == 1 else 's'}"
    outcome = f"{findings} error{'' if findings == 1 else 's'}" if findings else "nothing wrong"
    suffix = f", {accepted} warning{'' if accepted == 1 else 's'} accepted" if accepted else ""
    return f"{definitions}, {outcome}{suffix}"


# How many skipped files are named.
_MOST_FILES = 10


def _skipped_summary(files: "Sequence[Path]") -> str:
    number = f"{len(files)} file{' defines' if len(files) == 1 else 's define'} nothing and "
    names = ", ".join(file.as_posix() for file in files[:_MOST_FILES])
    more = f" and {len(files) - _MOST_FILES} more" if len(files) > _MOST_FILES else ""
    return f"{number}{'was' if len(files) == 1 else 'were'} skipped: {names}{more}"


def compile_project(
    context: typer.Context,
    project: ProjectArgument,
    period: Annotated[str | None, period_option("The period; by default this month.")] = None,
    settings: Settings = None,
    as_json: Annotated[bool, json_option("The plan as JSON.")] = False,
) -> None:
    """Show the steps of a project, with schemas and Spark SQL.

    The project is checked as a whole; Spark is not started. A pattern or a file shows every project it stands for.
    """
    from daybook.model.parameter import parse_settings
    from daybook.workspace.compilation import compile_projects

    parameters = parse_settings(settings or ())
    projects = compile_projects(open_workspace(context), project, period=period, parameters=parameters)
    if as_json:
        descriptions = [compiled.description for compiled in projects]
        echo_json(descriptions if len(descriptions) > 1 else descriptions[0])
        return
    for number, compiled in enumerate(projects):
        echo(f"\n{compiled.text}" if number else compiled.text)
        for notice in compiled.notices:
            show_notice(notice)


def schema(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="The folder to write to.")] = Path(
        "schemas"
    ),
) -> None:
    """Write JSON Schemas for editors."""
    from daybook.workspace.schemas import write_schemas

    for path in write_schemas(out):
        echo(path.as_posix())
    if not root_options(context).is_quiet:
        place = (out / "definition.schema.json").as_posix()
        echo_note(f"Begin a definition with this line\n  # yaml-language-server: $schema={place}")


def functions(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="One function; by default all.", autocompletion=arguments.function_names),
    ] = None,
    as_json: Annotated[bool, json_option("The table as JSON.")] = False,
) -> None:
    """List the functions of the expression language."""
    from daybook.workspace.reference import list_functions

    listing = list_functions(name)
    if as_json:
        echo_json(listing)
        return
    if name is None:
        _show_families(listing)
        return
    (function,) = listing
    over = f"   over {', '.join(function.over)}" if function.over else ""
    echo(f"{function.signature} → {function.result}\n  {function.description}")
    echo(f"  {function.example} = {function.value}{over}")


def _show_families(functions: "Sequence[FunctionEntry]") -> None:
    from itertools import groupby

    for title, family in groupby(functions, key=lambda function: function.family):
        rows = [(function.signature, function.description) for function in family]
        show_table(("", ""), rows, fixed=(0,), heading=title)
        echo("")


def parse(
    expression: Annotated[
        str, typer.Argument(metavar="EXPRESSION", help="An expression of a selector or an assignment.")
    ],
    columns: Annotated[
        str, typer.Option(metavar="COLUMNS", help='Columns and their types: "amount decimal, status string".')
    ] = "",
    group_by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS", help="Check it as an aggregation grouped by these columns, separated by commas."
        ),
    ] = None,
    named: Annotated[
        list[str] | None,
        typer.Option("--named", metavar="NAME=EXPRESSION", help="The expression named {{NAME}}; may be repeated."),
    ] = None,
    parameters: Annotated[
        str,
        typer.Option(
            metavar="PARAMETERS", help='Parameters and their types: "threshold decimal", used as param.threshold.'
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Check an expression and show its type and its Spark SQL.

    Spark is not started. Windows are allowed, as in an assignment of an update.
    """
    from daybook.errors import DaybookError, flatten, raise_all
    from daybook.model.parameter import parse_settings
    from daybook.workspace.reference import check_expression

    groups = None if group_by is None else [name.strip() for name in group_by.split(",") if name.strip()]
    try:
        names = parse_settings(named or (), "NAME=EXPRESSION", option="--named")
        checked = check_expression(expression, columns=columns, group_by=groups, names=names, parameters=parameters)
    except DaybookError as error:
        raise_all(_with_columns_hint(single) if not columns.strip() else single for single in flatten(error))
        raise
    if as_json:
        echo_json(checked)
        return
    echo(f"expression  {checked.expression}")
    echo(f"type        {checked.type}")
    echo(f"columns     {', '.join(checked.columns) or 'none'}")
    echo(f"SQL         {checked.sql}")


def _with_columns_hint(error: "DaybookError") -> "DaybookError":
    """An unknown column where none were named: they can be."""
    from daybook.errors import DaybookError

    if error.code != "EXPR_012":
        return error
    name = error.parameters["name"]
    hint = f"name the columns and their types, as in --columns '{name} decimal(18,2)'"
    return DaybookError(error.code, span=error.span, hint=hint, name=name)


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
            autocompletion=arguments.project_ids,
        ),
    ] = None,
    run_id: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="RUN",
            help="With --new: use this run, by its id or as PROJECT@PERIOD.",
            autocompletion=arguments.run_ids("completed"),
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
        raise typer.Exit(1)


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
        return background_session(engines.settings, show_log=is_verbose, engines=engines, on_note=on_note)


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
    from daybook.workspace.scenarios import propose_update

    for result in failed:
        proposed = propose_update(result)
        if proposed is None:
            continue
        if not is_asking or confirm(f"Write the actual rows into {proposed.file}?"):
            proposed.write()
            echo(f"updated {proposed.file}")
