"""What `daybook gc` removes: old runs and versions, and the landings and files that nothing refers to any more."""

import datetime
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from daybook.definitions.value import Definitions
from daybook.errors import DaybookError
from daybook.io.filesystem import (
    FileStat,
    join_uri,
    remove_folder,
    uri_identity,
)
from daybook.io.format import HoldingStore, VacuumRequest, VersionHolder
from daybook.io.pins import LandedPin, Pin, TablePin, pin_from_json
from daybook.io.registry import format_named
from daybook.io.s3_requests import remove_unfinished_uploads
from daybook.io.state_tables import StateTables
from daybook.model.formats import FORMATS
from daybook.model.settings import RetentionSettings
from daybook.resolve.location import Location
from daybook.resolve.resolution import LocationContext, locate_pinned
from daybook.runs.attempt.recorder import holding_store
from daybook.runs.environment import RunEnvironment
from daybook.runs.leftovers import list_subfolders
from daybook.runs.live_runs import live_runs, live_runs_in
from daybook.store.database.outcomes import RegisteredVersion

# Younger files may be the staging of a run that is just writing.
_MINIMUM_FILE_AGE = datetime.timedelta(days=1)
_DURATION_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True)
class CollectedGarbage:
    """What was removed, or would be in a dry run."""

    runs: tuple[str, ...]
    versions: tuple[RegisteredVersion, ...]
    landings: tuple[str, ...]
    files: tuple[str, ...]
    bytes: int


def collect_garbage(
    environment: RunEnvironment, retention: RetentionSettings, *, is_dry_run: bool = False
) -> CollectedGarbage:
    """Remove old runs and versions from the store, then landings and data files that nothing refers to any more.

    On a shared store the clock of the database decides what is old, not that of one of its users.
    """
    with environment.store.write() as transaction:
        now = transaction.now() if environment.store.is_shared else environment.clock()
        runs = transaction.retention.expired_runs(now - parse_duration(retention.runs))
        versions = transaction.retention.expired_versions(retention.versions)
        registered = transaction.retention.kept_versions(versions)
        definitions = transaction.stored_definitions()
        held, released = (tuple(_locate(group, definitions, environment)) for group in (registered, versions))
        read = transaction.retention.inputs_read()
        tables = transaction.retention.versioned_tables()
        sealed = transaction.seals.held_versions()
        run_ids = frozenset(transaction.retention.run_tokens())
        if not is_dry_run:
            transaction.retention.mark_expired(versions, now=now)
            transaction.retention.forget_runs(run.id for run in runs)
            versions_removed = [f"{version.dataset_id}:{version.version}" for version in versions]
            details = {"runs": [run.id for run in runs], "versions": versions_removed}
            transaction.log.append("gc", f"{len(runs)} runs, {len(versions)} versions", details)
    forgotten = {run.id for run in runs}
    kept = [pin for run_id, details in read.items() if run_id not in forgotten for pin in _pins_from_details(details)]
    landings = _unused_landings(environment, kept, run_ids - forgotten)
    if not is_dry_run:
        if any(located.location.format == "spark_catalog" for located in (*held, *released)):
            environment.session()
        _hold_versions(environment, held, released)
    # A file of a live run is not older than the run, also if the clock was changed.
    oldest_staging = min([now - _MINIMUM_FILE_AGE, *(run.created_at for run in live_runs(environment.store))])
    files: list[FileStat] = []
    store = holding_store(environment.store)
    holders = [_holder(store, version) for version in versions]

    def is_same(one: str, other: str) -> bool:
        return uri_identity(one, environment.root) == uri_identity(other, environment.root)

    for format_, table in tables:
        keep = {version.pin.version.token for version in registered if is_same(version.pin.uri, table)}
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
                # A run that starts now could read a landing that is about to be removed.
                transaction.runs.hold_back_starts()
                if not live_runs_in(transaction):
                    if environment.storage.tables is not None:
                        environment.storage.tables.drop_unused(folder)
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
    """Versions with their tables, without those whose data source was removed: their location is unknown."""
    around = LocationContext(definitions, environment.root, (), None)
    for version in registered:
        pin = version.pin
        if not FORMATS[pin.version.format].is_database:
            yield _LocatedVersion(version, Location(pin.version.format, uri=pin.uri, version=pin.version))
            continue
        with suppress(DaybookError):
            dataset = definitions.dataset(version.dataset_id, version.version)
            if dataset is not None:
                yield _LocatedVersion(version, locate_pinned(pin, dataset.dataset.main_table, around))


def _hold_versions(
    environment: RunEnvironment, kept: Iterable[_LocatedVersion], expired: Iterable[_LocatedVersion]
) -> None:
    """Mark at the tables which versions this store needs, so that programs that vacuum them keep these."""
    store = holding_store(environment.store)
    for located, is_kept in (*((version, True) for version in kept), *((version, False) for version in expired)):
        format_ = format_named(located.location.format)
        note = format_.hold_version if is_kept else format_.release_version
        # A table that cannot be reached is not vacuumed.
        with suppress(OSError, DaybookError, *format_.storage_errors):
            holder = _holder(store, located.registered)
            note(located.location, located.registered.pin.version, holder, environment.root, environment.storage)


def _holder(store: HoldingStore, version: RegisteredVersion) -> VersionHolder:
    return VersionHolder(store, version.dataset_id, version.version)


def parse_duration(text: str) -> datetime.timedelta:
    """`90d`, `12h`, `4w`."""
    return datetime.timedelta(**{_DURATION_UNITS[text[-1]]: int(text[:-1])})


def _pins_from_details(details: Mapping[str, Any]) -> Iterable[Pin]:
    for pins in details.get("pins", {}).values():
        yield from (pin_from_json(pin) for pin in pins)


def _unused_landings(environment: RunEnvironment, kept: Iterable[Pin], run_ids: Collection[str]) -> tuple[str, ...]:
    """Landings and replays that no kept run has read; none while a run is live."""
    if live_runs(environment.store):
        return ()
    subfolders = partial(list_subfolders, storage=environment.storage)
    if (tables := environment.storage.tables) is not None:
        return tuple(_unused_tables(environment, tables, kept, run_ids))
    landing, replays = join_uri(environment.state, "landing"), join_uri(environment.state, "replays")
    needed = {pin.folder for pin in kept if isinstance(pin, LandedPin)}
    shared = [
        join_uri(landing, f"files/{name}")
        for name in subfolders(join_uri(landing, "files"))
        if f"files/{name}" not in needed
    ]
    own = [join_uri(landing, f"runs/{name}") for name in subfolders(join_uri(landing, "runs")) if name not in run_ids]
    return (
        *shared,
        *own,
        *(join_uri(replays, name) for name in subfolders(replays) if name not in run_ids),
    )


def _unused_tables(
    environment: RunEnvironment, tables: StateTables, kept: Iterable[Pin], run_ids: Collection[str]
) -> Iterator[str]:
    """Unused landings where the state is a schema, as the store lists them."""
    environment.session()
    needed = {pin.folder for pin in kept if isinstance(pin, LandedPin)}
    for folder in tables.manifests.folders():
        kind, _, name = folder.partition("/")
        if folder not in needed and not (kind == "runs" and name.partition("/")[0] in run_ids):
            yield folder
    for run_id in sorted(tables.replayed_runs() - set(run_ids)):
        yield f"replays/{run_id}"
