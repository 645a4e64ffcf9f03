"""What the root options say, for every command."""

from dataclasses import dataclass
from pathlib import Path

import typer


@dataclass(frozen=True, slots=True)
class Invocation:
    """`workspace` is what the user named; None means the nearest one around the current folder."""

    workspace: Path | None = None
    is_debug: bool = False
    is_quiet: bool = False
    is_verbose: bool = False


def invocation(context: typer.Context) -> Invocation:
    found = context.obj
    return found if isinstance(found, Invocation) else Invocation()


def workspace_root(context: typer.Context) -> Path:
    """The workspace of this call: the one named, or the nearest one from here upwards."""
    from daybook.errors import DaybookError
    from daybook.model.loading import find_workspace

    named = invocation(context).workspace
    if named is not None and not named.exists():
        raise DaybookError("MODEL_064", path=named.as_posix())
    return find_workspace(named if named is not None else Path())
