"""The checks of `daybook doctor`: the machine, the workspace with its store and data sources, and runs."""

import importlib.metadata
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from pyarrow import fs

from daybook.definitions.loading import LoadedWorkspace
from daybook.engine.java.launch import GIGABYTE, find_java, memory_bytes, usable_cores
from daybook.engine.java.spark_version import require_spark
from daybook.errors import DaybookError
from daybook.io.filesystem import (
    arrow_path,
    is_uri,
    translate_read_errors,
)
from daybook.io.registry import format_named
from daybook.io.s3_requests import check_conditional_puts
from daybook.io.storage import Storage, bucket_of
from daybook.model.datasource import DataSource
from daybook.model.formats import FORMATS
from daybook.runs.environment import SessionProvider
from daybook.runs.leftovers import (
    declared_storage,
    find_workspace_leftovers,
    remove_workspace_leftovers,
    schema_source,
)
from daybook.runs.live_runs import abandoned_runs, fail_abandoned_runs
from daybook.store import open_store
from daybook.store.address import EmbeddedStore
from daybook.store.database.connection import find_damage, list_backups

_RECOMMENDED_MEMORY = 4 * GIGABYTE


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """The result of a check; `remedy` says what to do about a warning or a problem."""

    subject: str
    state: Literal["ok", "warning", "problem"]
    detail: str
    remedy: str | None = None


