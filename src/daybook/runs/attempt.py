"""One attempt at a run that exists: held by its lease, ended in the store whatever happens."""

import datetime
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from daybook.engine.progress import watch_progress
from daybook.errors import DaybookError
from daybook.io.landing.area import LandingArea
from daybook.runs.execution import Execution, World
from daybook.runs.interrupting import interrupt, tagged, termination_as_interrupt, wait_until_idle
from daybook.runs.lease_keeper import LeaseKeeper
from daybook.runs.listener import RunListener
from daybook.runs.recording import Recorder
from daybook.runs.result import RunFailedError, RunResult
from daybook.runs.scratch import remove_folder
from daybook.runs.starting import Started
from daybook.store.records import FinalStatus
from daybook.store.store import Store
from daybook.store.validation import Validate, as_data

SessionProvider = Callable[[], SparkSession]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What runs of one workspace share; the session is asked for when it is needed."""

    root: Path
    state: str
    store: Store
    session: SessionProvider
    validate: Validate
    listener: RunListener
    clock: Callable[[], datetime.datetime]
    version: str

    def landing(self, run_id: str) -> LandingArea:
        return LandingArea(f"{self.state}/landing", run_id)


def attempt(started: Started, around: Surroundings) -> RunResult:
    """Execute and record; raises RunFailedError when the run failed or was cancelled."""
    prepared, snapshot = started.prepared, started.prepared.snapshot
    began = time.monotonic()
    around.listener.prepared(snapshot.run_id, snapshot.project.id, snapshot.period.identifier)
    for each in started.notices:
        around.listener.notice(each)
    staging = f"{around.state}/staging/{snapshot.run_id}"
    execution: Execution | None = None
    spark: SparkSession | None = None

    def stop() -> None:
        if spark is not None:
            interrupt(spark, snapshot.run_id)

    with LeaseKeeper(around.store, started.lease, stop) as keeper, termination_as_interrupt():
        try:
            around.listener.stage("starting Spark")
            spark = around.session()
            with around.store.write() as transaction:
                transaction.runs.mark_running(keeper.lease, now=transaction.now())
            world = World(spark, around.root, around.landing(snapshot.run_id), staging, around.listener)
            execution = Execution(prepared, world, keeper, Recorder(around.store, keeper, prepared, around.validate))
            execution.notices.extend(started.notices)
            with tagged(spark, snapshot.run_id), watch_progress(spark, around.listener.progress):
                execution.execute()
            _finish(around.store, keeper, "completed", None)
        except BaseException as failure:
            if spark is not None:
                interrupt(spark, snapshot.run_id)
                wait_until_idle(spark)
            if execution is not None:
                execution.discard()
            status, error = _reason(failure, keeper)
            _finish(around.store, keeper, status, error)
            if error is None:
                raise
            outputs = tuple(execution.outputs) if execution else ()
            raise RunFailedError(snapshot.run_id, status, error, outputs) from failure
        finally:
            remove_folder(staging)
    return _result(started, around.store, execution, round((time.monotonic() - began) * 1000))


def _reason(failure: BaseException, keeper: LeaseKeeper) -> tuple[FinalStatus, DaybookError | None]:
    """How the run ends; None for a bug of ours, which is not the user's error."""
    if isinstance(failure, KeyboardInterrupt) or keeper.is_cancelled:
        return "cancelled", DaybookError("RUN_004", run_id=keeper.lease.run_id)
    return "failed", failure if isinstance(failure, DaybookError) else None


def _finish(store: Store, keeper: LeaseKeeper, status: FinalStatus, error: DaybookError | None) -> None:
    """A run whose lease was lost has been ended by whoever took it over."""
    try:
        with store.write() as transaction:
            transaction.runs.finish(
                keeper.lease, status, now=transaction.now(), error=as_data(error) if error else None
            )
    except DaybookError as refusal:
        if status == "completed" or refusal.code != "STORE_013":
            raise


def _result(started: Started, store: Store, execution: Execution, duration_ms: int) -> RunResult:
    snapshot = started.prepared.snapshot
    with store.read() as transaction:
        operations = transaction.outcomes.operations(snapshot.run_id)
    return RunResult(
        run_id=snapshot.run_id,
        project_id=snapshot.project.id,
        project_version=snapshot.project_version,
        period=snapshot.period.identifier,
        as_of=snapshot.as_of,
        status="completed",
        is_draft=snapshot.settings.is_draft,
        sandbox=snapshot.settings.sandbox,
        operations=operations,
        names={operation.seq: operation.name for operation in snapshot.project.operations},
        outputs=tuple(execution.outputs),
        notices=tuple(execution.notices),
        duration_ms=duration_ms,
    )
