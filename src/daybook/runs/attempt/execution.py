"""Executes one attempt of a run: read, stage, check, commit, record; the store always records its end."""

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daybook.engine.context import even_splits
from daybook.engine.counters import GroupCounts
from daybook.engine.java.session import session_failure
from daybook.engine.jobs import stop_jobs, tag_jobs, wait_until_idle, watch_progress
from daybook.engine.load_rows import has_new_ids
from daybook.engine.pipeline import OutputFrame, OutputGroup, Pipeline, may_lose_tasks
from daybook.errors import DaybookError, Notice, error_to_record, flatten, notice
from daybook.io.control_totals import ControlledSource, check_control
from daybook.io.filesystem import remove_folder
from daybook.io.pins import Pin
from daybook.io.read_source import ReadSource
from daybook.io.registry import writer_for
from daybook.io.writer import CheckedTarget, StagedOutput, Writer, check_schema_change
from daybook.plan.steps import Plan
from daybook.runs.attempt.lease import CODE_CANCELLED, LeaseKeeper, stop_on_signals
from daybook.runs.attempt.prepare import PreparedRun, restore_run
from daybook.runs.attempt.recorder import CompletedRun, EarlierAttempts, RunRecorder
from daybook.runs.attempt.start import start_run
from daybook.runs.empty_sources import empty_source_notices
from daybook.runs.environment import RunEnvironment
from daybook.runs.openlineage import RunEvents
from daybook.runs.outputs import PlannedOutput, output_errors
from daybook.runs.permissions import check_period, require_approved, require_still_active
from daybook.runs.run_result import OutputResult, RunFailedError, RunResult, name_operations
from daybook.runs.sandbox import slices_of_draft
from daybook.runs.snapshot import RunSnapshot, snapshot_from_json
from daybook.runs.sources import land_sources_ahead, load_error, read_sources
from daybook.runs.totals_ledger import TotalsLedger, describe_sources, is_read_back, sums_written
from daybook.store.process import current_process
from daybook.store.records import FinalStatus, Lease, milliseconds
from daybook.store.store import REFUSALS, MetadataStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Rows that fail a check can be shown, once the run is known.
_FAILED_VALUE_CODE = "PROJECT_033"
_FAILED_CHECK_CODE = "CHECK_020"


