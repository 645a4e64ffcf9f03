"""Everything runs of a workspace need, opened together and closed together."""

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from daybook.io.place import is_uri
from daybook.model.loading import Workspace
from daybook.runs.attempt import SessionProvider, Surroundings
from daybook.runs.listener import RunListener, SilentListener
from daybook.store import open_store
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
            session=session,
            validate=check_project,
            listener=listener or SilentListener(),
            clock=_now,
            version=version("daybook"),
        )


def state_folder(workspace: Workspace) -> str:
    """Where landed inputs, staging and scratch live: below the workspace, or a URI shared with a cluster."""
    state = workspace.settings.state
    return state.rstrip("/") if is_uri(state) else str((workspace.root / Path(state)).resolve())


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
