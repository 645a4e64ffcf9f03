"""`daybook doctor`: what a run needs, looked at one thing after the other, each with its way out."""

import importlib.metadata
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from daybook.engine.java import OLDEST_JAVA, find_java
from daybook.engine.machine import GIGABYTE, memory_bytes, usable_cores
from daybook.errors import DaybookError
from daybook.model.datasource import DataSource, FolderSource, JdbcSource, PostgresqlSource, SqliteSource
from daybook.model.loading import Workspace
from daybook.resolve.paths import absolute_root, is_remote
from daybook.runs.attempt import SessionProvider
from daybook.store import open_store

_LITTLE_MEMORY = 4 * GIGABYTE


@dataclass(frozen=True, slots=True)
class Finding:
    """`remedy` is what to do about anything that is not right."""

    subject: str
    state: Literal["ok", "warning", "problem"]
    detail: str
    remedy: str | None = None


def examine_machine() -> Iterator[Finding]:
    """What is known without a workspace."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    yield Finding("Python", "ok", f"{version} at {sys.executable}")
    try:
        java = find_java(os.environ)
        yield Finding("Java", "ok", f"{java.version} ({java.origin}) at {java.executable}")
    except DaybookError as error:
        yield Finding("Java", "problem", f"no Java {OLDEST_JAVA} or newer", error.hint)
    for package in ("pyspark", "deltalake", "pyarrow"):
        yield Finding(package, "ok", importlib.metadata.version(package))
    memory = memory_bytes()
    shown = f"{memory / GIGABYTE:.1f} GB, {usable_cores()} cores"
    if memory < _LITTLE_MEMORY:
        yield Finding("Memory", "warning", shown, "Spark is at ease with 4 GB; set spark.driver.memory in engine.conf.")
    else:
        yield Finding("Memory", "ok", shown)


def examine_spark(session: SessionProvider) -> Finding:
    """Starts a session and lets it compute something."""
    try:
        answer = session().range(1000).count()
    except DaybookError as error:
        return Finding("Spark", "problem", error.message, error.hint)
    return Finding("Spark", "ok" if answer == 1000 else "problem", "a session started and computed")


def examine_workspace(workspace: Workspace) -> Iterator[Finding]:
    """The store and every data source."""
    yield _examine("Store", partial(_store, workspace))
    for definition in workspace.definitions["datasource"].values():
        yield _examine(f"Data source {definition.id}", partial(_connect, definition.model, workspace.root))


def _examine(subject: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(subject, "ok", look())
    except DaybookError as error:
        return Finding(subject, "problem", error.message, error.hint)


def _store(workspace: Workspace) -> str:
    with open_store(workspace.settings.store, root=workspace.root, migrate=True) as store:
        return str(store.address)


def _connect(datasource: DataSource, root: Path) -> str:
    match datasource:
        case FolderSource(options=options):
            folder = absolute_root(options.path, root)
            if not is_remote(folder) and not Path(folder).is_dir():
                return f"{folder} (made by the first write)"
            return folder
        case PostgresqlSource():
            from daybook.io.formats.postgresql.connecting import connect

            with connect(datasource, root) as connection:
                return f"PostgreSQL {connection.info.server_version // 10000} at {datasource.options.host}"
        case SqliteSource():
            from daybook.io.formats.sqlite.connecting import database_path

            path = database_path(datasource, root)
            return str(path) if path.exists() else f"{path} (made by the first write)"
        case JdbcSource(options=options):
            return f"{options.driver}, tried when a run uses it"
