"""Records what a run did and registers its outputs, in transactions that check the lease of the run."""

import datetime
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, assert_never

from daybook.engine.counters import GroupCounts
from daybook.errors import DaybookError, Notice, notice
from daybook.io.format import HoldingStore, VersionHolder
from daybook.io.location_checks import location_identity
from daybook.io.pins import Pin, pin_from_json, pin_to_json
from daybook.io.registry import format_named
from daybook.io.storage import Storage
from daybook.io.target import TableTarget, WrittenSlice
from daybook.io.writer import Commit, StagedOutput
from daybook.model.dataset import Dataset, PathLocation, TableLocation
from daybook.model.definition import SANDBOX_PREFIX, RegisteredDataPin
from daybook.model.operation import LocationDestination, TableDestination
from daybook.model.serialization import encode_definition
from daybook.plan.registered_datasets import registered_dataset as plan_registration
from daybook.resolve.calendars.periods import calendar_for
from daybook.resolve.location import Location
from daybook.resolve.paths import fill_table_name, names_one_period
from daybook.runs.attempt.lease import LeaseKeeper
from daybook.runs.attempt.prepare import PreparedRun
from daybook.runs.environment import RunEnvironment
from daybook.runs.lifecycle.registration import RegisteredDataset, register_output
from daybook.runs.outputs import PlannedOutput, output_errors
from daybook.runs.permissions import (
    claim_slice,
    conflict_notices,
    replaced_slices,
    require_log,
    require_slice,
    require_unlocked,
    unknown_run_notices,
)
from daybook.runs.run_result import INCLUDES_DELETED, OutputResult
from daybook.runs.sources import slice_table
from daybook.runs.totals_ledger import recorded_sums, with_loaded
from daybook.store.records import OperationResult, OutputCommit, Registration
from daybook.store.store import MetadataStore, Transaction


def registered_dataset(planned: PlannedOutput, prepared: PreparedRun, *, as_live: bool = False) -> Dataset:
    """The dataset an output is registered as; OUTPUT_007 when it has nothing but system columns.

    That of a draft in the sandbox; `as_live` what it will be once the project is active.
    """
    snapshot = prepared.snapshot
    is_sandboxed = snapshot.settings.sandbox is not None and not as_live
    location = _dataset_location(planned, snapshot.input_table, is_sandboxed=is_sandboxed)
    is_own_path = isinstance(location, PathLocation) and names_one_period(location.path, snapshot.period)
    has_own_period = planned.target.run_period is not None or is_own_path
    dataset = plan_registration(prepared.plan, planned.step, location=location, has_own_period=has_own_period)
    return dataset.model_copy(update={"id": f"{SANDBOX_PREFIX}{dataset.id}"}) if is_sandboxed else dataset


def data_pin(planned: PlannedOutput, commit: Commit) -> RegisteredDataPin | None:
    """A registered version stays readable where the format keeps versions; elsewhere it follows the live data."""
    if commit.version is None:
        return None
    return RegisteredDataPin(planned.target.label, commit.version)


def newest_pin(pin: RegisteredDataPin, location: Location, workspace: Path, storage: Storage) -> RegisteredDataPin:
    """The table as it is now: it holds the commit, and those of other runs that registered before this one."""
    version = format_named(location.format).newest_version(location, pin.version, workspace, storage)
    return replace(pin, version=version)


def holding_store(store: MetadataStore) -> HoldingStore:
    """The store as tables know it."""
    with store.read() as transaction:
        return holding_store_in(transaction, store)


def holding_store_in(transaction: Transaction, store: MetadataStore) -> HoldingStore:
    """The same in a transaction that is there already."""
    return HoldingStore(store.identity, transaction.identity.ids().own)


def hold_version(
    store: HoldingStore,
    registered: RegisteredDataset,
    pin: RegisteredDataPin,
    location: Location,
    workspace: Path,
    *,
    destination: str,
    storage: Storage,
    seq: int | None = None,
) -> Iterator[Notice]:
    """Note beside the table that the registered version is needed; `daybook gc` does it again where it fails."""
    try:
        holder = VersionHolder(store, registered.dataset_id, registered.version)
        format_named(location.format).hold_version(location, pin.version, holder, workspace, storage)
    except Exception as failure:
        # The run has recorded its output; nothing that is noted beside the table may change that.
        reason = getattr(failure, "strerror", None) or str(failure)
        yield notice("RUN_042", operation_seq=seq, destination=destination, reason=reason)


