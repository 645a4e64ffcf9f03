"""The checks of `daybook doctor`, and what `daybook gc` removes."""

import datetime
import importlib.metadata
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pyarrow import fs

from daybook.definitions.files import definitions_of_files
from daybook.definitions.loading import LoadedWorkspace
from daybook.definitions.value import Definitions
from daybook.engine.java.launch import GIGABYTE, find_java, memory_bytes, usable_cores
from daybook.engine.java.spark_version import require_spark
from daybook.errors import DaybookError
from daybook.io.filesystem import (
    FileStat,
    arrow_path,
    is_uri,
    join_uri,
    remove_folder,
    translate_read_errors,
    uri_identity,
)
from daybook.io.format import (
    HoldingStore,
    Leftover,
    VacuumRequest,
    VersionHolder,
    find_landing_leftovers,
    find_staged_leftovers,
    remove_leftover,
)
from daybook.io.pins import LandedPin, Pin, TablePin, pin_from_json
from daybook.io.registry import format_named
from daybook.io.s3_requests import check_conditional_puts, remove_unfinished_uploads
from daybook.io.state_tables import StateTables, require_tables
from daybook.io.storage import Storage, bucket_of, storage_of
from daybook.io.target import Target
from daybook.model.datasource import DataSource
from daybook.model.formats import FORMATS
from daybook.model.settings import RetentionSettings, SchemaLocation
from daybook.resolve.location import Location
from daybook.resolve.resolution import LocationContext, locate_pinned
from daybook.runs.attempt.prepare import restore_run
from daybook.runs.attempt.recorder import holding_store
from daybook.runs.environment import RunEnvironment, SessionProvider, state_folder, stored_storage
from daybook.runs.snapshot import snapshot_from_json
from daybook.store import open_store
from daybook.store.address import EmbeddedStore
from daybook.store.database.connection import find_damage, list_backups
from daybook.store.database.outcomes import RegisteredVersion
from daybook.store.process import is_surely_running
from daybook.store.records import RunFilter, RunRecord, RunStatus
from daybook.store.store import MetadataStore, Transaction

_ACTIVE_STATUSES: tuple[RunStatus, ...] = ("queued", "running")


def live_runs(store: MetadataStore) -> tuple[RunRecord, ...]:
    """Runs that are queued or running in a process that exists.

    A process that this machine sees counts even if its lease is over: the clock may have been set forward since its
    last heartbeat.
    """
    with store.read() as transaction:
        return _live_runs(transaction)


def _live_runs(transaction: Transaction) -> tuple[RunRecord, ...]:
    abandoned = transaction.runs.abandoned(now=transaction.now())
    dead = {run.id for run in abandoned if not is_surely_running(run.process)}
    return tuple(
        run for status in _ACTIVE_STATUSES for run in _runs_with_status(transaction, status) if run.id not in dead
    )


def abandoned_runs(store: MetadataStore) -> tuple[RunRecord, ...]:
    """Runs that claim to be queued or running and have no living process."""
    with store.read() as transaction:
        return transaction.runs.abandoned(now=transaction.now())


def unsuccessful_runs(store: MetadataStore) -> tuple[RunRecord, ...]:
    """Runs that may have left something behind: they failed, were cancelled, or lost their process."""
    with store.read() as transaction:
        dead = transaction.runs.abandoned(now=transaction.now())
        ended = (*_runs_with_status(transaction, "failed"), *_runs_with_status(transaction, "cancelled"))
        return tuple({run.id: run for run in (*dead, *ended)}.values())


def _runs_with_status(transaction: Transaction, status: RunStatus) -> tuple[RunRecord, ...]:
    found: list[RunRecord] = []
    after: str | None = None
    while True:
        page = transaction.runs.page(RunFilter(status=status), limit=500, after=after)
        found += page.runs
        if (after := page.next_page) is None:
            return tuple(found)


_RECOMMENDED_MEMORY = 4 * GIGABYTE


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """`remedy` is what to do about anything that is not right."""

    subject: str
    state: Literal["ok", "warning", "problem"]
    detail: str
    remedy: str | None = None


def examine_machine() -> Iterator[DoctorFinding]:
    """What is known without a workspace."""
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
    storage = _declared_storage(workspace)
    yield from _examine_buckets(workspace, storage)
    for definition in workspace.definitions["datasource"].values():
        yield _run_check(f"Data source {definition.id}", partial(_ping, definition.model, workspace.root, storage))


def examine_locations(workspace: LoadedWorkspace) -> Iterator[DoctorFinding]:
    """Where the workspace was before, and whether the files of tables that runs wrote and registered are there."""
    with open_store(workspace.settings.store, root=workspace.root) as store, store.read() as transaction:
        before = store.moved_from
        pins = [each.pin for each in transaction.retention.kept_versions()]
        places = {pin.uri for pin in pins if not FORMATS[pin.version.format].is_database}
        places |= {each.destination for each in transaction.slices.all() if each.destination.startswith("/")}
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
    """Where the state or the sandbox is, and every bucket of which something is said."""
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


