"""`daybook gc`: what the retention no longer keeps; a live version or run never loses anything."""

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyarrow import fs

from daybook.io.pins import DeltaPin, LandedPin, Pin, pin_from_json
from daybook.io.place import FileStat, child, store_of
from daybook.io.vacuum import vacuum_delta
from daybook.model.workspace_file import Retention
from daybook.runs.attempt import Surroundings
from daybook.runs.scratch import remove_folder
from daybook.store.records import RunFilter, RunRecord
from daybook.store.retention import ExpiredVersion
from daybook.store.store import Store

# Younger files may be the staging of a run that is just writing.
_GRACE = datetime.timedelta(days=1)
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True)
class Collected:
    """What was removed, or would be."""

    runs: tuple[str, ...]
    versions: tuple[ExpiredVersion, ...]
    landings: tuple[str, ...]
    files: tuple[str, ...]
    bytes: int


def collect(around: Surroundings, retention: Retention, *, is_dry_run: bool = False) -> Collected:
    """Forget old runs and versions, then remove landed inputs and data files that nothing refers to any more."""
    now = around.clock()
    with around.store.write() as transaction:
        runs = transaction.retention.expired_runs(now - duration(retention.runs))
        versions = transaction.retention.expired_versions(retention.versions)
        pins = transaction.retention.kept_pins(versions)
        read = transaction.retention.inputs_read()
        tables = transaction.retention.delta_tables()
        if not is_dry_run:
            transaction.retention.mark_expired(versions, now=now)
            transaction.retention.forget_runs(run.id for run in runs)
    forgotten = {run.id for run in runs}
    kept = [pin for run_id, details in read.items() if run_id not in forgotten for pin in _pins(details)]
    landings = _unused_landings(around, kept, forgotten)
    files: list[FileStat] = []
    for table in tables:
        versions_kept = {pin.delta_version for pin in pins if pin.uri == table}
        versions_kept |= {pin.version for pin in kept if isinstance(pin, DeltaPin) and pin.uri == table}
        before = int((now - _GRACE).timestamp() * 1_000_000_000)
        files += vacuum_delta(table, versions_kept, retention.versions, before, is_dry_run=is_dry_run)
    if not is_dry_run:
        for folder in landings:
            remove_folder(folder)
    size = sum(file.size for file in files)
    return Collected(tuple(forgotten), versions, landings, tuple(file.path for file in files), size)


def duration(text: str) -> datetime.timedelta:
    """`90d`, `12h`, `4w`."""
    return datetime.timedelta(**{_UNITS[text[-1]]: int(text[:-1])})


def live_runs(store: Store) -> tuple[RunRecord, ...]:
    """Runs that are queued or running right now."""
    with store.read() as transaction:
        queued = transaction.runs.page(RunFilter(status="queued"), limit=1000).runs
        return (*queued, *transaction.runs.page(RunFilter(status="running"), limit=1000).runs)


def _pins(details: Mapping[str, Any]) -> Iterable[Pin]:
    for pins in details.get("pins", {}).values():
        yield from (pin_from_json(pin) for pin in pins)


def _unused_landings(around: Surroundings, kept: Iterable[Pin], forgotten: set[str]) -> tuple[str, ...]:
    """Landings that no run that is kept has read; one that is in use right now is left alone."""
    if live_runs(around.store):
        return ()
    landing = child(around.state, "landing")
    needed = {pin.folder for pin in kept if isinstance(pin, LandedPin)}
    shared = [f"files/{name}" for name in _folders(child(landing, "files"))]
    own = [f"runs/{name}" for name in _folders(child(landing, "runs")) if name in forgotten]
    unused = [child(landing, folder) for folder in (*shared, *own) if folder not in needed]
    replays = [child(around.state, "replays", name) for name in _folders(child(around.state, "replays"))]
    return (*unused, *(folder for folder in replays if folder.rpartition("/")[2] in forgotten))


def _folders(uri: str) -> list[str]:
    place = store_of(uri)
    if place.system.get_file_info(place.path).type != fs.FileType.Directory:
        return []
    found = place.system.get_file_info(fs.FileSelector(place.path))
    return sorted(item.base_name for item in found if item.type == fs.FileType.Directory)