def _dataset_location(planned: PlannedOutput, input_table: str, *, is_sandboxed: bool) -> PathLocation | TableLocation:
    destination = planned.step.arguments.destination
    if is_sandboxed:
        target = planned.target
        if isinstance(target, TableTarget):
            place = {"datasource_id": target.datasource.id, "table": target.table, "schema": target.schema}
            return TableLocation.model_validate(place)
        path, root = target.location.file_uri, str(target.workspace.absolute())
        # Below the workspace the path is relative, so that the two can move.
        path = path.removeprefix(f"{root}/") if path.startswith(f"{root}/") else path
        return PathLocation(path=path, format=target.format, options=dict(target.options))
    match destination:
        case TableDestination(datasource_id=datasource_id, table=table):
            return TableLocation(datasource_id=datasource_id, table=table)
        case LocationDestination(location=location):
            # Readers of the dataset use another name for its table.
            path = fill_table_name(location.path, input_table)
            return location.model_copy(update={"path": path, "format": planned.target.format})
        case _:
            assert_never(destination)


# The load of all sources is recorded before the first operation.
LOAD_SEQ = 0


@dataclass(frozen=True, slots=True)
class EarlierAttempts:
    """What the first attempt read, by load, and what earlier ones committed; a new run has neither."""

    pins: Mapping[str, tuple[Pin, ...]]
    outputs: tuple[OutputResult, ...]


@dataclass(frozen=True, slots=True)
class CompletedRun:
    """What the store holds of a run when it has ended."""

    duration: datetime.timedelta
    operations: tuple[OperationResult, ...]


