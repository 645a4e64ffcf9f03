"""One attempt at a run that exists: held by its lease, ended in the store whatever happens."""

import contextlib
import datetime
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from daybook.engine.jobs import stop_jobs, tagged, wait_until_idle
from daybook.engine.progress import watch_progress
from daybook.errors import DaybookError, to_keep
from daybook.io.landing.area import LandingArea
from daybook.runs.execution import Execution, World
from daybook.runs.interrupting import signals_to
from daybook.runs.lease_keeper import CANCELLED, LeaseKeeper
from daybook.runs.listener import RunListener
from daybook.runs.recording import Recorder
from daybook.runs.result import RunFailedError, RunResult
from daybook.runs.scratch import remove_folder
from daybook.runs.starting import Started
from daybook.store.records import FinalStatus, milliseconds
from daybook.store.store import Store
from daybook.store.validation import Validate

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
    # Of this attempt alone: a process that lost the run must not remove what its successor works with.
    staging = f"{around.state}/staging/{snapshot.run_id}.{started.lease.token}"
    tag = f"daybook-{snapshot.run_id}"
    execution: Execution | None = None
    spark: SparkSession | None = None

    def stop() -> None:
        if spark is not None:
            stop_jobs(spark, tag)

    with LeaseKeeper(around.store, started.lease, stop) as keeper, signals_to(keeper.cancel):
        try:
            around.listener.stage("starting Spark")
            spark = around.session()
            keeper.fence()
            with around.store.write() as transaction:
                transaction.runs.mark_running(keeper.lease, now=transaction.now())
            world = World(spark, around.root, around.landing(snapshot.run_id), staging, around.listener)
            execution = Execution(prepared, world, keeper, Recorder(around.store, keeper, prepared, around.validate))
            execution.notices.extend(started.notices)
            with tagged(spark, tag), watch_progress(spark, around.listener.progress):
                execution.execute()
            if started.is_retry:
                execution.discard(with_committed=True)
            _finish(around.store, keeper, "completed", None)
        except BaseException as failure:
            if spark is not None:
                stop_jobs(spark, tag)
                wait_until_idle(spark)
            status, error = _reason(failure, keeper)
            if execution is not None and not keeper.is_lost:
                execution.discard()
            _finish(around.store, keeper, status, to_keep(error) if error else _as_bug(failure))
            if error is None:
                raise
            outputs = tuple(execution.outputs) if execution else ()
            raise RunFailedError(snapshot.run_id, status, error, outputs) from failure
        finally:
            with contextlib.suppress(OSError):
                remove_folder(staging)
    return _result(started, around.store, execution, datetime.timedelta(seconds=time.monotonic() - began))


def _reason(failure: BaseException, keeper: LeaseKeeper) -> tuple[FinalStatus, DaybookError | None]:
    """How the run ends; None for a bug of ours, which is not the user's error."""
    if keeper.stopped_by is not None:
        return ("failed" if keeper.is_lost else "cancelled"), keeper.stopped_by
    if isinstance(failure, KeyboardInterrupt):
        return "cancelled", DaybookError(CANCELLED, run_id=keeper.lease.run_id)
    return "failed", failure if isinstance(failure, DaybookError) else None


def _as_bug(failure: BaseException) -> dict[str, Any]:
    return {"code": type(failure).__name__, "message": str(failure)}


def _finish(store: Store, keeper: LeaseKeeper, status: FinalStatus, error: Mapping[str, Any] | None) -> None:
    """A run whose lease was lost has been ended by whoever took it over."""
    try:
        with store.write() as transaction:
            transaction.runs.finish(keeper.lease, status, now=transaction.now(), error=error)
    except DaybookError:
        # A store that is out of reach must not hide why the run failed; the lease will run out by itself.
        if status == "completed":
            raise


def _result(started: Started, store: Store, execution: Execution, waited: datetime.timedelta) -> RunResult:
    """`waited` is the time of this attempt, which is all there is to say of one that took a run up again."""
    snapshot = started.prepared.snapshot
    with store.read() as transaction:
        duration = transaction.runs.get(snapshot.run_id).duration or waited
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
        duration_ms=milliseconds(duration),
    )
