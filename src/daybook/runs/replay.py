"""Replays a run: computes it again from its snapshot in a temporary folder, and compares it with what it committed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import computed_field

from daybook.engine.pipeline import OutputFrame, Pipeline
from daybook.engine.working_dataset import Staging
from daybook.errors import DaybookError, flatten
from daybook.io.filesystem import remove_folder
from daybook.io.read_source import ReadSource
from daybook.io.registry import format_named, writer_for, written_fingerprint
from daybook.io.writer import Commit, FingerprintObserver, StagedOutput
from daybook.runs.attempt.prepare import PreparedRun, restore_run
from daybook.runs.attempt.recorder import recorded_pins
from daybook.runs.environment import RunEnvironment
from daybook.runs.outputs import PlannedOutput, redirect_to_scratch
from daybook.runs.snapshot import snapshot_from_json
from daybook.runs.sources import read_sources
from daybook.store.records import OutputCommit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Data of an earlier version that has been removed since.
_DATA_EXPIRED_CODE = "IO_009"


@dataclass(frozen=True, slots=True)
class ReplayedOutput:
    """One output computed again; `place` holds its rows, as a file or a Delta table, unless they were only verified.

    `is_same` is None when what the run wrote has been removed since, so that nothing is left to compare with.
    """

    operation_seq: int
    name: str
    destination: str
    rows_before: int | None
    rows_now: int
    is_same: bool | None
    place: str | None


@dataclass(frozen=True, slots=True)
class ReplayResult:
    run_id: str
    period: str
    outputs: tuple[ReplayedOutput, ...]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def is_same(self) -> bool:
        return all(output.is_same for output in self.outputs)


def replay(environment: RunEnvironment, run_id: str, *, keep: bool) -> ReplayResult:
    """Compute what the run committed once more; `keep` leaves the rows below the workspace's state to be looked at."""
    with environment.store.read() as transaction:
        run = transaction.runs.get(run_id)
        snapshot = snapshot_from_json(transaction.runs.snapshot(run_id))
        pins = recorded_pins(transaction, run_id)
        commits = {commit.operation_seq: commit for commit in transaction.outcomes.commits(run_id)}
    if not commits:
        raise DaybookError("RUN_017", run_id=run_id, status=run.status)
    prepared = restore_run(snapshot, environment.root, environment.storage)
    with _sent_as_events(environment, prepared), environment.spark(snapshot) as spark:
        try:
            sources = read_sources(
                spark, prepared.plan.loads, snapshot, environment.landing(run_id), environment.root, pinned=pins
            )
        except DaybookError as error:
            raise DaybookError("RUN_012", run_id=run_id, causes=flatten(error)) from error
        scratch = f"{environment.state}/replays/{run_id}"
        remove_folder(scratch, environment.storage)
        try:
            staging = environment.staging(spark, f"{scratch}/staging")
            outputs = _replay_outputs(spark, prepared, sources, commits, staging, scratch, keep=keep)
        finally:
            remove_folder(f"{scratch}/staging" if keep else scratch, environment.storage)
    return ReplayResult(run_id, snapshot.period.identifier, outputs)


@contextmanager
def _sent_as_events(environment: RunEnvironment, prepared: PreparedRun) -> Iterator[None]:
    """Sends the lineage events of the replay."""
    if (events := environment.events) is None:
        yield
        return
    number = environment.clock().isoformat()
    events.replay_started(prepared, number)
    failure: BaseException | None = None
    try:
        yield
    except BaseException as error:
        failure = error
        raise
    finally:
        if (undelivered := events.replay_ended(prepared, number, failure)) is not None:
            environment.listener.notice(undelivered)


def _replay_outputs(
    spark: "SparkSession",
    prepared: PreparedRun,
    sources: dict[str, ReadSource],
    commits: dict[int, OutputCommit],
    staging: Staging,
    scratch: str,
    *,
    keep: bool,
) -> tuple[ReplayedOutput, ...]:
    outputs: list[ReplayedOutput] = []
    with Pipeline(
        spark,
        prepared.plan,
        {key: source.frame for key, source in sources.items()},
        staging=staging,
        as_of=prepared.snapshot.as_of,
        skip=frozenset(output.step.seq for output in prepared.outputs if output.step.seq not in commits),
    ) as pipeline:
        for group in pipeline.groups():
            outputs += [_replay_output(output, prepared, commits, scratch, keep=keep) for output in group.outputs]
            group.verify()
    return tuple(sorted(outputs, key=lambda output: output.operation_seq))


def _replay_output(
    output: OutputFrame, prepared: PreparedRun, commits: dict[int, OutputCommit], scratch: str, *, keep: bool
) -> ReplayedOutput:
    planned, before = prepared.output(output.step.seq), commits[output.step.seq]
    target = redirect_to_scratch(planned, scratch).target
    writer = writer_for(target.format)
    # Most formats take the fingerprint while they write, and rows are hashed once.
    watch = None if format_named(target.format).takes_fingerprint else FingerprintObserver(target.columns)
    df = planned.named(output.df)
    staged = writer.stage(df if watch is None else watch.on(df), target)
    fingerprint = staged.fingerprint if watch is None else watch.fingerprint
    if keep:
        writer.commit(staged, target)
    elif target.location.is_database:
        # What is staged in a folder goes with it.
        writer.discard(target)
    then = _committed_fingerprint(output.df.sparkSession, planned, before)
    return ReplayedOutput(
        operation_seq=output.step.seq,
        name=output.step.name,
        destination=planned.label,
        rows_before=before.rows,
        rows_now=staged.rows,
        is_same=None if then is None else then == fingerprint,
        place=target.label if keep else None,
    )


def _committed_fingerprint(spark: "SparkSession", planned: PlannedOutput, commit: OutputCommit) -> str | None:
    """Of what the run wrote; None when it is gone."""
    rows = commit.rows or 0
    staged = StagedOutput("", rows, commit.fingerprint)
    try:
        return written_fingerprint(spark, planned.target, staged, Commit(rows, commit.table_version))
    except DaybookError as error:
        if error.code == _DATA_EXPIRED_CODE:
            return None
        raise
