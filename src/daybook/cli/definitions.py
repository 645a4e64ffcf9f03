"""`daybook validate`: everything that is wrong with the definitions, at once.

`daybook compile`: the checked plan of a project, without Spark.

`daybook schema`: JSON Schemas for editors.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.arguments import ProjectArgument, find_workspace_root, json_option, period_option, root_options
from daybook.cli.terminal import echo, echo_json, echo_note, show_error, show_notice
from daybook.workspace.result_json import notice_as_json

if TYPE_CHECKING:
    from datetime import date

    from daybook.errors import DaybookError, Notice
    from daybook.model.period import Period
    from daybook.resolve.calendars.calendar import PeriodCalendar


def validate(
    context: typer.Context,
    path: Annotated[
        Path | None,
        typer.Argument(metavar="PATH", help="A file or folder; left out, the whole workspace.", show_default=False),
    ] = None,
    as_json: Annotated[bool, json_option("Findings as JSON.")] = False,
) -> None:
    """Check definitions and what projects compute.

    Everything that is wrong is reported at once, with its place. Spark is not started.
    """
    from daybook.errors import error_to_json

    found = _validated(context, path)
    errors = found.errors
    if as_json:
        echo_json(
            {
                "ok": not errors,
                "definitions": found.checked,
                "errors": [error_to_json(error) for error in errors],
                "notices": [notice_as_json(notice) for notice in found.notices],
            }
        )
    else:
        for notice in found.notices:
            show_notice(notice)
        for error in errors:
            show_error(error)
        if not root_options(context).is_quiet:
            echo_note(_validation_summary(found.checked, len(errors)))
    if errors:
        raise typer.Exit(2)


@dataclass(frozen=True, slots=True)
class _ValidationResult:
    """How many definitions were looked at, and what there is to say of them."""

    checked: int
    errors: "list[DaybookError]"
    notices: "list[Notice]" = field(default_factory=list)


def _validated(context: typer.Context, path: Path | None) -> _ValidationResult:
    from daybook.errors import DaybookError
    from daybook.model.loading.workspace import read_workspace
    from daybook.store.project_checks import check_workspace

    if path is not None and not path.exists():
        raise DaybookError("MODEL_064", path=path.as_posix())
    root = _workspace_around(context, path)
    if root is None:
        return _validate_file(path or Path())
    workspace, errors = read_workspace(root)
    findings = check_workspace(workspace)
    errors += findings.errors
    definitions = [one for one in workspace.all() if path is None or _is_within(one.file, path)]
    concerned = [error for error in errors if path is None or error.span is None or _is_within(error.span.file, path)]
    if path is not None and path.is_file() and not definitions and not concerned:
        # The workspace skips the file, so it is checked by itself.
        return _validate_file(path)
    notices = [one for one in findings.notices if path is None or one.span is None or _is_within(one.span.file, path)]
    return _ValidationResult(len(definitions), concerned, notices)


def _workspace_around(context: typer.Context, path: Path | None) -> Path | None:
    """The workspace around the path or this folder; None for a file outside of any."""
    from daybook.errors import DaybookError
    from daybook.model.loading import find_workspace

    if path is None or root_options(context).workspace is not None:
        return find_workspace_root(context)
    try:
        return find_workspace(path)
    except DaybookError:
        if path.is_file():
            return None
        raise


def _validate_file(path: Path) -> _ValidationResult:
    """One file by itself: its form, without what it refers to."""
    from daybook.errors import DaybookError
    from daybook.model.loading.definitions import read_definitions, read_text
    from daybook.model.loading.workspace import WORKSPACE_FILE, load_settings

    if path.name == WORKSPACE_FILE:
        return _ValidationResult(0, load_settings(path.parent)[1])
    definitions, errors = read_definitions(read_text(path), path.as_posix())
    if not definitions and not errors:
        raise DaybookError("MODEL_065", file=path.as_posix())
    return _ValidationResult(len(definitions), errors)


def _is_within(file: str | None, path: Path) -> bool:
    return file is not None and Path(file).resolve().is_relative_to(path.resolve())


def _validation_summary(checked: int, findings: int) -> str:
    definitions = f"{checked} definition{'' if checked == 1 else 's'}"
    if not findings:
        return f"{definitions}, nothing wrong"
    return f"{definitions}, {findings} error{'' if findings == 1 else 's'}"


def compile_project(
    context: typer.Context,
    project: ProjectArgument,
    period: Annotated[str | None, period_option("The period; otherwise this month.")] = None,
    as_json: Annotated[bool, json_option("The plan as JSON.")] = False,
) -> None:
    """Show the steps of a project, with schemas and Spark SQL.

    The project is checked as a whole; Spark is not started.
    """
    from datetime import UTC, datetime

    from daybook.cli.arguments import load_checked_workspace, open_store_or_empty
    from daybook.expression import Constants
    from daybook.plan.description import describe_plan, explain_plan
    from daybook.plan.plan_project import plan_project
    from daybook.plan.registration import RegisteredCatalog
    from daybook.resolve.calendars.periods import calendar_for, period_of
    from daybook.store.changes import ProspectiveCatalog, find_changes
    from daybook.store.references import find_project

    workspace = load_checked_workspace(context)
    definition = find_project(workspace, project)
    with open_store_or_empty(workspace.settings.store, workspace.root) as store, store.read() as transaction:
        heads = transaction.definitions.heads()
        changes = find_changes(workspace.all(), heads, workspace=workspace.settings.name, prune=False)
        stored = transaction.catalog(with_sandbox=True)
        catalog = RegisteredCatalog(ProspectiveCatalog(stored, changes), workspace)
        now = datetime.now(UTC)
        calendar = calendar_for(definition.model.calendar_id, catalog)
        chosen = period_of(period, calendar) if period else _current_period(calendar, now.date())
        constants = Constants(now, chosen)
        checked = plan_project(definition.model, definition.source, catalog, constants)
    if as_json:
        echo_json(describe_plan(checked, constants))
        return
    echo(explain_plan(checked, constants))
    for notice in checked.notices:
        show_notice(notice)


def _current_period(calendar: "PeriodCalendar", today: "date") -> "Period":
    """The month of a day, or the finest period around it that a calendar without months has."""
    levels = ("month", *reversed(calendar.levels))
    found = (calendar.at(level, today) for level in levels if level in calendar.levels)
    return next(period for period in found if period is not None)


def schema(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="The folder to write to.")] = Path(
        "schemas"
    ),
) -> None:
    """Write JSON Schemas for editors."""
    from daybook.errors import DaybookError
    from daybook.model.serialization import write_schemas

    try:
        written = write_schemas(out)
    except OSError as error:
        raise DaybookError("MODEL_066", path=out.as_posix(), reason=error.strerror or str(error)) from error
    for path in written:
        echo(path.as_posix())
    if not root_options(context).is_quiet:
        place = (out / "definition.schema.json").as_posix()
        echo_note(f"Begin a definition with the line\n  # yaml-language-server: $schema={place}")
