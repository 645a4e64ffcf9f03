"""The workspace of a command and its store."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from daybook.cli.invocation import workspace_root

if TYPE_CHECKING:
    from pathlib import Path

    from daybook.model.loading import Workspace
    from daybook.model.workspace_file import WorkspaceFile
    from daybook.store.store import Store


def load(context: typer.Context) -> "Workspace":
    """The workspace, with every definition in it right on its own."""
    from daybook.errors import raise_all
    from daybook.model.loading.workspace import read_workspace
    from daybook.resolve.workspace_checks import structural_problems

    workspace, errors = read_workspace(workspace_root(context))
    raise_all([*errors, *structural_problems(workspace)])
    return workspace


def settings(context: typer.Context) -> "tuple[Path, WorkspaceFile]":
    """Where the workspace is and its `daybook.yaml`, for commands that need no definitions."""
    from daybook.errors import raise_all
    from daybook.model.loading.workspace import load_settings

    root = workspace_root(context)
    found, errors = load_settings(root)
    raise_all(errors)
    return root, found


@contextmanager
def opened(url: str, root: "Path", *, migrate: bool = False) -> "Iterator[Store]":
    from daybook.store import open_store

    with open_store(url, root=root, migrate=migrate) as store:
        yield store


@contextmanager
def opened_or_empty(url: str, root: "Path") -> "Iterator[Store]":
    """The store, or an empty one for the moment where none has been made yet."""
    import tempfile
    from pathlib import Path

    from daybook.store.address import is_present

    if is_present(url, root):
        with opened(url, root) as store:
            yield store
        return
    with (
        tempfile.TemporaryDirectory(prefix="daybook-") as folder,
        opened("sqlite:///store.db", Path(folder)) as store,
    ):
        yield store


def is_file(named: str) -> bool:
    """Whether a project is named by its file."""
    from pathlib import Path

    return Path(named).suffix in (".yaml", ".yml", ".json") and Path(named).is_file()


def project_id_of(workspace: "Workspace", named: str) -> str:
    """A project of the workspace by id, or by the one file that defines it, for commands that change the store."""
    from daybook.errors import DaybookError
    from daybook.runs.named_project import find_project

    try:
        return find_project(workspace, named).id
    except DaybookError as unknown:
        raise DaybookError("STORE_007", kind="project", id=named, hint=unknown.hint) from None