def _run_check(subject: str, look: Callable[[], str]) -> DoctorFinding:
    try:
        return DoctorFinding(subject, "ok", look())
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


def _declared_storage(workspace: LoadedWorkspace) -> Storage:
    return storage_of(workspace.root, workspace.settings, definitions_of_files(workspace))


def _ping(datasource: DataSource, root: Path, storage: Storage) -> str:
    return format_named(datasource.type).ping(datasource, root, storage)


def examine_runs(workspace: LoadedWorkspace, *, is_fixing: bool) -> Iterator[DoctorFinding]:
    """Runs whose process has ended, and what killed runs left behind; `is_fixing` ends and removes them."""
    with open_store(workspace.settings.store, root=workspace.root) as store:
        lost = fail_abandoned_runs(store) if is_fixing else tuple(run.id for run in abandoned_runs(store))
        litter = find_workspace_leftovers(workspace, store)
    if is_fixing:
        remove_workspace_leftovers(workspace, litter)
    if lost:
        state: Literal["ok", "warning"] = "ok" if is_fixing else "warning"
        remedy = f"`daybook retry {lost[0]}` continues it."
        yield DoctorFinding("Runs", state, f"the process of {', '.join(lost)} has ended", remedy)
    if not litter:
        yield DoctorFinding("Left behind", "ok", "nothing")
    elif is_fixing:
        yield DoctorFinding("Left behind", "ok", f"removed {len(litter)} staged files or tables of runs that ended")
    else:
        runs = ", ".join(sorted({each.run_id for each in litter}))
        yield DoctorFinding(
            "Left behind", "warning", f"{len(litter)} staged files or tables of {runs}", "`daybook doctor --fix`"
        )


def fail_abandoned_runs(store: MetadataStore) -> tuple[str, ...]:
    """Runs whose process is gone become failed, so that they can be retried; their ids."""
    with store.write() as transaction:
        now = transaction.now()
        return tuple(run.id for run in transaction.runs.abandoned(now=now) if transaction.runs.give_up(run.id, now=now))


def find_workspace_leftovers(workspace: LoadedWorkspace, store: MetadataStore) -> tuple[Leftover, ...]:
    """What killed runs left behind in all locations that this workspace writes."""
    before = _RunsNow.read(store)
    live = before.live
    state, storage = state_folder(workspace), _declared_storage(workspace)
    folders = {_staging_folder(target) for target in _targets_of_unsuccessful_runs(workspace, store, storage)}
    staged = [*find_staged_leftovers(_outermost_folders(folders), (), live, workspace.root, storage)]
    for definition in workspace.definitions["datasource"].values():
        # One that is out of reach is reported as such.
        with suppress(DaybookError):
            staged += find_staged_leftovers((), [definition.model], live, workspace.root, storage)
    # Others may write to the same places, and their runs are not known here.
    ours = [litter for litter in staged if litter.run_id in before.tokens]
    own_state: list[Leftover] = []
    if isinstance(workspace.settings.state, SchemaLocation):
        # Without a session nobody knows; `doctor` has one.
        with suppress(DaybookError):
            own_state += _leftover_tables(require_tables(stored_storage(workspace, store)), live)
    else:
        own_state += find_landing_leftovers(f"{state}/landing", live, storage)
        own_state += _staging_of_dead_runs(state, live, storage)
    # A run may have begun, or been continued, while folders were searched; what it stages is no leftover.
    after = _RunsNow.read(store)
    at_rest = [litter for litter in (*ours, *own_state) if before.is_at_rest(litter.run_id, after)]
    return tuple({litter.key: litter for litter in at_rest}.values())


@dataclass(frozen=True, slots=True)
class _RunsNow:
    """Every run with the token of its last attempt, and those that live."""

    tokens: Mapping[str, int]
    live: frozenset[str]

    @classmethod
    def read(cls, store: MetadataStore) -> "_RunsNow":
        with store.read() as transaction:
            return cls(transaction.retention.run_tokens(), frozenset(run.id for run in _live_runs(transaction)))

    def is_at_rest(self, run_id: str, later: "_RunsNow") -> bool:
        """Whether nothing has executed a run between two looks at the store."""
        is_live = run_id in self.live or run_id in later.live
        return not is_live and self.tokens.get(run_id) == later.tokens.get(run_id)


def remove_workspace_leftovers(workspace: LoadedWorkspace, litter: tuple[Leftover, ...]) -> None:
    for each in litter:
        remove_leftover(each, workspace.root, _declared_storage(workspace))