class RunRecorder:
    """The store's side of one run."""

    def __init__(self, environment: RunEnvironment, keeper: LeaseKeeper, prepared: PreparedRun) -> None:
        self._store = environment.store
        self._keeper = keeper
        self._prepared = prepared
        self._plans = environment.plans
        # What the sources were, once that is recorded; the first output adds the number of rows.
        self._load: OperationResult | None = None
        # What the sources are beyond their pins; recorded with them.
        self.load_details: Mapping[str, Any] = {}
        # Set by the record of the last output.
        self.completed: CompletedRun | None = None

    def begin(self) -> EarlierAttempts:
        """The run is executed from now on, if it still may be."""
        run_id = self._keeper.lease.run_id
        earlier: list[EarlierAttempts] = []

        def mark(transaction: Transaction) -> None:
            transaction.runs.mark_running(self._keeper.lease, now=transaction.now())
            self._load = _find_load(transaction, run_id)
            commits = transaction.outcomes.commits(run_id)
            outputs = (
                recorded_output_result(self._prepared.output(commit.operation_seq), commit) for commit in commits
            )
            earlier.append(EarlierAttempts(_pins_of(self._load), tuple(outputs)))

        self._keeper.fence(mark)
        return earlier[0]

    def record_sources(
        self,
        pins: Mapping[str, tuple[Pin, ...]],
        written: Iterable[tuple[PlannedOutput, tuple[WrittenSlice, ...]]] = (),
    ) -> tuple[Notice, ...]:
        """Record what the sources are, unless an earlier attempt has.

        Refuses slices of other owners, and locked ones, before anything is written: `written` are the slices that
        each output writes to, as its target has them.
        """
        with self._store.write() as transaction:
            checked = (self._check(transaction, planned, slices) for planned, slices in written)
            notices = tuple(notice for slice_notices in checked for notice in slice_notices)
            if self._load is None:
                details = {
                    "pins": {key: [pin_to_json(pin) for pin in source_pins] for key, source_pins in pins.items()},
                    **self.load_details,
                }
                self._load = OperationResult(LOAD_SEQ, "load", "load", details=details)
                transaction.outcomes.record_operations(self._keeper.lease, self._load)
        return notices

    def _check(
        self, transaction: Transaction, planned: PlannedOutput, written: tuple[WrittenSlice, ...]
    ) -> Iterator[Notice]:
        with output_errors(planned):
            require_log(transaction, planned.target)
            require_slice(transaction, planned.target, written)
            self._require_unlocked(transaction, planned)
        yield from unknown_run_notices(transaction, planned.target, written)

    def permit(self, planned: PlannedOutput, written: tuple[WrittenSlice, ...]) -> None:
        """The last check before a commit: the lease is valid, the period is not locked, the slice is owned."""

        def look(transaction: Transaction) -> None:
            self._require_unlocked(transaction, planned)
            claim_slice(transaction, planned.target, written, transaction.now())

        self._keeper.fence(look)

    def _require_unlocked(self, transaction: Transaction, planned: PlannedOutput) -> None:
        """The run's period, and those whose slices are thrown away because the table is replaced."""
        snapshot = self._prepared.snapshot
        if snapshot.settings.sandbox is not None:
            return
        require_unlocked(transaction, snapshot.period)
        replaced = [slice_.period for slice_ in replaced_slices(transaction, planned.target)]
        if any(period != snapshot.period.identifier for period in replaced):
            calendar = calendar_for(snapshot.project.calendar_id, transaction.stored_definitions())
            for period in filter(None, map(calendar.find, replaced)):
                require_unlocked(transaction, period)

    def record(
        self,
        planned: PlannedOutput,
        commit: Commit,
        staged: StagedOutput,
        counts: GroupCounts,
        *,
        is_last: bool = False,
    ) -> tuple[OutputResult, tuple[Notice, ...]]:
        """Record a commit with its registration and the counts up to it, all or nothing; with what there is to say.

        The last output completes the run.
        """
        if is_last:
            self._keeper.release()
        with self._store.write() as transaction:
            registered, notices = self._registered(transaction, planned, commit)
            output = _output_result(planned, commit, registered, staged.duration_ms)
            self._record_commit(transaction, planned, output, staged)
            self._record_counts(transaction, counts)
            self._record_output(transaction, planned, output, counts)
            pin = transaction.definitions.pin(registered.dataset_id, registered.version) if registered else None
            holding = holding_store_in(transaction, self._store)
            completed = self._complete(transaction) if is_last else None
        self.completed = completed
        if registered is not None and pin is not None:
            seq = planned.step.seq
            target = planned.target
            held = hold_version(
                holding,
                registered,
                pin,
                target.location,
                target.workspace,
                destination=planned.label,
                storage=target.storage,
                seq=seq,
            )
            notices += tuple(held)
        return output, notices

    def complete(self) -> CompletedRun:
        """The run as it has ended; an attempt that found everything committed has recorded no last output."""
        if self.completed is None:
            with self._store.write() as transaction:
                self.completed = self._complete(transaction)
        return self.completed

    def _complete(self, transaction: Transaction) -> CompletedRun:
        run_id = self._keeper.lease.run_id
        transaction.runs.finish(self._keeper.lease, "completed", now=transaction.now())
        duration = transaction.runs.get(run_id).duration or datetime.timedelta()
        return CompletedRun(duration, transaction.outcomes.operations(run_id))

    def _record_commit(
        self, transaction: Transaction, planned: PlannedOutput, output: OutputResult, staged: StagedOutput
    ) -> None:
        target = planned.target
        if target.mode == "replace":
            transaction.slices.forget(slice_table(target.location, target.workspace))
        is_owned = target.run_period is not None and target.mode != "append"
        commit = OutputCommit(
            operation_seq=output.operation_seq,
            operation_id=output.operation_id,
            destination=output.place,
            mode=target.mode,
            table_version=output.table_version,
            rows=output.rows_written,
            fingerprint=staged.fingerprint,
            details={
                "format": output.format,
                "label": output.destination,
                "identity": location_identity(target.location, target.workspace),
                "duration_ms": output.write_duration_ms,
                "dataset_id": output.dataset_id,
                "dataset_version": output.dataset_version,
                **({"rows_digest": asdict(staged.digest)} if staged.digest is not None else {}),
                **self._live_details(planned, output),
            },
        )
        period = target.run_period if is_owned else None
        transaction.outcomes.record_commit(self._keeper.lease, commit, now=transaction.now(), period=period)
        lease = self._keeper.lease
        details = {
            "fingerprint": staged.fingerprint,
            "output": output.operation_id,
            "rows": output.rows_written,
            "run": lease.run_id,
            "table": output.destination,
        }
        transaction.log.append("commit", f"{lease.project_id}@{lease.period}", details)

    def _live_details(self, planned: PlannedOutput, output: OutputResult) -> dict[str, Any]:
        """What an output in the sandbox is written instead of, so that other drafts find it."""
        if planned.live is None:
            return {}
        live = slice_table(planned.live, planned.target.workspace).identity
        details: dict[str, Any] = {"live": live, "is_slice": planned.target.run_period is not None}
        if output.dataset_id is not None:
            dataset = registered_dataset(planned, self._prepared, as_live=True)
            details["live_dataset"] = encode_definition("dataset", dataset).body
        return details

    def _record_counts(self, transaction: Transaction, counts: GroupCounts) -> None:
        """The counts of the operations before an output are known once it is written."""
        operations = {operation.seq: operation for operation in self._prepared.snapshot.project.operations}
        counted = [
            OperationResult(
                count.seq,
                operations[count.seq].id,
                operations[count.seq].type,
                rows_picked=count.picked,
                rows_added=count.added,
                rows_deleted=count.picked if operations[count.seq].type == "delete" else 0,
                details=recorded_sums(counts.sums, count.seq),
            )
            for count in counts.operations
        ]
        if self._load is not None and (counts.input_rows is not None or counts.live_rows):
            rows = self._load.rows_added if counts.input_rows is None else counts.input_rows
            details = with_loaded(self._prepared.plan, self._load.details, counts)
            self._load = replace(self._load, rows_added=rows, details=details)
            counted.append(self._load)
        if counted:
            transaction.outcomes.record_operations(self._keeper.lease, *counted)

    def _record_output(
        self, transaction: Transaction, planned: PlannedOutput, output: OutputResult, counts: GroupCounts
    ) -> None:
        lease = self._keeper.lease
        includes_deleted = planned.step.arguments.include_deleted
        written = OperationResult(
            output.operation_seq,
            output.operation_id,
            "output",
            rows_picked=output.rows_written,
            rows_written=output.rows_written,
            duration_ms=output.write_duration_ms,
            details={
                "columns": list(output.columns_written),
                "place": output.place,
                **({INCLUDES_DELETED: True} if includes_deleted else {}),
                **recorded_sums(counts.sums, output.operation_seq),
            },
        )
        transaction.outcomes.record_operations(lease, written)
        transaction.outcomes.complete_operation(lease, output.operation_seq)

    def _registered(
        self, transaction: Transaction, planned: PlannedOutput, commit: Commit
    ) -> tuple[RegisteredDataset | None, tuple[Notice, ...]]:
        """A failing registration is a warning: the data stays."""
        name, seq = planned.step.arguments.register_as_dataset, planned.step.seq
        if name is None:
            return None, ()
        try:
            with transaction.savepoint():
                registered = self._register(transaction, planned, commit)
        except DaybookError as error:
            if error.code == "OUTPUT_007":
                return None, (notice("OUTPUT_007", operation_seq=seq, name=name),)
            return None, (notice("RUN_007", operation_seq=seq, dataset=name, reason=error.message, hint=error.hint),)
        except Exception as failure:
            # The data is committed; whatever stops its registration must not hide that.
            reason = f"{type(failure).__name__}: {failure}"
            return None, (notice("RUN_007", operation_seq=seq, dataset=name, reason=reason),)
        notices = list(conflict_notices(registered.effects))
        if commit.version is None:
            notices.append(notice("RUN_008", operation_seq=seq, dataset=registered.dataset_id, place=planned.label))
        return registered, tuple(notices)

    def _register(self, transaction: Transaction, planned: PlannedOutput, commit: Commit) -> RegisteredDataset:
        lease = self._keeper.lease
        dataset = registered_dataset(planned, self._prepared)
        # Runs of other periods commit to the table at any time, and register in any order.
        transaction.definitions.lock()
        pin = data_pin(planned, commit)
        target = planned.target
        pin = newest_pin(pin, target.location, target.workspace, target.storage) if pin is not None else None
        registration = Registration(lease.project_id, lease.run_id, planned.step.seq, pin)
        return register_output(transaction, dataset, registration, now=transaction.now(), plans=self._plans)


