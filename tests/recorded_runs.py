"""Runs that leave in the store what a run leaves there, and compute nothing: no Spark, no rows."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from daybook.engine.counters import GroupCounts
from daybook.io.filesystem import content_digest, list_files
from daybook.io.formats.iceberg.catalog import opened_table
from daybook.io.formats.iceberg.history import current_version
from daybook.io.pins import LandedPin, Pin, PinnedFile, TablePin
from daybook.io.writer import Commit, StagedOutput
from daybook.resolve.location import is_one_file
from daybook.runs.attempt.lease import LeaseKeeper
from daybook.runs.attempt.prepare import PreparedRun
from daybook.runs.attempt.recorder import RunRecorder
from daybook.runs.attempt.start import start_run
from daybook.runs.environment import RunEnvironment
from daybook.runs.snapshot import SourceSnapshot


def record_run(environment: RunEnvironment, prepared: PreparedRun, work: Callable[[], None] = lambda: None) -> Any:
    """In the place of `execute_run`: the run is completed after `work`, with pins of its files and a row per output."""
    lease = start_run(environment.store, prepared, environment.before_start)
    recorder = RunRecorder(environment, LeaseKeeper(environment.store, lease, lambda: None), prepared)
    with environment.store.write() as transaction:
        transaction.runs.mark_running(lease, now=transaction.now())
    work()
    recorder.record_sources(
        {source.key: tuple(_pins_of(source, environment.root)) for source in prepared.snapshot.sources}
    )
    leave_places(prepared)
    for planned in prepared.outputs:
        recorder.record(planned, Commit(1), StagedOutput("", 1), GroupCounts(None, ()))
    with environment.store.write() as transaction:
        transaction.runs.finish(lease, "completed", now=transaction.now(), error=None)
    return SimpleNamespace(run_id=lease.run_id)


def leave_places(prepared: PreparedRun) -> None:
    """Something at the place of every output on this machine: a run whose output is gone is out of date."""
    for planned in prepared.outputs:
        location = planned.target.location
        if location.local_path is not None and not location.local_path.exists():
            is_file = is_one_file(location.format, location.uri)
            folder = location.local_path.parent if is_file else location.local_path
            folder.mkdir(parents=True, exist_ok=True)
            if is_file:
                location.local_path.touch()


def _pins_of(source: SourceSnapshot, root: Path) -> Iterator[Pin]:
    for location in source.resolution.locations:
        if location.format == "csv" and location.uri is not None:
            files = tuple(PinnedFile(file, content_digest(file.path)) for file in list_files(location.uri))
            yield LandedPin((location.uri,), "landed", 1, files)
        if location.format == "iceberg":
            with opened_table(location, root) as table:
                assert table is not None
                yield TablePin(location.label, current_version(table).version, str(table.metadata.table_uuid))