def _targets_of_unsuccessful_runs(
    workspace: LoadedWorkspace, store: MetadataStore, storage: Storage
) -> Iterator[Target]:
    """Where runs that ended badly were to write; those that ended well cleaned up after themselves."""
    for run in unsuccessful_runs(store):
        with store.read() as transaction:
            text = transaction.runs.snapshot(run.id)
        # A snapshot that this version cannot read or plan any more says nothing about places.
        with suppress(DaybookError):
            restored = restore_run(snapshot_from_json(text), workspace.root, storage)
            yield from (output.target for output in restored.outputs)


def _staging_folder(target: Target) -> str | None:
    return format_named(target.format).staging_folder(target.location)


def _outermost_folders(folders: Collection[str | None]) -> list[str]:
    """Without those inside of another, which the search reaches anyway."""
    found: list[str] = []
    for folder in sorted(filter(None, folders)):
        if not any(folder == each or folder.startswith(f"{each}/") for each in found):
            found.append(folder)
    return found


def _staging_of_dead_runs(state: str, live: Collection[str], storage: Storage) -> Iterator[Leftover]:
    folder = join_uri(state, "staging")
    for name in _subfolders(folder, storage):
        run_id = name.rpartition(".")[0]
        if run_id not in live:
            yield Leftover(run_id, join_uri(folder, name))


# Younger files may be the staging of a run that is just writing.
_MINIMUM_FILE_AGE = datetime.timedelta(days=1)
_DURATION_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True)
class CollectedGarbage:
    """What was removed, or would be."""

    runs: tuple[str, ...]
    versions: tuple[RegisteredVersion, ...]
    landings: tuple[str, ...]
    files: tuple[str, ...]
    bytes: int


def collect_garbage(
    environment: RunEnvironment, retention: RetentionSettings, *, is_dry_run: bool = False
) -> CollectedGarbage:
    """Forget old runs and versions, then remove landed inputs and data files that nothing refers to any more.

    On a shared store the clock of the database decides what is old, not that of one of its users.
    """
    with environment.store.write() as transaction:
        now = transaction.now() if environment.store.is_shared else environment.clock()
        runs = transaction.retention.expired_runs(now - parse_duration(retention.runs))
        versions = transaction.retention.expired_versions(retention.versions)
        registered = transaction.retention.kept_versions(versions)
        definitions = transaction.stored_definitions()
        held, released = (tuple(_locate(each, definitions, environment)) for each in (registered, versions))
        read = transaction.retention.inputs_read()
        tables = transaction.retention.versioned_tables()
        sealed = transaction.seals.held_versions()
        known = frozenset(transaction.retention.run_tokens())
        if not is_dry_run:
            transaction.retention.mark_expired(versions, now=now)
            transaction.retention.forget_runs(run.id for run in runs)
            versions_removed = [f"{version.dataset_id}:{version.version}" for version in versions]
            details = {"runs": [run.id for run in runs], "versions": versions_removed}
            transaction.log.append("gc", f"{len(runs)} runs, {len(versions)} versions", details)
    forgotten = {run.id for run in runs}
    kept = [pin for run_id, details in read.items() if run_id not in forgotten for pin in _pins_from_details(details)]
    landings = _unused_landings(environment, kept, known - forgotten)
    if not is_dry_run:
        if any(located.location.format == "spark_catalog" for located in (*held, *released)):
            environment.session()
        _hold_versions(environment, held, released)
    # Whatever the clock has done since: no file that a live run wrote is older than the run.
    oldest_staging = min([now - _MINIMUM_FILE_AGE, *(run.created_at for run in live_runs(environment.store))])
    files: list[FileStat] = []
    store = holding_store(environment.store)
    holders = [_holder(store, each) for each in versions]

    def is_same(one: str, other: str) -> bool:
        return uri_identity(one, environment.root) == uri_identity(other, environment.root)

    for format_, table in tables:
        keep = {each.pin.version.token for each in registered if is_same(each.pin.uri, table)}
        keep |= {pin.version.token for pin in kept if isinstance(pin, TablePin) and is_same(pin.uri, table)}
        keep |= {version.token for version, place in sealed if is_same(place, table)}
        before = int(oldest_staging.timestamp() * 1_000_000_000)
        request = VacuumRequest(table, keep, retention.versions, before, is_dry_run, holders, environment.storage)
        files += format_named(format_).vacuum(request)
    before = int(oldest_staging.timestamp() * 1_000_000_000)
    for place in (environment.state, *(table for _, table in tables)):
        files += remove_unfinished_uploads(place, environment.storage, begun_before_ns=before, is_dry_run=is_dry_run)
    if not is_dry_run:
        for folder in landings:
            with environment.store.write() as transaction:
                # A run that began now could read a landing that is about to go.
                transaction.runs.hold_back_starts()
                if not _live_runs(transaction):
                    if environment.storage.tables is not None:
                        environment.storage.tables.drop_landing(folder)
                        transaction.landings.forget(folder)
                    else:
                        remove_folder(folder, environment.storage)
    size = sum(file.size for file in files)
    return CollectedGarbage(tuple(forgotten), versions, landings, tuple(file.path for file in files), size)