@dataclass
class Execution:
    """One attempt at a run; what an earlier attempt committed is not written again."""

    prepared: PreparedRun
    environment: RunEnvironment
    spark: "SparkSession"
    # A folder for intermediate results, removed after the attempt.
    staging: str
    keeper: LeaseKeeper
    recorder: RunRecorder
    outputs: list[OutputResult] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    # How many warnings about what was read its datasets accept.
    accepted: int = 0
    # What was summed of measures, compared before every commit.
    ledger: TotalsLedger = field(init=False)
    # Targets as they were before this attempt committed anything, by the seq of the output.
    checked: dict[int, CheckedTarget] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ledger = TotalsLedger(self.prepared.plan)

    def execute(self, earlier: EarlierAttempts) -> None:
        self.outputs += earlier.outputs
        sources = self._read(earlier.pins)
        self._check_targets(sources)
        largest = max((source.sizes for source in sources.values()), key=sum, default=())
        with (
            even_splits(self.spark, largest),
            Pipeline(
                self.spark,
                self._plan(),
                {key: source.frame for key, source in sources.items()},
                staging=self.environment.staging(self.spark, self.staging),
                as_of=self.prepared.snapshot.as_of,
                skip=frozenset(output.operation_seq for output in self.outputs),
                read_back=self._read_back(),
            ) as pipeline,
        ):
            for group in pipeline.groups():
                self._write(group, pipeline, sources)

    def _read(self, pinned: Mapping[str, tuple[Pin, ...]]) -> Mapping[str, ReadSource]:
        """A retry reads exactly the data of the first attempt."""
        self.environment.listener.stage("reading")
        read = read_sources(
            self.spark,
            self.prepared.plan.loads,
            self.prepared.snapshot,
            self.environment.landing(self.prepared.snapshot.run_id),
            self.environment.root,
            pinned=pinned or None,
            before_each=self.keeper.check,
        )
        sources = self._with_controls(read)
        for source in sources.values():
            self._report(source.notices)
        self.accepted = sum(source.accepted for source in {id(source): source for source in sources.values()}.values())
        self._report_new_ids(sources)
        return sources

    def _with_controls(self, sources: Mapping[str, ReadSource]) -> Mapping[str, ReadSource]:
        """The sources with the pins of their control files, once they are what these say."""
        snapshot, root = self.prepared.snapshot, self.environment.root
        area = self.environment.landing(snapshot.run_id)
        controlled_by_source: dict[int, ControlledSource | None] = {}
        for load in self.prepared.plan.loads:
            source = sources[load.key]
            if id(source) not in controlled_by_source:
                resolution = snapshot.source(load.key).resolution
                try:
                    controlled = check_control(resolution, load.version, source, area, snapshot.period, root)
                except DaybookError as error:
                    raise load_error(error, load) from error
                controlled_by_source[id(source)] = controlled
        by_key = {key: controlled_by_source[id(source)] for key, source in sources.items()}
        self.recorder.load_details = describe_sources(self.prepared.plan, snapshot, sources, by_key)
        return {
            key: source if (one := by_key[key]) is None else replace(source, pins=(*source.pins, *one.pins))
            for key, source in sources.items()
        }

    def _read_back(self) -> frozenset[int]:
        """The outputs whose measures are summed from what was written, which costs the least on this machine."""
        if not self.prepared.plan.measures or may_lose_tasks(self.spark):
            return frozenset()
        outputs = self.prepared.outputs
        return frozenset(output.step.seq for output in outputs if is_read_back(self.prepared.plan, output))

    def _check_targets(self, sources: Mapping[str, ReadSource]) -> None:
        """Refuse before anything is written what would be refused at a commit, and record what was read."""
        committed = {output.operation_seq for output in self.outputs}
        pending = [planned for planned in self.prepared.outputs if planned.step.seq not in committed]
        for planned in pending:
            with output_errors(planned):
                self.checked[planned.step.seq] = _check_target(writer_for(planned.target.format), planned)
        written = [(planned, self.checked[planned.step.seq].slices) for planned in pending]
        self._report(self.recorder.record_sources({key: source.pins for key, source in sources.items()}, written))

    def _report_new_ids(self, sources: Mapping[str, ReadSource]) -> None:
        loads = [load for load in self.prepared.plan.loads if load.role != "join"]
        changed = sorted({load.dataset_id for load in loads if has_new_ids(sources[load.key].frame, load)})
        if changed:
            self._report((notice("RUN_032", datasets=", ".join(changed)),))

    def _write(self, group: OutputGroup, pipeline: Pipeline, sources: Mapping[str, ReadSource]) -> None:
        """Stage the whole group, check what was counted on the way, then commit back to back."""
        staged = {output.step.seq: self._stage(output, pipeline, sources) for output in group.outputs}
        group.verify()
        for source in {id(source): source for source in sources.values()}.values():
            source.verify_pins()
        counts = self._balanced(group.counts(), staged)
        added = {operation.seq: operation.added for operation in counts.operations}
        self._report(empty_source_notices(self.prepared, input_rows=counts.input_rows, added=added))
        for seq in sorted(staged):
            self._commit(self.prepared.output(seq), staged[seq], pipeline, counts)

    def _balanced(self, counts: GroupCounts, staged: Mapping[int, StagedOutput]) -> GroupCounts:
        """The counts with what was written of each measure; TOTALS_020 where something does not add up."""
        if not self.prepared.plan.measures:
            return counts
        sums = dict(counts.sums)
        for seq in staged.keys() & self._read_back():
            sums |= sums_written(self.prepared.plan, self.prepared.output(seq), staged[seq])
        balanced = replace(counts, sums=sums)
        self.ledger.add(balanced)
        self.ledger.verify()
        return balanced

    def _stage(self, output: OutputFrame, pipeline: Pipeline, sources: Mapping[str, ReadSource]) -> StagedOutput:
        self.keeper.check()
        planned = self.prepared.output(output.step.seq)
        writer = self._writer(planned, pipeline, sources)
        self.environment.listener.stage(f"writing {planned.label}")
        with output_errors(planned, pipeline.failure):
            checked = self.checked.get(planned.step.seq) or _check_target(writer, planned)
            began = time.monotonic()
            staged = writer.stage(planned.named(output.df), planned.target, checked)
        return replace(staged, duration_ms=round((time.monotonic() - began) * 1000))

    def _plan(self) -> Plan:
        if not any(output.is_live for output in self.prepared.outputs):
            return self.prepared.plan
        # Workbooks take a while to import, and few runs write live ones.
        from daybook.runs.attempt.live_outputs import with_row_ids

        return with_row_ids(self.prepared.plan, self.prepared.outputs)

    def _writer(self, planned: PlannedOutput, pipeline: Pipeline, sources: Mapping[str, ReadSource]) -> Writer[Any]:
        if not planned.is_live:
            return writer_for(planned.target.format)
        from daybook.runs.attempt.live_outputs import live_writer, plan_live_output

        live = plan_live_output(self.prepared.plan, planned)
        self._report(live.notices)
        return live_writer(
            self.environment, self.spark, live, sources, pipeline, f"{self.staging}/live-{planned.step.seq}"
        )

    def _commit(self, planned: PlannedOutput, staged: StagedOutput, pipeline: Pipeline, counts: GroupCounts) -> None:
        writer = writer_for(planned.target.format)
        with output_errors(planned, pipeline.failure):
            commit = writer.commit(staged, planned.target, lambda slices: self.recorder.permit(planned, slices))
        self._report(commit.notices)
        # A later output may go to what this one has changed.
        self.checked.clear()
        is_last = len(self.outputs) + 1 == len(self.prepared.outputs)
        output, notices = self.recorder.record(planned, commit, staged, counts, is_last=is_last)
        self._report(notices)
        self.outputs.append(output)
        if commit.is_repeat:
            # The first attempt's rows count; those of this one are not needed.
            self._discard(planned)

    def discard(self, *, with_committed: bool = False) -> None:
        """Remove what was staged and is not committed; `with_committed` also looks where outputs were committed."""
        committed = {output.operation_seq for output in self.outputs}
        for planned in self.prepared.outputs:
            if with_committed or planned.step.seq not in committed:
                self._discard(planned)

    def _discard(self, planned: PlannedOutput) -> None:
        # What cannot be removed now is found by `daybook doctor`; the run's own end matters more.
        with contextlib.suppress(Exception):
            writer_for(planned.target.format).discard(planned.target)

    def _report(self, notices: tuple[Notice, ...]) -> None:
        for warning in notices:
            if warning not in self.notices:
                self.notices.append(warning)
                self.environment.listener.notice(warning)


