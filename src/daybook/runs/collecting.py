"""`daybook gc`: what the retention no longer keeps; a live version or run never loses anything."""

import datetime
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyarrow import fs

from daybook.io.pins import DeltaPin, LandedPin, Pin, pin_from_json
from daybook.io.place import FileStat, child, store_of
from daybook.io.vacuum import vacuum_delta
from daybook.model.workspace_file import Retention
from daybook.runs.attempt import Surroundings
from daybook.runs.living import live_runs
from daybook.runs.scratch import remove_folder
from daybook.store.retention import ExpiredVersion

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
        known = transaction.retention.run_ids()
        if not is_dry_run:
            transaction.retention.mark_expired(versions, now=now)
            transaction.retention.forget_runs(run.id for run in runs)
    forgotten = {run.id for run in runs}
    kept = [pin for run_id, details in read.items() if run_id not in forgotten for pin in _pins(details)]
    landings = _unused_landings(around, kept, known - forgotten)
    files: list[FileStat] = []
    for table in tables:
        versions_kept = {pin.delta_version for pin in pins if pin.uri == table}
        versions_kept |= {pin.version for pin in kept if isinstance(pin, DeltaPin) and pin.uri == table}
        before = int((now - _GRACE).timestamp() * 1_000_000_000)
        files += vacuum_delta(table, versions_kept, retention.versions, before, is_dry_run=is_dry_run)
    if not is_dry_run:
        for folder in landings:
            if not live_runs(around.store):
                remove_folder(folder)
    size = sum(file.size for file in files)
    return Collected(tuple(forgotten), versions, landings, tuple(file.path for file in files), size)


def duration(text: str) -> datetime.timedelta:
    """`90d`, `12h`, `4w`."""
    return datetime.timedelta(**{_UNITS[text[-1]]: int(text[:-1])})


def _pins(details: Mapping[str, Any]) -> Iterable[Pin]:
    for pins in details.get("pins", {}).values():
        yield from (pin_from_json(pin) for pin in pins)


def _unused_landings(around: Surroundings, kept: Iterable[Pin], known: Collection[str]) -> tuple[str, ...]:
    """Landings and replays that no run that is kept has read; while anything runs, all are left alone."""
    if live_runs(around.store):
        return ()
    landing, replays = child(around.state, "landing"), child(around.state, "replays")
    needed = {pin.folder for pin in kept if isinstance(pin, LandedPin)}
    shared = [
        child(landing, f"files/{name}") for name in _folders(child(landing, "files")) if f"files/{name}" not in needed
    ]
    own = [child(landing, f"runs/{name}") for name in _folders(child(landing, "runs")) if name not in known]
    return (*shared, *own, *(child(replays, name) for name in _folders(replays) if name not in known))


def _folders(uri: str) -> list[str]:
    place = store_of(uri)
    if place.system.get_file_info(place.path).type != fs.FileType.Directory:
        return []
    found = place.system.get_file_info(fs.FileSelector(place.path))
    return sorted(item.base_name for item in found if item.type == fs.FileType.Directory)