@dataclass(frozen=True, slots=True)
class _LocatedVersion:
    """A registered version and the table that it stays readable in."""

    registered: RegisteredVersion
    location: Location


def _locate(
    registered: Iterable[RegisteredVersion], definitions: Definitions, environment: RunEnvironment
) -> Iterator[_LocatedVersion]:
    """Without those in tables whose data source is gone: no one can say where they are."""
    around = LocationContext(definitions, environment.root, (), None)
    for each in registered:
        pin = each.pin
        if not FORMATS[pin.version.format].is_database:
            yield _LocatedVersion(each, Location(pin.version.format, uri=pin.uri, version=pin.version))
            continue
        with suppress(DaybookError):
            dataset = definitions.dataset(each.dataset_id, each.version)
            if dataset is not None:
                yield _LocatedVersion(each, locate_pinned(pin, dataset.dataset.main_table, around))


def _hold_versions(
    environment: RunEnvironment, kept: Iterable[_LocatedVersion], expired: Iterable[_LocatedVersion]
) -> None:
    """Note beside the tables what this store needs of them, for those who vacuum them from elsewhere."""
    store = holding_store(environment.store)
    for each, is_kept in (*((each, True) for each in kept), *((each, False) for each in expired)):
        format_ = format_named(each.location.format)
        note = format_.hold_version if is_kept else format_.release_version
        # A table that cannot be reached is not vacuumed.
        with suppress(OSError, DaybookError, *format_.storage_errors):
            holder = _holder(store, each.registered)
            note(each.location, each.registered.pin.version, holder, environment.root, environment.storage)


def _holder(store: HoldingStore, version: RegisteredVersion) -> VersionHolder:
    return VersionHolder(store, version.dataset_id, version.version)


def parse_duration(text: str) -> datetime.timedelta:
    """`90d`, `12h`, `4w`."""
    return datetime.timedelta(**{_DURATION_UNITS[text[-1]]: int(text[:-1])})


def _pins_from_details(details: Mapping[str, Any]) -> Iterable[Pin]:
    for pins in details.get("pins", {}).values():
        yield from (pin_from_json(pin) for pin in pins)


def _unused_landings(environment: RunEnvironment, kept: Iterable[Pin], known: Collection[str]) -> tuple[str, ...]:
    """Landings and replays that no run that is kept has read; while anything runs, all are left alone."""
    if live_runs(environment.store):
        return ()
    subfolders = partial(_subfolders, storage=environment.storage)
    if (tables := environment.storage.tables) is not None:
        return tuple(_unused_tables(environment, tables, kept, known))
    landing, replays = join_uri(environment.state, "landing"), join_uri(environment.state, "replays")
    needed = {pin.folder for pin in kept if isinstance(pin, LandedPin)}
    shared = [
        join_uri(landing, f"files/{name}")
        for name in subfolders(join_uri(landing, "files"))
        if f"files/{name}" not in needed
    ]
    own = [join_uri(landing, f"runs/{name}") for name in subfolders(join_uri(landing, "runs")) if name not in known]
    return (
        *shared,
        *own,
        *(join_uri(replays, name) for name in subfolders(replays) if name not in known),
    )


def _unused_tables(
    environment: RunEnvironment, tables: StateTables, kept: Iterable[Pin], known: Collection[str]
) -> Iterator[str]:
    """The same where the state is a schema, as the store lists them."""
    environment.session()
    needed = {pin.folder for pin in kept if isinstance(pin, LandedPin)}
    for folder in tables.manifests.folders():
        kind, _, name = folder.partition("/")
        if folder not in needed and not (kind == "runs" and name.partition("/")[0] in known):
            yield folder


def _leftover_tables(tables: StateTables, live: Collection[str]) -> Iterator[Leftover]:
    """Tables of the state that no manifest lists, of runs that have ended."""
    source, listed = tables.find_source(), tables.listed()
    for name in tables.names():
        run_id = tables.run_of(name)
        if run_id is not None and run_id not in live and name not in listed:
            yield Leftover(run_id, datasource=source, table=name.table, schema=name.schema)


def _subfolders(uri: str, storage: Storage) -> list[str]:
    place = arrow_path(uri, storage)
    if place.system.get_file_info(place.path).type != fs.FileType.Directory:
        return []
    found = place.system.get_file_info(fs.FileSelector(place.path))
    return sorted(item.base_name for item in found if item.type == fs.FileType.Directory)
