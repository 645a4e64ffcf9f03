"""The slices of tables, listed and dropped, and the rows that an output of a run wrote into its slice."""

import datetime
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import pyarrow as pa

from daybook.definitions.loading import LoadedWorkspace
from daybook.errors import DaybookError, Notice
from daybook.errors.error import did_you_mean
from daybook.io.location_checks import location_identity
from daybook.io.read_source import read_source
from daybook.io.registry import format_named, writer_for
from daybook.io.row_page import PageRequest, RowPage
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.io.stored_rows import dataset_of
from daybook.io.target import WrittenSlice
from daybook.io.writer import Commit
from daybook.model.dataset import Dataset
from daybook.model.definition import TableVersion
from daybook.model.json_fields import Hidden, Merged, ShownAs, as_objects, named
from daybook.model.operation import LocationDestination, TableDestination
from daybook.model.serialization import decode_definition
from daybook.model.types import RUN_PERIOD_COLUMN
from daybook.resolve.location import Resolution
from daybook.resolve.project_files import CheckedFiles
from daybook.runs.attempt.prepare import PreparedRun, prepare_runs, restore_run
from daybook.runs.attempt.recorder import data_pin, hold_version, holding_store_in, newest_pin, recorded_output_result
from daybook.runs.attempt.run_request import RunRequest, check_request
from daybook.runs.environment import RunEnvironment
from daybook.runs.lifecycle.registration import RegisteredDataset, register_output
from daybook.runs.outputs import SANDBOX_SUFFIX, PlannedOutput
from daybook.runs.permissions import foreign_owner, is_of_workspace, require_unlocked
from daybook.runs.run_result import OutputResult, RunResult
from daybook.runs.snapshot import RunSnapshot, new_run_id, snapshot_from_json
from daybook.runs.sources import slice_table
from daybook.store.records import SHARED_PROJECT, DroppedSlice, OutputCommit, Registration, RunRecord, Slice
from daybook.store.store import Transaction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class SliceEntry:
    """A slice of a table that runs of this store wrote.

    `table` is the destination as a project names it, `location` the address of the table. A slice that projects append
    to has no `project_id`; its run is the last that appended, its rows are those of all of them. A slice that was found
    again has no commit in the store, and its table may be known by its address alone.
    """

    table: str
    location: str
    period: str
    project_id: Annotated[str | None, named("project")]
    operation_id: Annotated[str | None, named("operation")]
    run_id: Annotated[str, named("run")]
    rows: int | None
    written_at: datetime.datetime | None
    # Ids of datasets that were registered from the table.
    datasets: tuple[str, ...]
    stored: Hidden[Slice]

    @property
    def names(self) -> Iterator[str]:
        """The names by which a user may mean the table."""
        yield from (self.table, self.location, self.stored.destination, self.table.rpartition(".")[2], *self.datasets)


@dataclass(frozen=True, slots=True)
class SliceName:
    """A slice of a table, and the run that wrote it."""

    table: str
    location: str
    period: str
    run: str


def _slice_name(entry: SliceEntry) -> SliceName:
    return SliceName(entry.table, entry.location, entry.period, entry.run_id)


@dataclass(frozen=True, slots=True)
class SliceDrop:
    """A slice that was removed, and the versions of datasets that were registered because of it."""

    slice: Merged[Annotated[SliceEntry, ShownAs(_slice_name, SliceName)]]
    rows: int
    datasets: Annotated[tuple[tuple[str, int], ...], as_objects("id", "version")]
    notices: Hidden[tuple[Notice, ...]] = ()


def list_slices(transaction: Transaction) -> tuple[SliceEntry, ...]:
    """Every slice, by table and period."""
    slices = transaction.slices.all()
    by_run = transaction.close.commits(slice_.run_id for slice_ in slices)
    slice_commits = [_commit_of(slice_, by_run.get(slice_.run_id, [])) for slice_ in slices]
    written = transaction.outcomes.slice_commits(commit.destination for commit in slice_commits if commit is not None)
    dropped = {(drop.destination, drop.period): drop.dropped_at for drop in transaction.slices.dropped()}
    entries = []
    for stored, own in zip(slices, slice_commits, strict=True):
        to_table = [row for row in written if own is not None and row[2].destination == own.destination]
        since = dropped.get((stored.destination, stored.period))
        commits = [
            (run_id, commit)
            for run_id, period, commit in to_table
            if period == stored.period and (since is None or commit.committed_at is None or commit.committed_at > since)
        ]
        ids = {str(commit.details["dataset_id"]) for _, _, commit in to_table if commit.details.get("dataset_id")}
        entries.append(_entry(stored, own, commits, tuple(sorted(ids))))
    return tuple(sorted(entries, key=lambda entry: (entry.table, entry.location, entry.period)))


