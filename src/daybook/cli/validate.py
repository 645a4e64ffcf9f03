"""`daybook validate`: everything that is wrong with the definitions, at once."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.invocation import invocation, workspace_root
from daybook.cli.terminal import error_as_data, remark, say_json, show_error

if TYPE_CHECKING:
    from daybook.errors import DaybookError


def validate(
    context: typer.Context,
    path: Annotated[
        Path | None, typer.Argument(help="A file or folder; left out, the whole workspace.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Findings as JSON.")] = False,
) -> None:
    """Check definitions and what projects compute."""
    checked, errors = _validated(context, path)
    if as_json:
        say_json({"ok": not errors, "definitions": checked, "errors": [error_as_data(error) for error in errors]})
    else:
        for error in errors:
            show_error(error)
        if not invocation(context).is_quiet:
            remark(_summary(checked, len(errors)))
    if errors:
        raise typer.Exit(2)


def _validated(context: typer.Context, path: Path | None) -> "tuple[int, list[DaybookError]]":
    """How many definitions were looked at, and what is wrong with them."""
    from daybook.cli.checks import problems
    from daybook.errors import DaybookError
    from daybook.model.loading.workspace import read_workspace

    if path is not None and not path.exists():
        raise DaybookError("MODEL_064", path=path.as_posix())
    root = _root(context, path)
    if root is None:
        return _validated_alone(path or Path())
    workspace, errors = read_workspace(root)
    errors += problems(workspace)
    definitions = [one for one in workspace.all() if path is None or _is_within(one.file, path)]
    concerned = [error for error in errors if path is None or error.span is None or _is_within(error.span.file, path)]
    if path is not None and path.is_file() and not definitions and not concerned:
        # The workspace skips the file, so it is checked by itself.
        return _validated_alone(path)
    return len(definitions), concerned


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


def _validated_alone(path: Path) -> "tuple[int, list[DaybookError]]":
    """One file by itself: its form, without what it refers to."""
    from daybook.errors import DaybookError
    from daybook.model.loading.build import read_definitions
    from daybook.model.loading.read import read_text
    from daybook.model.loading.workspace import WORKSPACE_FILE, load_settings

    if path.name == WORKSPACE_FILE:
        return 0, load_settings(path.parent)[1]
    definitions, errors = read_definitions(read_text(path), path.as_posix())
    if not definitions and not errors:
        raise DaybookError("MODEL_065", file=path.as_posix())
    return len(definitions), errors


def _is_within(file: str | None, path: Path) -> bool:
    return file is not None and Path(file).resolve().is_relative_to(path.resolve())


def _summary(checked: int, findings: int) -> str:
    definitions = f"{checked} definition{'' if checked == 1 else 's'}"
    if not findings:
        return f"{definitions}, nothing wrong"
    return f"{definitions}, {findings} error{'' if findings == 1 else 's'}"
