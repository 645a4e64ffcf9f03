"""Whether the sandbox holds what a draft would compute now, so that a build of drafts runs only what is needed."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from daybook.graph.data_changes import DataChanges, Reading
from daybook.io.registry import writer_for
from daybook.io.storage import Storage
from daybook.resolve.location import Location
from daybook.runs.attempt.prepare import PreparedRun
from daybook.runs.attempt.recorder import recorded_pins
from daybook.runs.outputs import PlannedOutput
from daybook.runs.snapshot import RunSnapshot, snapshot_from_json
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
    if _inputs(before) != _inputs(now) or _has_data_changed(transaction, last.id, now, root, storage):
        return None
    return last.id if all(_is_there(output, last.id) for output in prepared.outputs) else None


def _inputs(snapshot: RunSnapshot) -> tuple[object, ...]:
    """What decides about a result, but for the content of files and tables."""
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
    datasources = [(source.id, source.type, source.options) for source in snapshot.datasources]
    facts = (snapshot.period, snapshot.as_of, dict(snapshot.parameters), snapshot.settings.sandbox)
    return (snapshot.project, *facts, datasources, sources)


def _place(location: Location) -> tuple[object, ...]:
    return (location.format, location.uri, location.schema, location.table, location.slices, location.without)


def _has_data_changed(transaction: Transaction, run_id: str, now: RunSnapshot, root: Path, storage: Storage) -> bool:
    """Whether files and tables are no longer what the draft read; slices are compared by the runs that wrote them."""
    pins_by_source = recorded_pins(transaction, run_id)
    datasets = {(version.dataset.id, version.version): version for version in now.datasets}
    changes = DataChanges(root, storage, asks_databases=True)
    for source in now.sources:
        pins = pins_by_source.get(source.key, ())
        if not pins and not source.slices:
            return True
        version = datasets[source.dataset_id, source.dataset_version]
        reading = Reading(source.dataset_id, source.resolution, version, pins, counts_times=True)
        if any(changes.of(reading, () if source.slices else source.resolution.locations)):
            return True
    return False


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