def _commit_of(stored: Slice, commits: list[OutputCommit]) -> OutputCommit | None:
    """The commit of its run that wrote a slice; None when the run took the slice and did not write it."""
    return next((commit for commit in commits if stored.destination in commit.table.names), None)


def _entry(
    stored: Slice, own: OutputCommit | None, commits: list[tuple[str, OutputCommit]], datasets: tuple[str, ...]
) -> SliceEntry:
    table = str(own.details.get("label", own.destination)) if own is not None else stored.destination
    location = own.destination if own is not None else stored.destination
    owner: tuple[str | None, str | None] = (stored.project_id, stored.operation_id)
    run_id, rows, written_at = stored.run_id, stored.rows, stored.written_at
    if stored.project_id == SHARED_PROJECT:
        owner = (None, None)
        if commits:
            run_id, last = commits[-1]
            rows, written_at = sum(commit.rows or 0 for _, commit in commits), last.committed_at
    return SliceEntry(table, location, stored.period, *owner, run_id, rows, written_at, datasets, stored)


def slices_of_table(entries: tuple[SliceEntry, ...], table: str) -> tuple[SliceEntry, ...]:
    """The slices of the table that a user names; STORE_035 when there is none, STORE_036 when it may be several."""
    matching = tuple(entry for entry in entries if table in entry.names)
    exact = tuple(entry for entry in matching if table in (entry.table, entry.location))
    matching = exact or matching
    if not matching:
        tables = sorted({entry.table for entry in entries})
        hint = did_you_mean(table, tuple(tables)) if tables else None
        raise DaybookError("STORE_035", table=table, hint=hint)
    if len({entry.stored.destination for entry in matching}) > 1:
        raise DaybookError("STORE_036", table=table, tables=", ".join(sorted({entry.location for entry in matching})))
    return matching


def find_slice(entries: tuple[SliceEntry, ...], table: str, period: str) -> SliceEntry:
    """STORE_037 when the table has no such slice."""
    of_table = slices_of_table(entries, table)
    for entry in of_table:
        if entry.period == period:
            return entry
    periods = ", ".join(entry.period for entry in of_table)
    raise DaybookError("STORE_037", table=of_table[0].table, period=period, periods=periods)


def drop_slice(
    environment: RunEnvironment,
    entry: SliceEntry,
    *,
    reason: str,
    user: str | None,
    definitions: LoadedWorkspace | None = None,
    on_recorded: Callable[[Transaction], None] = lambda _: None,
) -> SliceDrop:
    """Remove the rows of a slice from its table; its period must not be locked.

    The datasets of the table get a new version, so that readers of the latest see the table without the slice. Where
    the store does not have the run, because it was restored from a backup, `definitions` say how the project writes.
    `on_recorded` takes part in the transaction that records the drop.
    """
    stored = entry.stored
    with environment.store.read() as transaction:
        is_recorded = transaction.runs.find(stored.run_id) is not None
        prepared = (
            restore_run(
                snapshot_from_json(transaction.runs.snapshot(stored.run_id)), environment.root, environment.storage
            )
            if is_recorded
            else None
        )
    prepared = prepared or _prepare_again(environment, definitions, entry)
    snapshot = prepared.snapshot
    with environment.store.read() as transaction:
        _require_droppable(transaction, snapshot)
    planned = _planned_output(environment, prepared, stored)
    table = slice_table(planned.target.location, planned.target.workspace)
    now = environment.clock()
    drop_id = f"drop-{new_run_id(now)}"
    target = replace(planned.target, mode="replace_period", run_id=drop_id, allow_empty=True)
    if format_named(target.format).needs_session:
        environment.session()

    def look(written: tuple[WrittenSlice, ...]) -> None:
        with environment.store.write() as transaction:
            _require_droppable(transaction, snapshot)
            for written_slice in written:
                _require_same_slice(transaction, written_slice, entry, planned)

    commit = writer_for(target.format).drop_slice(target, look)
    with environment.store.write() as transaction:
        dropped = DroppedSlice(
            stored.destination, stored.period, stored.project_id, stored.run_id, commit.rows, now, user, reason
        )
        transaction.slices.drop(table, dropped)
        details = {"reason": reason, "rows": commit.rows, "run": stored.run_id}
        on_recorded(transaction)
        transaction.log.append("drop", f"{entry.table}@{stored.period}", details)
        registered = tuple(_register_without_slice(environment, transaction, entry, planned, commit, drop_id))
        pins = {dataset: transaction.definitions.pin(dataset.dataset_id, dataset.version) for dataset in registered}
        holding = holding_store_in(transaction, environment.store)
    location = planned.target.location
    notices = [
        notice
        for dataset, pin in pins.items()
        if pin is not None
        for notice in hold_version(
            holding,
            dataset,
            pin,
            location,
            environment.root,
            destination=entry.table,
            storage=target.storage,
        )
    ]
    datasets = tuple((dataset.dataset_id, dataset.version) for dataset in registered)
    return SliceDrop(entry, commit.rows, datasets, tuple(notices))


