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
    """A project of the workspace by id, or by the one file that defines it."""
    from pathlib import Path

    from daybook.errors import DaybookError
    from daybook.model.suggestion import did_you_mean

    projects = workspace.definitions["project"]
    if named in projects:
        return named
    if is_file(named):
        there = [one.id for one in projects.values() if one.file and Path(one.file).resolve() == Path(named).resolve()]
        if len(there) == 1:
            return there[0]
    raise DaybookError("STORE_007", kind="project", id=named, hint=did_you_mean(named, projects))
