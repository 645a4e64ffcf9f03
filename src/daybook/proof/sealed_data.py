"""Compares the digests of a certificate with the stored rows, and with rows that are computed again.

Reads locations and credentials from the folder of the workspace; needs neither store nor Spark.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from daybook.definitions.loading.loaded_workspace import WorkspaceLocation
from daybook.errors import DaybookError, flatten
from daybook.io.landing.area import LandingArea
from daybook.io.pins import Pin, pin_from_json
from daybook.io.storage import Storage
from daybook.model.datasource import StorageSettings
from daybook.model.types import FloatType
from daybook.proof.certificate import SealedOutput, SealedRun, Subject
from daybook.proof.row_digest import digest_rows
from daybook.proof.stored_slice import digest_file, digest_slice, sealed_version, stored_columns, stored_slice
from daybook.recompute.comparison import compare_rows
from daybook.runs.attempt.prepare import PreparedRun, restore_run
from daybook.runs.environment import state_folder
from daybook.runs.outputs import PlannedOutput
from daybook.runs.second_engine import compute_run
from daybook.runs.snapshot import RunSnapshot, snapshot_from_json
from daybook.store.database.workspace_root import WorkspaceRoot

DataState: TypeAlias = Literal["same", "different", "missing", "not asked"]

# Errors that mean that the data exists with other columns or values; after any other error it could not be read.
_CHANGED_CODES = frozenset({"IO_002", "IO_003", "IO_004", "IO_005", "IO_006", "IO_014", "IO_015"})


@dataclass(frozen=True, slots=True)
class DataFinding:
    """`problem` is None where the rows are the same."""

    state: DataState
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class DataFolder:
    """Where a workspace is now, its state, and how its object stores are reached."""

    root: Path
    state: str
    buckets: Mapping[str, StorageSettings] = field(default_factory=dict)

    @classmethod
    def of(cls, workspace: WorkspaceLocation) -> "DataFolder":
        return cls(workspace.root.resolve(), state_folder(workspace), workspace.settings.storage)


def shortened(document: str, root: Path) -> Any:
    """The value of a JSON text with locations below the workspace written relative to it."""
    return json.loads(WorkspaceRoot.of(root).shorten_texts(document))


def _extended(value: Any, root: Path) -> str:
    """The inverse, as text."""
    return WorkspaceRoot.of(root).extend_texts(json.dumps(value, ensure_ascii=False))


def restore_sealed_run(run: SealedRun, folder: DataFolder) -> PreparedRun:
    """The run from its certificate, in the folder where the workspace is now."""
    snapshot = snapshot_from_json(_extended(run.snapshot, folder.root))
    return restore_run(snapshot, folder.root, _storage(snapshot, folder))


def _storage(snapshot: RunSnapshot, folder: DataFolder) -> Storage:
    return Storage(folder.root, folder.buckets, lambda: snapshot.datasources)


def sealed_pins(run: SealedRun, root: Path) -> dict[str, tuple[Pin, ...]]:
    pins: Mapping[str, Sequence[Mapping[str, Any]]] = json.loads(_extended(run.pins, root))
    return {key: tuple(pin_from_json(pin) for pin in values) for key, values in pins.items()}


def compare_data(planned: PlannedOutput, output: SealedOutput, subject: Subject) -> DataFinding:
    """Compares the stored rows, and the bytes of a file, with the digests."""
    try:
        with _reachable():
            if subject.file is not None and (file := digest_file(planned.target)) != subject.file:
                is_there = file is not None
                return DataFinding("different" if is_there else "missing", "the bytes of its file are others")
            if subject.rows is None:
                return DataFinding("same")
            digest = digest_slice(planned, sealed_version(planned.target, output.table_version))
    except DaybookError as error:
        return _unreadable(error)
    if digest == subject.rows:
        return DataFinding("same")
    if digest.rows != subject.rows.rows:
        return DataFinding("different", f"it has {digest.rows:,} rows, {subject.rows.rows:,} were sealed")
    return DataFinding("different", f"its {digest.rows:,} rows are not those that were sealed")


def _unreadable(error: DaybookError) -> DataFinding:
    is_changed = any(single.code in _CHANGED_CODES for single in flatten(error))
    return DataFinding("different" if is_changed else "missing", _reason(error))


def _reason(error: DaybookError) -> str:
    """An error with its causes, in one line."""
    return ": ".join(str(single).splitlines()[0] for single in (error, *error.causes))


@contextmanager
def _reachable() -> Iterator[None]:
    """Turns an error of the operating system into IO_012."""
    try:
        yield
    except OSError as failure:
        location = str(failure.filename or "the data")
        raise DaybookError("IO_012", location=location, reason=failure.strerror or str(failure)) from failure


def compare_computation(
    run: SealedRun, prepared: PreparedRun, folder: DataFolder, subjects: Mapping[str, Subject]
) -> dict[str, DataFinding]:
    """The rows of every output computed again in plain Python from the pinned sources, by subject.

    Rows with the digest that was sealed are the same. Floats may differ in their last digits, and of some files only
    the bytes were sealed: there the stored rows are compared cell by cell, if they are the sealed ones.
    """
    outputs = {output.operation_seq: output for output in run.outputs}
    storage = _storage(prepared.snapshot, folder)
    landing = LandingArea(f"{folder.state}/landing", run.run, storage)
    try:
        # Sources whose landing was removed are landed in a temporary folder, since verifying writes nothing.
        with _reachable(), tempfile.TemporaryDirectory(prefix="daybook-landing-") as scratch:
            landings = (landing, LandingArea(scratch, run.run, storage))
            computation = compute_run(prepared, landings, folder.root, pins=sealed_pins(run, folder.root))
    except DaybookError as error:
        finding = DataFinding("missing", f"it cannot be computed again: {_reason(error)}")
        return {output.subject: finding for output in run.outputs}
    findings = {}
    for computed in computation.outputs:
        if (output := outputs.get(computed.name.seq)) is not None:
            planned = prepared.output(output.operation_seq)
            written_names = planned.step.written_names
            names = [written_names.get(name, name) for name in computed.columns]
            positions = [names.index(name) for name in stored_columns(planned)]
            rows = [tuple([row[position] for position in positions]) for row in computed.rows]
            findings[output.subject] = _compare_rows(planned, output, subjects[output.subject], rows)
    return findings


def _compare_rows(
    planned: PlannedOutput, output: SealedOutput, subject: Subject, rows: Sequence[tuple[Any, ...]]
) -> DataFinding:
    columns = stored_columns(planned)
    is_exact = subject.rows is not None and not any(isinstance(type_, FloatType) for type_ in columns.values())
    if subject.rows is not None and digest_rows(columns, rows) == subject.rows:
        return DataFinding("same")
    different = DataFinding("different", f"it has other rows; `daybook recompute {planned.target.run_id}` shows where")
    if is_exact:
        return different
    try:
        with _reachable(), stored_slice(planned, sealed_version(planned.target, output.table_version)) as stored:
            stored_rows = list(stored)
            is_sealed = (
                digest_rows(columns, stored_rows) == subject.rows
                if subject.rows is not None
                else digest_file(planned.target) == subject.file
            )
    except DaybookError as error:
        return DataFinding("missing", f"it is compared with the stored rows: {_reason(error)}")
    if not is_sealed:
        return DataFinding("missing", "it is compared with the stored rows, which are not those that were sealed")
    if compare_rows(list(columns), stored_rows, rows, shown=0).count == 0:
        return DataFinding("same")
    if subject.rows is None:
        return DataFinding("missing", "only its bytes were sealed, and its format does not give the rows back")
    return different