def _check_target(writer: Writer[Any], planned: PlannedOutput) -> CheckedTarget:
    """The target as it is now; IO_021 when its types have changed since the run was prepared."""
    checked = writer.check(planned.target)
    if checked.fitted:
        check_schema_change(planned.target, {column.name: str(column.type) for column in checked.fitted})
    return checked


def execute_attempt(
    prepared: PreparedRun, lease: Lease, environment: RunEnvironment, *, is_retry: bool = False
) -> RunResult:
    """Execute and record; raises RunFailedError when the run failed or was cancelled."""
    snapshot = prepared.snapshot
    environment.listener.prepared(snapshot.run_id, snapshot.project.id, snapshot.period.identifier)
    for warning in prepared.notices:
        environment.listener.notice(warning)
    # Of this attempt alone: who lost the run must not remove what its successor works with, nor stop its jobs.
    attempt = f"{snapshot.run_id}.{lease.token}"
    staging = f"{environment.state}/staging/{attempt}"
    tag = f"daybook-{attempt}"
    events = RunEvents(environment, prepared)
    events.started()
    execution: Execution | None = None
    spark: SparkSession | None = None

    def stop() -> None:
        if spark is not None:
            stop_jobs(spark, tag)

    with LeaseKeeper(environment.store, lease, stop) as keeper, stop_on_signals(keeper.cancel):
        environment.on_attempt(keeper)
        try:
            environment.listener.stage("starting Spark")
            environment.begin_session(snapshot)
            if not is_retry:
                landing = environment.landing(snapshot.run_id)
                land_sources_ahead(prepared.plan.loads, snapshot, landing, environment.root)
            spark = environment.session()
            recorder = RunRecorder(environment, keeper, prepared)
            earlier = recorder.begin()
            execution = Execution(prepared, environment, spark, staging, keeper, recorder)
            execution.notices.extend(prepared.notices)
            try:
                with tag_jobs(spark, tag), watch_progress(spark, tag, environment.listener.progress):
                    execution.execute(earlier)
            except Exception:
                # All is committed and recorded: what fails while the session is tidied up afterwards changes nothing.
                if recorder.completed is None:
                    raise
            if is_retry:
                execution.discard(with_committed=True)
            ended = recorder.complete()
            if (undelivered := events.ended("completed", execution.outputs)) is not None:
                execution.notices.append(undelivered)
        except BaseException as failure:
            if spark is not None:
                stop_jobs(spark, tag)
                wait_until_idle(spark, tag)
            status, error = _final_status(failure, keeper, spark)
            _name_run_in_hints(error, snapshot.run_id)
            _point_to_operations(error, snapshot, environment.root)
            if execution is not None and not keeper.is_lost:
                execution.discard()
            _fail(
                environment.store, keeper, status, error_to_record(error) if error else _unexpected_error_data(failure)
            )
            outputs = tuple(execution.outputs) if execution else ()
            events.ended(status, outputs, error)
            if error is None:
                raise
            raise RunFailedError(snapshot.run_id, status, error, outputs) from failure
        finally:
            # Without a session nothing was staged where the state is a schema, and nothing can be removed.
            with contextlib.suppress(OSError, DaybookError):
                remove_folder(staging, environment.storage)
    return _build_result(snapshot, ended, execution)