def examine_machine() -> Iterator[DoctorFinding]:
    """Checks that need no workspace: Python, Java, packages and memory."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    yield DoctorFinding("Python", "ok", f"{version} at {sys.executable}")
    try:
        java = find_java(os.environ)
        yield DoctorFinding("Java", "ok", f"{java.version} ({java.origin}) at {java.executable}")
    except DaybookError as error:
        yield DoctorFinding("Java", "problem", error.message, error.hint)
    yield _examine_installed_spark()
    for package in ("deltalake", "pyarrow"):
        yield DoctorFinding(package, "ok", importlib.metadata.version(package))
    # An extra, which most workspaces do without.
    with suppress(importlib.metadata.PackageNotFoundError):
        yield DoctorFinding("pyiceberg", "ok", importlib.metadata.version("pyiceberg"))
    memory = memory_bytes()
    shown = f"{memory / GIGABYTE:.1f} GB, {usable_cores()} cores"
    if memory < _RECOMMENDED_MEMORY:
        yield DoctorFinding(
            "Memory", "warning", shown, "Spark should have 4 GB or more; set spark.driver.memory in engine.conf."
        )
    else:
        yield DoctorFinding("Memory", "ok", shown)


def _examine_installed_spark() -> DoctorFinding:
    try:
        spark = require_spark(java_side=False)
    except DaybookError as error:
        return DoctorFinding("pyspark", "problem", error.message, error.hint)
    return DoctorFinding("pyspark", "ok", spark.version if spark.has_java_side else f"{spark.version}, client only")


def examine_spark(session: SessionProvider) -> DoctorFinding:
    """Starts a session and lets it compute something."""
    try:
        answer = session().range(1000).count()
    except DaybookError as error:
        return DoctorFinding("Spark", "problem", error.message, error.hint)
    return DoctorFinding("Spark", "ok" if answer == 1000 else "problem", "a session started and computed a query")


def examine_workspace(workspace: LoadedWorkspace) -> Iterator[DoctorFinding]:
    """The store and every data source."""
    yield _run_check("Store", partial(_check_store, workspace))
    storage = declared_storage(workspace)
    yield from _examine_buckets(workspace, storage)
    for definition in workspace.definitions["datasource"].values():
        yield _run_check(f"Data source {definition.id}", partial(_ping, definition.model, workspace.root, storage))
    for name, place in (("State", workspace.settings.state), ("Sandbox", workspace.settings.sandbox)):
        if (source := schema_source(workspace, place)) is not None:
            yield _run_check(name, partial(_ping, source, workspace.root, storage))


def examine_locations(workspace: LoadedWorkspace) -> Iterator[DoctorFinding]:
    """Where the workspace was before, and whether the files of tables that runs wrote and registered are there."""
    with open_store(workspace.settings.store, root=workspace.root) as store, store.read() as transaction:
        before = store.moved_from
        pins = [version.pin for version in transaction.retention.kept_versions()]
        places = {pin.uri for pin in pins if not FORMATS[pin.version.format].is_database}
        places |= {slice_.destination for slice_ in transaction.slices.all() if slice_.destination.startswith("/")}
    if before is not None:
        detail = f"it was in {before}; the next run reports this and continues in the new folder"
        yield DoctorFinding("Workspace moved", "warning", detail, "If it is a copy, the original keeps its own tables.")
    missing = sorted(place for place in places if not is_uri(place) and not Path(place).exists())
    if missing:
        remedy = "Restore them, or run the projects that write them again."
        yield DoctorFinding("Tables of runs", "problem", f"missing: {', '.join(missing)}", remedy)
    else:
        yield DoctorFinding("Tables of runs", "ok", f"{len(places)} found")


def _examine_buckets(workspace: LoadedWorkspace, storage: Storage) -> Iterator[DoctorFinding]:
    """The buckets of the state, the sandbox, the settings and the data sources."""
    settings = workspace.settings
    folders = [place for place in (settings.state, settings.sandbox) if isinstance(place, str)]
    try:
        places = [place for place in (*folders, *storage.described()) if bucket_of(place) is not None]
    except DaybookError as error:
        yield DoctorFinding("Object stores", "problem", error.message, error.hint)
        return
    buckets = {bucket_of(place): place for place in reversed(places)}
    for bucket, place in sorted((str(bucket), place) for bucket, place in buckets.items()):
        yield _run_check(f"Bucket {bucket}", partial(_check_bucket, bucket, place, storage))


def _check_bucket(bucket: str, place: str, storage: Storage) -> str:
    at = arrow_path(bucket, storage)
    with translate_read_errors(bucket):
        if at.system.get_file_info(at.path).type != fs.FileType.Directory:
            raise DaybookError("IO_001", location=bucket)
    is_asked = check_conditional_puts(place, storage)
    if is_asked:
        return "commits are atomic"
    # The other providers' stores have always had conditional puts.
    is_s3 = bucket.startswith("s3://")
    return "install daybook[s3] to check that commits are atomic" if is_s3 else "reached; it is not asked about commits"


def _run_check(subject: str, check: Callable[[], str]) -> DoctorFinding:
    try:
        return DoctorFinding(subject, "ok", check())
    except DaybookError as error:
        return DoctorFinding(subject, "problem", error.message, error.hint)


def _check_store(workspace: LoadedWorkspace) -> str:
    with open_store(workspace.settings.store, root=workspace.root, migrate=True) as store:
        address = store.address
        if not isinstance(address, EmbeddedStore):
            return str(address)
        if (damage := find_damage(address.path)) is not None:
            raise DaybookError("STORE_041", place=str(address), reason=damage)
        backups = list_backups(address.path)
        return f"{address}, {len(backups)} backup{'' if len(backups) == 1 else 's'}"


def _ping(datasource: DataSource, root: Path, storage: Storage) -> str:
    return format_named(datasource.type).ping(datasource, root, storage)


def examine_runs(workspace: LoadedWorkspace, *, is_fixing: bool) -> Iterator[DoctorFinding]:
    """Runs whose process has ended, and what killed runs left behind; `is_fixing` ends and removes them."""
    with open_store(workspace.settings.store, root=workspace.root) as store:
        lost = fail_abandoned_runs(store) if is_fixing else tuple(run.id for run in abandoned_runs(store))
        leftovers = find_workspace_leftovers(workspace, store)
    if is_fixing:
        remove_workspace_leftovers(workspace, leftovers)
    if lost:
        state: Literal["ok", "warning"] = "ok" if is_fixing else "warning"
        remedy = f"`daybook retry {lost[0]}` continues it."
        yield DoctorFinding("Runs", state, f"the process of {', '.join(lost)} has ended", remedy)
    if not leftovers:
        yield DoctorFinding("Left behind", "ok", "nothing")
    elif is_fixing:
        yield DoctorFinding("Left behind", "ok", f"removed {len(leftovers)} staged files or tables of runs that ended")
    else:
        runs = ", ".join(sorted({leftover.run_id for leftover in leftovers}))
        yield DoctorFinding(
            "Left behind", "warning", f"{len(leftovers)} staged files or tables of {runs}", "`daybook doctor --fix`"
        )
