"""Completed runs without Spark: their rows are written by Arrow, and committed and recorded as runs do it."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from daybook.engine.counters import GroupCounts
from daybook.errors import DaybookError
from daybook.errors.render import error_to_record
from daybook.io.filesystem import absolute_uri, join_uri
from daybook.io.formats.databases.writer import _slice_version
from daybook.io.formats.delta.writer import file_statistics
from daybook.io.formats.files.folder import slice_state
from daybook.io.registry import writer_for
from daybook.io.row_page import csv_texts
from daybook.io.target import FileTarget, TableTarget, Target, WrittenSlice
from daybook.io.writer import StagedOutput, staged_parquet_files
from daybook.runs.attempt.lease import LeaseKeeper
from daybook.runs.attempt.recorder import RunRecorder
from daybook.runs.attempt.run_request import RunRequest
from daybook.runs.attempt.start import start_run
from daybook.runs.environment import RunEnvironment
from daybook.runs.permissions import claim_slice
from daybook.store.records import FinalStatus
from tests.prepared_runs import prepare_runs
from tests.workspaces import Folder


def write_run(
    folder: Folder,
    rows: Mapping[int, pa.Table],
    period: str = "2026-01",
    *,
    project: str = "p",
    files: int = 1,
    input_rows: int = 3,
    error: DaybookError | None = None,
) -> str:
    """A run that wrote these rows, by the seq of its outputs; `files` is how many files each output gets.

    With an error it failed after that; outputs without rows were not reached.
    """
    workspace = folder.load()
    with folder.around(workspace) as around:
        (prepared,) = prepare_runs(workspace, around, RunRequest(project, period))
        lease = start_run(around.store, prepared)
        recorder = RunRecorder(around, cast(LeaseKeeper, SimpleNamespace(lease=lease)), prepared)
        recorder.record_sources({})
        with around.store.write() as transaction:
            transaction.runs.mark_running(lease, now=transaction.now())
        for output in (each for each in prepared.outputs if each.step.seq in rows):
            table = rows[output.step.seq]
            staged = _stage(output.target, table, files)
            claim = partial(_claim, around, output.target)
            try:
                commit = writer_for(output.target.format).commit(staged, output.target, claim)
            except DaybookError as refused:
                with around.store.write() as transaction:
                    transaction.runs.finish(lease, "failed", now=transaction.now(), error=error_to_record(refused))
                raise
            recorder.record(output, commit, staged, GroupCounts(input_rows, ()))
        with around.store.write() as transaction:
            status: FinalStatus = "failed" if error else "completed"
            kept = error_to_record(error) if error else None
            transaction.runs.finish(lease, status, now=transaction.now(), error=kept)
    return lease.run_id


def _claim(around: RunEnvironment, target: Target, written: tuple[WrittenSlice, ...]) -> None:
    """What a run does right before its commit, but for its lease."""
    with around.store.write() as transaction:
        claim_slice(transaction, target, written, transaction.now())


def _stage(target: Target, table: pa.Table, files: int) -> StagedOutput:
    match target:
        case FileTarget(format="delta"):
            place = Path(join_uri(absolute_uri(target.uri), target.new_attempt_name()))
            folder = place if target.run_period is None else place / f"_run_period={target.run_period}"
            _write_parts(folder, table, files)
            found = staged_parquet_files(str(place), lambda footer: file_statistics(footer, target.columns))
            return StagedOutput(str(place), table.num_rows, files=found)
        case FileTarget():
            return _stage_files(target, table, files)
        case TableTarget():
            work = target.workspace / f".{target.new_attempt_name()}"
            _write_parts(work, table, files)
            found = staged_parquet_files(str(work))
            return StagedOutput(str(work), table.num_rows, "none", files=found, seen=_seen(target))


def _stage_files(target: FileTarget, table: pa.Table, files: int) -> StagedOutput:
    path = Path(target.uri)
    path.parent.mkdir(parents=True, exist_ok=True)
    work = path.parent / f".{target.new_attempt_name()}"
    work.mkdir()
    if target.format == "parquet":
        _write_parts(work / "parts", table, files)
    elif target.is_one_file:
        (work / path.name).write_bytes(b"".join(csv_texts(target.columns, table.to_batches())))
    else:
        (work / "parts").mkdir()
        (work / "parts" / "part-0.csv").write_bytes(b"".join(csv_texts(target.columns, table.to_batches())))
    seen: Any = None if target.is_one_file else slice_state(path, target)
    return StagedOutput(str(work), table.num_rows, "none", seen=seen)


def _write_parts(folder: Path, table: pa.Table, files: int) -> None:
    folder.mkdir(parents=True)
    size = -(-table.num_rows // files) or 1
    # Small tables have several row groups, too.
    group = 2 if table.num_rows < 1000 else 1_000_000
    for number in range(files):
        part = table.slice(number * size, size)
        pq.write_table(part, folder / f"part-{number:05}.parquet", store_decimal_as_integer=True, row_group_size=group)


def _seen(target: TableTarget) -> str:
    with writer_for(target.format)._reading(target) as database:  # type: ignore[attr-defined]
        return "0" if database is None else _slice_version(database, target)