def _require_droppable(transaction: Transaction, snapshot: RunSnapshot) -> None:
    if snapshot.settings.sandbox is None:
        require_unlocked(transaction, snapshot.period)


def _require_same_slice(
    transaction: Transaction, written: WrittenSlice, entry: SliceEntry, planned: PlannedOutput
) -> None:
    """STORE_016 for a slice that another workspace wrote, IO_024 for one that was written since it was chosen."""
    owner = written.owner
    if owner is not None and not is_of_workspace(transaction, written, planned.target):
        raise DaybookError(
            "STORE_016",
            destination=entry.location,
            period=entry.period,
            owner=foreign_owner(owner),
            hint="drop it in that workspace",
        )
    if owner is not None and entry.project_id is not None and written.run_id != entry.run_id:
        raise DaybookError(
            "IO_024", location=entry.location, slice=f" for {entry.period}", hint="check the slice and try again"
        )


def _prepare_again(environment: RunEnvironment, definitions: LoadedWorkspace | None, entry: SliceEntry) -> PreparedRun:
    """A run of the project as its file is now, for a slice that was found again without its run."""
    stored = entry.stored
    projects = {} if definitions is None else definitions.definitions["project"]
    owner = stored.project_id if stored.project_id != SHARED_PROJECT else None
    # A slice that projects append to has no owner: any of them knows the table.
    for project_id in projects if owner is None else (owner,):
        if definitions is None or project_id not in projects:
            continue
        with suppress(DaybookError):
            (prepared,) = prepare_runs(
                environment, check_request(CheckedFiles(definitions), RunRequest(project_id, stored.period))
            )
            if any(_is_slice_of(environment, output, stored) for output in prepared.outputs):
                return prepared
    raise DaybookError("STORE_038", run_id=stored.run_id, destination=stored.destination)


def _is_slice_of(environment: RunEnvironment, planned: PlannedOutput, stored: Slice) -> bool:
    return stored.destination in (location_identity(planned.target.location, environment.root), planned.target.label)


def _planned_output(environment: RunEnvironment, prepared: PreparedRun, stored: Slice) -> PlannedOutput:
    """The output that wrote a slice, as its run planned it."""
    for planned in prepared.outputs:
        if _is_slice_of(environment, planned, stored):
            return planned
    raise DaybookError("STORE_038", run_id=stored.run_id, destination=stored.destination)


def _register_without_slice(
    environment: RunEnvironment,
    transaction: Transaction,
    entry: SliceEntry,
    planned: PlannedOutput,
    commit: Commit,
    drop_id: str,
) -> Iterator[RegisteredDataset]:
    transaction.definitions.lock()
    pin = data_pin(planned, commit)
    target = planned.target
    pin = newest_pin(pin, target.location, target.workspace, target.storage) if pin is not None else None
    project_id = planned.target.owner.project_id
    for number, dataset_id in enumerate(entry.datasets):
        stored = transaction.definitions.get("dataset", dataset_id)
        model = decode_definition("dataset", stored.body)
        if stored.status == "active" and isinstance(model, Dataset):
            registration = Registration(project_id, drop_id, number, pin)
            yield register_output(transaction, model, registration, now=environment.clock(), plans=environment.plans)


def choose_output(outputs: Sequence[OutputResult], prepared: PreparedRun, name: str | None) -> OutputResult:
    """The output that has this name, or the last one; a name that two have is that of the first."""
    if name is None and outputs:
        return outputs[-1]
    for output in outputs:
        if name in _names_of_output(output, prepared.output(output.operation_seq)):
            return output
    labels = tuple(output.destination for output in outputs)
    hint = did_you_mean(name, labels) if name else "give the project an output operation"
    raise DaybookError("RUN_019", wanted=name or "to show", names=", ".join(labels) or "none", hint=hint)


