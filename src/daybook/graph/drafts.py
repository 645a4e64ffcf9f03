"""Whether the sandbox holds what a draft would compute now, so that a build of drafts runs only what is needed."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from daybook.graph.freshness import has_other_content
from daybook.io.filesystem import list_files
from daybook.io.pins import FilesPin, LandedPin, Pin, TablePin
from daybook.io.registry import format_named, writer_for
from daybook.io.storage import Storage
from daybook.resolve.location import Location
from daybook.runs.attempt.prepare import PreparedRun
from daybook.runs.attempt.recorder import recorded_pins
from daybook.runs.outputs import PlannedOutput
from daybook.runs.snapshot import RunSnapshot, SourceSnapshot, snapshot_from_json
from daybook.store.records import RunFilter
from daybook.store.store import Transaction

_LOOKED_AT = 20


def find_fresh_draft(transaction: Transaction, prepared: PreparedRun, root: Path, storage: Storage) -> str | None:
    """The last draft of the same user, project and period, if a run now would read and compute the same."""
    now = prepared.snapshot
    run_filter = RunFilter(now.project.id, now.period.identifier)
    runs = transaction.runs.page(run_filter, limit=_LOOKED_AT).runs
    last = next((run for run in runs if run.is_sandboxed and run.user == now.provenance.user), None)
    if last is None or last.status != "completed":
        return None
    before = snapshot_from_json(transaction.runs.snapshot(last.id))
    if _question(before) != _question(now):
        return None
    pins = recorded_pins(transaction, last.id)
    is_same = all(_is_unchanged(source, pins.get(source.key, ()), root, storage) for source in now.sources)
    return last.id if is_same and all(_is_there(output, last.id) for output in prepared.outputs) else None


def _question(snapshot: RunSnapshot) -> tuple[object, ...]:
    """What decides about a result, but for the content of files: equal questions have equal answers."""
    datasets = {(version.dataset.id, version.version): version for version in snapshot.datasets}
    sources = {
        source.key: (
            # A registered dataset counts by its columns and slices, whatever its version.
            datasets[source.dataset_id, source.dataset_version].dataset,
            [_place(location) for location in source.resolution.locations],
            source.resolution.periods,
            source.resolution.as_of,
            dict(source.slices),
            source.sandbox_periods,
        )
        for source in snapshot.sources
    }
    return (snapshot.project, snapshot.as_of, dict(snapshot.parameters), snapshot.settings.sandbox, sources)


def _place(location: Location) -> tuple[object, ...]:
    return (location.format, location.uri, location.schema, location.table, location.slices, location.without)


def _is_unchanged(source: SourceSnapshot, pins: tuple[Pin, ...], root: Path, storage: Storage) -> bool:
    """Whether files and foreign tables are what the draft read; slices are compared by the runs that wrote them."""
    if not pins and not source.slices:
        return False
    return all(_is_same_data(pin, source, root, storage) for pin in pins)


def _is_same_data(pin: Pin, source: SourceSnapshot, root: Path, storage: Storage) -> bool:
    match pin:
        case TablePin():
            if source.slices:
                return True
            location = next((place for place in source.resolution.locations if place.label == pin.uri), None)
            return location is not None and not format_named(location.format).has_changed(pin, location, root, storage)
        case FilesPin():
            return bool(source.slices) or frozenset(list_files(pin.uri, storage=storage)) == frozenset(pin.files)
        case LandedPin(files=()):
            # A database is read again by every build.
            return False
        case LandedPin():
            present = {file.path: file for uri in pin.uris for file in list_files(uri, storage=storage)}
            before = {pinned.stat.path: pinned for pinned in pin.files}
            return present.keys() == before.keys() and not any(
                has_other_content(present[path], pinned.stat, pinned.digest, storage) for path, pinned in before.items()
            )


def _is_there(output: PlannedOutput, run_id: str) -> bool:
    """Whether the sandbox still holds what the draft wrote."""
    target = replace(output.target, run_id=run_id)
    writer = writer_for(target.format)
    if writer.committed(target) is None:
        return False
    written = tuple(_slices(output)) if target.run_period is not None else ()
    return not written or any(slice_run == run_id for slice_run in written)


def _slices(output: PlannedOutput) -> Iterator[str]:
    target = replace(output.target, mode="replace_period")
    for slice_ in writer_for(target.format).slices(target):
        yield slice_.run_id
