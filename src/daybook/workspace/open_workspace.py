"""An opened workspace: loads settings at once, definitions and store when a use case needs them."""

import datetime
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from daybook.definitions.loading.loaded_workspace import (
    LoadedWorkspace,
    ReadFiles,
    WorkspaceLocation,
    find_workspace,
    locate_workspace,
    read_workspace,
)
from daybook.errors import DaybookError, raise_all
from daybook.model.secrets import TOKEN_VARIABLE
from daybook.store.process import current_user
from daybook.store.records import Credential

if TYPE_CHECKING:
    from daybook.runs.environment import RunEnvironment, SessionProvider
    from daybook.runs.run_listener import RunListener
    from daybook.store.store import MetadataStore


def _refuse_session() -> NoReturn:
    raise RuntimeError("this workspace was opened without a Spark session")


def _utc_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


@dataclass(frozen=True, slots=True)
class OpenedWorkspace(WorkspaceLocation):
    """What every use case works with; `session` gives the Spark session and starts it when it is first asked for."""

    session: "SessionProvider" = _refuse_session
    clock: Callable[[], datetime.datetime] = _utc_now
    user: str = field(default_factory=current_user)
    # What the user can prove their identity with; see `Credential`.
    token: str | None = field(default=None, repr=False)
    login: str | None = None
    account: int | None = None
    # Of a program that looks at the workspace again and again.
    read_files: ReadFiles | None = field(default=None, repr=False, compare=False)

    @property
    def credential(self) -> Credential:
        return Credential(self.user, self.token, self.login, self.account)

    def acted_by(self, user: str, login: str | None) -> "OpenedWorkspace":
        """The workspace for a visitor of the page, who has nothing of what the server itself could prove."""
        return replace(self, user=user, token=None, login=login, account=None)

    def load_definitions(self) -> LoadedWorkspace:
        """The definitions as the files have them now, each of them valid on its own; all errors are raised together."""
        from daybook.resolve.definition_checks import structural_errors

        workspace, errors = read_workspace(self.root, self.settings, self.read_files)
        raise_all([*errors, *structural_errors(workspace)])
        return workspace

    def read_definitions(self) -> LoadedWorkspace:
        """What can be read of the definitions; a use case decides which errors of the others concern it."""
        return read_workspace(self.root, self.settings, self.read_files)[0]

    @contextmanager
    def open_store(self, *, migrate: bool = False) -> "Iterator[MetadataStore]":
        from daybook.store import open_store

        with open_store(self.settings.store, root=self.root, migrate=migrate, credential=self.credential) as store:
            yield store

    @contextmanager
    def open_store_or_empty(self) -> "Iterator[MetadataStore]":
        """The store, or a temporary empty one where none has been created yet."""
        import tempfile

        from daybook.store import create_empty_store
        from daybook.store.address import store_exists

        if store_exists(self.settings.store, self.root):
            with self.open_store() as store:
                yield store
            return
        with tempfile.TemporaryDirectory(prefix="daybook-") as folder, create_empty_store(Path(folder)) as store:
            yield store

    @contextmanager
    def open_run_environment(self, listener: "RunListener | None" = None) -> "Iterator[RunEnvironment]":
        """What runs need: store, state folder, session and clock; definitions are not read."""
        from daybook.runs.environment import open_run_environment

        with open_run_environment(
            self, self.session, listener, clock=self.clock, credential=self.credential
        ) as environment:
            yield environment


def open_workspace(path: Path | None = None, *, session: "SessionProvider | None" = None) -> OpenedWorkspace:
    """The workspace in a folder or the nearest one above it; every error of its `daybook.yaml` is raised."""
    located = locate_workspace(workspace_root(path))
    account = os.getuid() if hasattr(os, "getuid") else None
    return OpenedWorkspace(
        located.root,
        located.settings,
        session or _refuse_session,
        token=os.environ.get(TOKEN_VARIABLE, "").strip() or None,
        account=account,
    )


def workspace_root(path: Path | None = None) -> Path:
    """The folder of the workspace around a path, or around the current folder."""
    if path is not None and not path.exists():
        raise DaybookError("MODEL_064", path=path.as_posix())
    return find_workspace(path if path is not None else Path())
