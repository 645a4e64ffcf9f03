"""`daybook validate`, `compile` and `schema`: checks definitions, and shows what projects become."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.arguments import ProjectArgument, Settings, json_option, period_option
from daybook.cli.exit_codes import WRONG_INPUT
from daybook.cli.open_workspace import open_workspace
from daybook.cli.root_options import root_options
from daybook.cli.terminal import echo, echo_json, echo_note, show_error, show_notice

if TYPE_CHECKING:
    from collections.abc import Sequence


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
        raise typer.Exit(WRONG_INPUT)


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
