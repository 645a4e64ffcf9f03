"""Writing down what a run did, in the transactions that its lease guards."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from daybook.engine.counters import Counts
from daybook.errors import DaybookError, Notice, notice
from daybook.io.pins import Pin, pin_from_json, pin_to_json
from daybook.io.writing import Commit, Staged
from daybook.plan.steps import OutputStep
from daybook.runs.lease_keeper import LeaseKeeper
from daybook.runs.preparing import Prepared
from daybook.runs.registration import data_pin, registered_dataset
from daybook.runs.result import OutputResult
from daybook.runs.targets import PlannedOutput
from daybook.store.lifecycle import Registered, register_output
from daybook.store.records import OperationResult, OutputCommit, Registration
from daybook.store.store import Store, Transaction
from daybook.store.validation import Validate

# The load of all sources stands before the first operation.
LOAD_SEQ = 0

# Appends share a slice: nobody owns it, so nobody may replace it.
SHARED_PROJECT = "*"
SHARED_OPERATION = "append"


@dataclass(frozen=True, slots=True)
class Recorded:
    output: OutputResult
    notices: tuple[Notice, ...]


class Recorder:
    """The store's side of one run."""

    def __init__(self, store: Store, keeper: LeaseKeeper, prepared: Prepared, validate: Validate) -> None:
        self._store = store
        self._keeper = keeper
        self._prepared = prepared
        self._validate = validate

    def committed_sequences(self) -> frozenset[int]:
        """Outputs that an earlier attempt committed and wrote down."""
        with self._store.read() as transaction:
            commits = transaction.outcomes.commits(self._keeper.lease.run_id)
        return frozenset(item.commit.operation_seq for item in commits)

    def pins(self) -> dict[str, tuple[Pin, ...]]:
        """What the first attempt read, by load; empty before anything was read."""
        with self._store.read() as transaction:
            return recorded_pins(transaction, self._keeper.lease.run_id)

    def record_pins(self, pins: Mapping[str, tuple[Pin, ...]]) -> None:
        details = {"pins": {key: [pin_to_json(pin) for pin in each] for key, each in pins.items()}}
        with self._store.write() as transaction:
            result = OperationResult(LOAD_SEQ, "load", "load", details=details)
            transaction.outcomes.record_operation(self._keeper.lease, result)

    def check_slice(self, planned: PlannedOutput) -> None:
        """Refuse another owner's slice before anything is written."""
        target = planned.target
        if target.run_period is None or target.mode not in ("replace_period", "append"):
            return
        with self._store.write() as transaction:
            owner = transaction.slices.owner(target.place, target.run_period)
            if owner is None or (owner.project_id == target.owner.project_id and target.mode == "append"):
                return
            if (owner.project_id, target.mode) == (SHARED_PROJECT, "append"):
                return
            transaction.slices.require_free(
                target.place,
                target.run_period,
                project_id=target.owner.project_id,
                operation_id=target.owner.operation_id,
            )

    def record(
        self,
        planned: PlannedOutput,
        commit: Commit,
        staged: Staged,
        counts: Counts,
        duration_ms: int,
    ) -> Recorded:
        """A commit, the counts up to it and its registration."""
        target, step = planned.target, planned.step
        output = OutputResult(
            operation_seq=step.seq,
            operation_id=step.operation_id,
            name=step.name,
            destination=planned.label,
            place=target.place,
            format=target.format,
            rows_written=commit.rows,
            columns_written=tuple(step.columns),
            write_duration_ms=duration_ms,
            delta_version=commit.delta_version,
            is_repeat=commit.is_repeat,
        )
        with self._store.write() as transaction:
            self._record_commit(transaction, planned, commit, staged)
            self._record_counts(transaction, step, counts, output)
        return self._registered(planned, commit, output)

    def _record_commit(self, transaction: Transaction, planned: PlannedOutput, commit: Commit, staged: Staged) -> None:
        target, lease = planned.target, self._keeper.lease
        now = transaction.now()
        if target.mode == "replace":
            transaction.slices.forget(target.place)
        is_owned = target.run_period is not None and target.mode != "append"
        transaction.outcomes.record_commit(
            lease,
            OutputCommit(
                operation_seq=target.operation_seq,
                operation_id=target.owner.operation_id,
                destination=target.place,
                mode=target.mode,
                delta_version=commit.delta_version,
                rows=commit.rows,
                fingerprint=staged.fingerprint,
                details={"format": target.format, "label": planned.label},
            ),
            now=now,
            period=target.run_period if is_owned else None,
        )
        if (
            target.mode == "append"
            and target.run_period is not None
            and transaction.slices.owner(target.place, target.run_period) is None
        ):
            transaction.slices.take(
                target.place,
                target.run_period,
                project_id=SHARED_PROJECT,
                operation_id=SHARED_OPERATION,
                run_id=lease.run_id,
                rows=None,
                now=now,
            )

    def _record_counts(
        self,
        transaction: Transaction,
        output_step: OutputStep,
        counts: Counts,
        output: OutputResult,
    ) -> None:
        """The counts of the operations before an output are known once it is written."""
        lease = self._keeper.lease
        operations = {operation.seq: operation for operation in self._prepared.snapshot.project.operations}
        for count in counts.operations:
            operation = operations[count.seq]
            result = OperationResult(
                operation.seq,
                operation.id,
                operation.type,
                rows_picked=count.picked,
                rows_added=count.added,
                rows_deleted=count.picked if operation.type == "delete" else 0,
            )
            transaction.outcomes.record_operation(lease, result)
        if counts.input_rows is not None:
            self._record_input_rows(transaction, counts.input_rows)
        written = OperationResult(
            output_step.seq,
            output_step.operation_id,
            "output",
            rows_picked=output.rows_written,
            rows_written=output.rows_written,
            duration_ms=output.write_duration_ms,
            details={"columns": list(output.columns_written), "place": output.place},
        )
        transaction.outcomes.record_operation(lease, written)
        transaction.outcomes.complete_operation(lease, output_step.seq)

    def _record_input_rows(self, transaction: Transaction, rows: int) -> None:
        load = next(item for item in transaction.outcomes.operations(self._keeper.lease.run_id) if item.seq == LOAD_SEQ)
        transaction.outcomes.record_operation(self._keeper.lease, replace(load, rows_added=rows))

    def _registered(self, planned: PlannedOutput, commit: Commit, output: OutputResult) -> Recorded:
        """A failing registration is a warning: the data stays."""
        name = planned.step.arguments.register_as_dataset
        if name is None:
            return Recorded(output, ())
        try:
            registered = self._register(planned, commit)
        except DaybookError as error:
            failed = notice(
                "RUN_007", operation_seq=planned.step.seq, dataset=name, reason=error.message, hint=error.hint
            )
            return Recorded(output, (failed,))
        notices: list[Notice] = []
        if commit.delta_version is None:
            notices.append(
                notice("RUN_008", operation_seq=planned.step.seq, dataset=registered.dataset_id, place=planned.label)
            )
        known = replace(output, dataset_id=registered.dataset_id, dataset_version=registered.version)
        return Recorded(known, tuple(notices))

    def _register(self, planned: PlannedOutput, commit: Commit) -> Registered:
        lease = self._keeper.lease
        dataset = registered_dataset(
            planned,
            self._prepared.plan.input.temporal_mode,
            is_sandboxed=self._prepared.snapshot.settings.sandbox is not None,
        )
        registration = Registration(lease.project_id, lease.run_id, planned.step.seq, data_pin(planned, commit))
        with self._store.write() as transaction:
            transaction.runs.require(lease)
            return register_output(transaction, dataset, registration, validate=self._validate, now=transaction.now())


def recorded_pins(transaction: Transaction, run_id: str) -> dict[str, tuple[Pin, ...]]:
    """What a run read, by load."""
    load = next((item for item in transaction.outcomes.operations(run_id) if item.seq == LOAD_SEQ), None)
    if load is None:
        return {}
    return {key: tuple(pin_from_json(pin) for pin in pins) for key, pins in load.details["pins"].items()}
