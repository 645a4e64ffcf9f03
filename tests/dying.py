"""Processes that are killed at a statement of their store, or when they remove a folder, for tests of what is left."""

import datetime
import itertools
import os
import signal
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sqlalchemy import Engine, event

from daybook.io.filesystem import remove_folder
from daybook.io.storage import Storage
from daybook.runs import garbage
from daybook.store import open_store
from daybook.workspace.lifecycle import activate_projects, apply_changes
from daybook.workspace.maintenance import apply_retention
from daybook.workspace.open_workspace import open_workspace


def die_at_statement(number: int) -> None:
    """SIGKILL before the statement with this number, of all that this process sends to a store."""
    numbers = itertools.count(1)

    @event.listens_for(Engine, "before_cursor_execute")
    def count(*_: object) -> None:
        if next(numbers) == number:
            os.kill(os.getpid(), signal.SIGKILL)


def die_at_removal(number: int) -> None:
    """SIGKILL before the folder with this number is removed."""
    numbers = itertools.count(1)

    def count(uri: str, storage: Storage) -> None:
        if next(numbers) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        remove_folder(uri, storage)

    patch.object(garbage, "remove_folder", count).start()


def migrate(url: str, root: Path, number: int, connection: "Connection[Any, Any]") -> None:
    die_at_statement(number)
    open_store(url, root=root, migrate=True).close()
    connection.send("done")


def migrate_when_told(url: str, root: Path, connection: "Connection[Any, Any]") -> None:
    connection.send("ready")
    connection.recv()
    open_store(url, root=root, migrate=True).close()
    connection.send("done")


def apply_files(root: Path, number: int, connection: "Connection[Any, Any]") -> None:
    die_at_statement(number)
    apply_changes(open_workspace(root))
    connection.send("done")


def activate_all(root: Path, number: int, connection: "Connection[Any, Any]") -> None:
    die_at_statement(number)
    activate_projects(open_workspace(root))
    connection.send("done")


def collect_garbage(
    root: Path, now: datetime.datetime, number: int, removal: int, connection: "Connection[Any, Any]"
) -> None:
    die_at_statement(number)
    die_at_removal(removal)
    apply_retention(replace(open_workspace(root), clock=lambda: now))
    connection.send("done")
