"""`daybook validate`, `daybook compile` and `daybook schema`."""

from pathlib import Path
from typing import Annotated

import typer

from daybook.cli.arguments import ProjectArgument, Settings, json_option, open_workspace, period_option, root_options
from daybook.cli.terminal import echo, echo_json, echo_note, show_error, show_notice


def validate(
    context: typer.Context,
    path: Annotated[
        Path | None,
        typer.Argument(metavar="PATH", help="A file or folder; by default the whole workspace.", show_default=False),
    ] = None,
    as_json: Annotated[bool, json_option("Findings as JSON.")] = False,
) -> None:
    """Check definitions and what projects compute.

    Everything that is wrong is reported at once, with its place. Spark is not started.
    """
    from daybook.workspace.definitions import validate_definitions
    from daybook.workspace.json.results import validation_as_json

    found = validate_definitions(path, workspace=root_options(context).workspace)
    if as_json:
        echo_json(validation_as_json(found))
    else:
        for notice in found.notices:
            show_notice(notice)
        for error in found.errors:
            show_error(error)
        if not root_options(context).is_quiet:
            echo_note(_validation_summary(found.definition_count, len(found.errors), found.accepted))
    if not found.is_ok:
        raise typer.Exit(2)


def _validation_summary(checked: int, findings: int, accepted: int) -> str:
    definitions = f"{checked} definition{'' if checked == 1 else 's'}"
    found = f"{findings} error{'' if findings == 1 else 's'}" if findings else "nothing wrong"
    known = f", {accepted} warning{'' if accepted == 1 else 's'} accepted" if accepted else ""
    return f"{definitions}, {found}{known}"


def compile_project(
    context: typer.Context,
    project: ProjectArgument,
    period: Annotated[str | None, period_option("The period; by default this month.")] = None,
    settings: Settings = None,
    as_json: Annotated[bool, json_option("The plan as JSON.")] = False,
) -> None:
    """Show the steps of a project, with schemas and Spark SQL.

    The project is checked as a whole; Spark is not started.
    """
    from daybook.model.parameter import parse_settings
    from daybook.workspace.definitions import compile_project
    from daybook.workspace.json.results import compiled_as_json

    given = parse_settings(settings or ())
    compiled = compile_project(open_workspace(context), project, period=period, parameters=given)
    if as_json:
        echo_json(compiled_as_json(compiled))
        return
    echo(compiled.text)
    for notice in compiled.notices:
        show_notice(notice)


def schema(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="The folder to write to.")] = Path(
        "schemas"
    ),
) -> None:
    """Write JSON Schemas for editors."""
    from daybook.workspace.definitions import write_schemas

    for path in write_schemas(out):
        echo(path.as_posix())
    if not root_options(context).is_quiet:
        place = (out / "definition.schema.json").as_posix()
        echo_note(f"Begin a definition with this line\n  # yaml-language-server: $schema={place}")