def _name_run_in_hints(error: DaybookError | None, run_id: str) -> None:
    """Puts the id of the run into the hints of its errors."""
    for single in flatten(error) if error is not None else ():
        if single.code == _FAILED_CHECK_CODE:
            single.hint = f"`daybook explain {run_id} {single.operation_seq}` shows all rows that fail"


def _point_to_operations(error: DaybookError | None, snapshot: RunSnapshot, root: Path) -> None:
    """A value may fail where there is no expression: in a column that is appended by its name, or that is written."""
    for single in flatten(error) if error is not None else ():
        if single.code != _FAILED_VALUE_CODE or single.span is not None:
            continue
        source = snapshot.project_source(root)
        for index, operation in enumerate(snapshot.project.operations):
            if operation.seq == single.operation_seq:
                single.span = source.span("operations", index, "arguments")


def _final_status(
    failure: BaseException, keeper: LeaseKeeper, spark: "SparkSession | None"
) -> tuple[FinalStatus, DaybookError | None]:
    """The final status of the run; None for a bug of Daybook."""
    if keeper.stopped_by is not None:
        return ("failed" if keeper.is_lost else "cancelled"), keeper.stopped_by
    if isinstance(failure, KeyboardInterrupt):
        return "cancelled", DaybookError(CODE_CANCELLED, run_id=keeper.lease.run_id)
    if isinstance(failure, Exception) and (lost := session_failure(spark, failure)) is not None:
        # All other findings follow from it.
        return "failed", lost
    return "failed", failure if isinstance(failure, DaybookError) else None


def _unexpected_error_data(failure: BaseException) -> dict[str, Any]:
    return {"code": type(failure).__name__, "message": str(failure)}


def _fail(store: MetadataStore, keeper: LeaseKeeper, status: FinalStatus, error: Mapping[str, Any]) -> None:
    """Ends the run in the store; a run that lost its lease was already ended by its new holder."""
    # An unreachable store must not hide why the run failed; the lease expires by itself.
    with contextlib.suppress(DaybookError), store.write() as transaction:
        lease = keeper.lease
        transaction.runs.finish(lease, status, now=transaction.now(), error=error)
        if (code := error.get("code")) in REFUSALS:
            transaction.log.append("commit", f"{lease.project_id}@{lease.period}", {"run": lease.run_id}, refused=code)


def _build_result(snapshot: RunSnapshot, ended: CompletedRun, execution: Execution) -> RunResult:
    return RunResult(
        run_id=snapshot.run_id,
        project_id=snapshot.project.id,
        project_version=snapshot.project_version,
        period=snapshot.period.identifier,
        as_of=snapshot.as_of,
        status="completed",
        is_draft=snapshot.settings.is_draft,
        sandbox=snapshot.settings.sandbox,
        operations=name_operations(
            ended.operations, {operation.seq: operation.name for operation in snapshot.project.operations}
        ),
        outputs=tuple(execution.outputs),
        notices=tuple(execution.notices),
        duration_ms=milliseconds(ended.duration),
        slices=tuple(slices_of_draft(snapshot)),
        parameters=snapshot.parameters,
        accepted=execution.prepared.plan.accepted + execution.accepted,
        own_as_of=snapshot.own_as_of,
    )


def execute_run(environment: RunEnvironment, prepared: PreparedRun) -> RunResult:
    """Create the run and execute it; raises RunFailedError when it does not complete."""
    lease = start_run(environment.store, prepared, environment.before_start)
    if environment.store.moved_from is not None:
        environment.store.settle(environment.root)
    return execute_attempt(prepared, lease, environment)


def retry(environment: RunEnvironment, run_id: str) -> RunResult:
    """Continue a failed or cancelled run from its own snapshot; what it committed is not written again."""
    with environment.store.logged_refusal("retry", run_id):
        with environment.store.read() as transaction:
            snapshot = snapshot_from_json(transaction.runs.snapshot(run_id))
            is_sandboxed = snapshot.settings.sandbox is not None
            is_draft = snapshot.settings.is_draft
            require_approved(transaction, snapshot.project.id, is_draft=is_draft, is_sandboxed=is_sandboxed)
            if not is_draft:
                require_still_active(transaction, run_id, snapshot.project.id, snapshot.project_version)
            notices = tuple(check_period(transaction, snapshot.period, is_sandboxed=is_sandboxed))
        prepared = replace(restore_run(snapshot, environment.root, environment.storage), notices=notices)
        with environment.store.write() as transaction:
            lease = transaction.runs.resume(run_id, process=current_process(), now=transaction.now())
            named = {"period": lease.period, "project": lease.project_id}
            transaction.log.append("retry", run_id, named)
    return execute_attempt(prepared, lease, environment, is_retry=True)