def recorded_pins(transaction: Transaction, run_id: str) -> dict[str, tuple[Pin, ...]]:
    """What a run read, by load."""
    return _pins_of(_find_load(transaction, run_id))


def _find_load(transaction: Transaction, run_id: str) -> OperationResult | None:
    return next((item for item in transaction.outcomes.operations(run_id) if item.seq == LOAD_SEQ), None)


def _pins_of(load: OperationResult | None) -> dict[str, tuple[Pin, ...]]:
    if load is None:
        return {}
    return {key: tuple(pin_from_json(pin) for pin in pins) for key, pins in load.details["pins"].items()}


def _output_result(
    planned: PlannedOutput, commit: Commit, registered: RegisteredDataset | None, duration_ms: int
) -> OutputResult:
    target, step = planned.target, planned.step
    return OutputResult(
        operation_seq=step.seq,
        operation_id=step.operation_id,
        name=step.name,
        destination=planned.label,
        place=target.label,
        format=target.format,
        rows_written=commit.rows,
        columns_written=tuple(step.columns),
        write_duration_ms=duration_ms,
        dataset_id=registered.dataset_id if registered else None,
        dataset_version=registered.version if registered else None,
        table_version=commit.version,
        is_repeat=commit.is_repeat,
    )


def recorded_output_result(planned: PlannedOutput, recorded: OutputCommit) -> OutputResult:
    """The output of an earlier attempt, as it was recorded."""
    details = recorded.details
    commit = Commit(recorded.rows or 0, recorded.table_version, is_repeat=True)
    output = _output_result(planned, commit, None, details.get("duration_ms", 0))
    return replace(output, dataset_id=details.get("dataset_id"), dataset_version=details.get("dataset_version"))
