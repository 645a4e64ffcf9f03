"""`daybook validate`: everything that is wrong with the definitions, at once."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.invocation import invocation, workspace_root
from daybook.cli.parameters import json_option
from daybook.cli.terminal import notice_as_data, remark, say_json, show_error, show_notice

if TYPE_CHECKING:
    from daybook.errors import DaybookError, Notice


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
    from daybook.errors import as_data

    found = _validated(context, path)
    errors = found.errors
    if as_json:
        say_json(
            {
                "ok": not errors,
                "definitions": found.checked,
                "errors": [as_data(error) for error in errors],
                "notices": [notice_as_data(notice) for notice in found.notices],
            }
        )
    else:
        for notice in found.notices:
            show_notice(notice)
        for error in errors:
            show_error(error)
        if not invocation(context).is_quiet:
            remark(_summary(found.checked, len(errors)))
    if errors:
        raise typer.Exit(2)


@dataclass(frozen=True, slots=True)
class _Validated:
    """How many definitions were looked at, and what there is to say of them."""

    checked: int
    errors: "list[DaybookError]"
    notices: "list[Notice]" = field(default_factory=list)


def _validated(context: typer.Context, path: Path | None) -> _Validated:
    from daybook.errors import DaybookError
    from daybook.model.loading.workspace import read_workspace
    from daybook.store.project_checks import check_workspace

    if path is not None and not path.exists():
        raise DaybookError("MODEL_064", path=path.as_posix())
    root = _root(context, path)
    if root is None:
        return _validated_alone(path or Path())
    workspace, errors = read_workspace(root)
    findings = check_workspace(workspace)
    errors += findings.errors
    definitions = [one for one in workspace.all() if path is None or _is_within(one.file, path)]
    concerned = [error for error in errors if path is None or error.span is None or _is_within(error.span.file, path)]
    if path is not None and path.is_file() and not definitions and not concerned:
        # The workspace skips the file, so it is checked by itself.
        return _validated_alone(path)
    notices = [one for one in findings.notices if path is None or one.span is None or _is_within(one.span.file, path)]
    return _Validated(len(definitions), concerned, notices)


def _root(context: typer.Context, path: Path | None) -> Path | None:
    """The workspace around the path or this folder; None for a file outside of any."""
    from daybook.errors import DaybookError
    from daybook.model.loading import find_workspace

    if path is None or invocation(context).workspace is not None:
        return workspace_root(context)
    try:
        return find_workspace(path)
    except DaybookError:
        if path.is_file():
            return None
        raise


def _validated_alone(path: Path) -> _Validated:
    """One file by itself: its form, without what it refers to."""
    from daybook.errors import DaybookError
    from daybook.model.loading.build import read_definitions
    from daybook.model.loading.read import read_text
    from daybook.model.loading.workspace import WORKSPACE_FILE, load_settings

    if path.name == WORKSPACE_FILE:
        return _Validated(0, load_settings(path.parent)[1])
    definitions, errors = read_definitions(read_text(path), path.as_posix())
    if not definitions and not errors:
        raise DaybookError("MODEL_065", file=path.as_posix())
    return _Validated(len(definitions), errors)


def _is_within(file: str | None, path: Path) -> bool:
    return file is not None and Path(file).resolve().is_relative_to(path.resolve())


def _summary(checked: int, findings: int) -> str:
    definitions = f"{checked} definition{'' if checked == 1 else 's'}"
    if not findings:
        return f"{definitions}, nothing wrong"
    return f"{definitions}, {findings} error{'' if findings == 1 else 's'}"