def _names_of_output(output: OutputResult, planned: PlannedOutput) -> Iterator[str | None]:
    """The destination as it was written, with its tokens or for the period, and every name that the result contains."""
    yield from (output.destination, output.destination.removesuffix(SANDBOX_SUFFIX), output.place)
    yield from (output.operation_id, output.name, output.dataset_id, str(output.operation_seq))
    match planned.step.arguments.destination:
        case TableDestination(table=table):
            yield table
        case LocationDestination(location=location):
            yield location.path


def read_output(environment: RunEnvironment, result: RunResult, name: str | None = None) -> "DataFrame":
    """What the run wrote there for its period; on Delta as it was then, elsewhere as it is now."""
    with environment.store.read() as transaction:
        snapshot = snapshot_from_json(transaction.runs.snapshot(result.run_id))
    prepared = restore_run(snapshot, environment.root, environment.storage)
    output = choose_output(result.outputs, prepared, name)
    return read_written_rows(environment, environment.session(), prepared, output.operation_seq, output.table_version)


def read_written_rows(
    environment: RunEnvironment, spark: "SparkSession", prepared: PreparedRun, seq: int, version: TableVersion | None
) -> "DataFrame":
    """The rows of an output's target for the run's period, of a version where the format keeps them, or of its copy."""
    from pyspark.sql import functions as F

    planned, period = prepared.output(seq), prepared.snapshot.period.identifier
    target = planned.target
    df = format_named(target.format).kept_rows(target, version) if version is not None else None
    if df is None:
        resolution = Resolution((replace(target.location, version=version),), (period,))
        landing = environment.landing(prepared.snapshot.run_id)
        source = read_source(spark, resolution, dataset_of(target.columns), landing, workspace=environment.root)
        df = source.frame.rows.plain
        if RUN_PERIOD_COLUMN in source.frame.carried:
            df = df.where(F.col(RUN_PERIOD_COLUMN) == period)
    names = planned.step.written_names
    return df.select(*(F.col(f"`{names.get(name, name)}`").alias(name) for name in planned.step.columns))


@dataclass(frozen=True, slots=True)
class CommittedOutput:
    """One output that a run committed, whether or not the run completed."""

    record: RunRecord
    result: OutputResult
    planned: PlannedOutput

    @property
    def needs_session(self) -> bool:
        """Whether its rows are read through a session of Spark."""
        return format_named(self.planned.target.format).pages_by_session

    @property
    def _commit(self) -> Commit:
        return Commit(self.result.rows_written, self.result.table_version)

    def page(self, request: PageRequest) -> RowPage:
        """Of its rows as they were committed; RUN_084 when they are not there any more."""
        return format_named(self.planned.target.format).committed_page(self.planned.target, self._commit, request)

    def batches(self, request: PageRequest) -> Iterator[pa.RecordBatch]:
        """All of them that fulfil the conditions of a page."""
        return format_named(self.planned.target.format).committed_batches(self.planned.target, self._commit, request)


def find_committed_output(
    transaction: Transaction, root: Path, run_id: str, name: str | None, storage: Storage = PROVIDER_STORAGE
) -> CommittedOutput:
    """The output by any name it has, or the last one; RUN_019 when the run has committed no such output."""
    record, prepared, outputs = _read_outputs(transaction, root, run_id, storage)
    chosen = choose_output(outputs, prepared, name)
    return CommittedOutput(record, chosen, prepared.output(chosen.operation_seq))


def committed_outputs(
    transaction: Transaction, root: Path, run_id: str, storage: Storage = PROVIDER_STORAGE
) -> tuple[PreparedRun, tuple[CommittedOutput, ...]]:
    """The run as its snapshot has it, with every output that it committed."""
    record, prepared, outputs = _read_outputs(transaction, root, run_id, storage)
    return prepared, tuple(CommittedOutput(record, output, prepared.output(output.operation_seq)) for output in outputs)


def _read_outputs(
    transaction: Transaction, root: Path, run_id: str, storage: Storage
) -> tuple[RunRecord, PreparedRun, tuple[OutputResult, ...]]:
    record = transaction.runs.shown(run_id)
    prepared = restore_run(snapshot_from_json(transaction.runs.snapshot(run_id)), root, storage)
    commits = transaction.outcomes.commits(run_id)
    return (
        record,
        prepared,
        tuple(recorded_output_result(prepared.output(commit.operation_seq), commit) for commit in commits),
    )
