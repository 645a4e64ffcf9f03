"""Everything runs of a workspace need, opened together and closed together."""

import datetime
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from urllib.parse import quote

from daybook.engine.classic import active
from daybook.errors import DaybookError
from daybook.io.place import is_uri
from daybook.model.loading import Workspace
from daybook.runs.attempt import SessionProvider, Surroundings
from daybook.runs.listener import RunListener, SilentListener
from daybook.store import open_store
from daybook.store.address import EmbeddedStore, parse_address
from daybook.store.checking import check_project


@contextmanager
def surroundings(
    workspace: Workspace, session: SessionProvider, listener: RunListener | None = None
) -> Iterator[Surroundings]:
    """The store of a workspace with its state folder and the clock of this machine."""
    with open_store(workspace.settings.store, root=workspace.root) as store:
        yield Surroundings(
            root=workspace.root.resolve(),
            state=state_folder(workspace),
            store=store,
            session=lambda: active(session()),
            validate=check_project,
            listener=listener or SilentListener(),
            clock=_now,
            version=version("daybook"),
        )


@contextmanager
def rehearsing(workspace: Workspace) -> Iterator[Workspace]:
    """The workspace with a copy of its embedded store, so that what is only tried leaves no trace there."""
    address = parse_address(workspace.settings.store, workspace.root)
    if not isinstance(address, EmbeddedStore):
        # On a shared store nothing is applied implicitly.
        yield workspace
        return
    with tempfile.TemporaryDirectory(prefix="daybook-") as folder:
        copy = Path(folder) / "store.db"
        if address.path.exists():
            try:
                with closing(sqlite3.connect(address.path)) as store, closing(sqlite3.connect(copy)) as other:
                    store.backup(other)
            except sqlite3.Error as failure:
                raise DaybookError("STORE_003", place=str(address), reason=str(failure)) from failure
        settings = workspace.settings.model_copy(update={"store": f"sqlite:///{quote(str(copy))}"})
        yield replace(workspace, settings=settings)


def state_folder(workspace: Workspace) -> str:
    """Where landed inputs, staging and scratch live: below the workspace, or a URI shared with a cluster."""
    state = workspace.settings.state
    return state.rstrip("/") if is_uri(state) else str((workspace.root / Path(state)).resolve())


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
