"""`daybook doctor`: what a run needs, looked at one thing after the other, each with its way out."""

import importlib.metadata
import os
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from daybook.engine.java import OLDEST_JAVA, find_java
from daybook.engine.machine import GIGABYTE, memory_bytes, usable_cores
from daybook.errors import DaybookError
from daybook.io.litter import Litter, find_landing_litter, find_litter, remove
from daybook.io.writing import Target
from daybook.model.datasource import DataSource, FolderSource, JdbcSource, PostgresqlSource, SqliteSource
from daybook.model.loading import Workspace
from daybook.resolve.paths import absolute_root, is_remote
from daybook.runs.attempt import SessionProvider
from daybook.runs.living import dead_runs, live_runs
from daybook.runs.opening import state_folder
from daybook.runs.preparing import restore
from daybook.runs.snapshot import snapshot_from_json
from daybook.store import open_store
from daybook.store.store import Store

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


def end_abandoned(store: Store) -> tuple[str, ...]:
    """Runs whose process is gone become failed, so that they can be retried; their ids."""
    with store.write() as transaction:
        now = transaction.now()
        return tuple(run.id for run in transaction.runs.abandoned(now=now) if transaction.runs.give_up(run.id, now=now))


def dead_litter(workspace: Workspace, store: Store) -> tuple[Litter, ...]:
    """What dead runs left behind, wherever this workspace writes."""
    live = {run.id for run in live_runs(store)}
    state = state_folder(workspace)
    folders = {_searched(place) for place in _places(workspace, store)}
    datasources = [definition.model for definition in workspace.definitions["datasource"].values()]
    return (
        *find_litter(_outermost(folders), datasources, live, workspace.root),
        *find_landing_litter(f"{state}/landing", live),
        *_dead_staging(state, live),
    )


def remove_litter(workspace: Workspace, litter: tuple[Litter, ...]) -> None:
    for each in litter:
        remove(each, workspace.root)


def _places(workspace: Workspace, store: Store) -> Iterator[Target]:
    """Where runs that ended badly were to write; those that ended well cleaned up after themselves."""
    for run in dead_runs(store):
        with store.read() as transaction:
            text = transaction.runs.snapshot(run.id)
        # A snapshot that this version cannot read or plan any more says nothing about places.
        with suppress(DaybookError):
            yield from (output.target for output in restore(snapshot_from_json(text), workspace.root).outputs)


def _searched(target: Target) -> str | None:
    """The folder that holds what is staged for a target: the Delta table itself, otherwise the one around it."""
    if target.uri is None:
        return None
    return target.uri if target.format == "delta" else target.uri.rstrip("/").rpartition("/")[0]


def _outermost(folders: Collection[str | None]) -> list[str]:
    """Without those inside of another, which the search reaches anyway."""
    found: list[str] = []
    for folder in sorted(filter(None, folders)):
        if not any(folder == each or folder.startswith(f"{each}/") for each in found):
            found.append(folder)
    return found


def _dead_staging(state: str, live: set[str]) -> Iterator[Litter]:
    folder = Path(state) / "staging"
    if is_remote(state) or not folder.is_dir():
        return
    for each in sorted(folder.iterdir()):
        run_id = each.name.rpartition(".")[0]
        if run_id not in live:
            yield Litter(run_id, str(each))


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
