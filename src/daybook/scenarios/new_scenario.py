"""Creates a scenario from a few real rows of a run, as small as possible while every operation has rows."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from daybook.definitions.loading import LoadedWorkspace
from daybook.errors import DaybookError, Notice, flatten, notice
from daybook.plan.conditions import excludes
from daybook.plan.steps import (
    AggregateStep,
    CheckStep,
    Plan,
)
from daybook.runs.environment import RunEnvironment
from daybook.runs.explain.row_origins import RestoredRun, RestoredRuns
from daybook.scenarios.load_scenario import DEFAULT_SCENARIO_FOLDER
from daybook.scenarios.real_rows import DatasetRows, RealRows
from daybook.scenarios.run_scenarios import QuickSession, ScenarioResult
from daybook.scenarios.scenario_text import expectation_lines, scenario_text
from daybook.scenarios.time_limit import TimeLimit
from daybook.scenarios.trials import Trials, reached_operations
from daybook.store.records import OperationResult

# The part of the time that is for finding rows of operations; the rest is for leaving out rows.
_SEARCH_SHARE = 0.7
# How many rows of a group are taken, and how many where those do not reach every operation.
_MOST_ROWS = (20, 200)


@dataclass(frozen=True, slots=True)
class NewScenario:
    """A scenario that was written, and the run whose rows it has."""

    file: Path
    run_id: str
    rows: int
    # Operations that none of the rows reaches.
    missed: tuple[str, ...] = ()
    # Whether every row was tried to be left out; False when the limit of time ended that.
    is_reduced: bool = True


def write_new_scenario(
    environment: RunEnvironment,
    definitions: LoadedWorkspace,
    run_id: str,
    file: Path | None = None,
    *,
    within_seconds: float,
) -> NewScenario:
    """Write a scenario for the project of a run; refused where the file exists. The time begins with the session."""
    run = RestoredRuns(environment).get(run_id)
    snapshot = run.snapshot
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{snapshot.project.id}-{snapshot.period.identifier}")
    target = file or environment.root / DEFAULT_SCENARIO_FOLDER / f"{name}.yaml"
    if target.exists():
        raise DaybookError("MODEL_095", path=target.as_posix())
    if definitions.get("project", snapshot.project.id) is None:
        raise DaybookError("RUN_001", project=snapshot.project.id)
    if not run.pins:
        raise DaybookError("RUN_027", run_id=run_id, status=run.record.status)
    with environment.store.read() as transaction:
        recorded = {result.seq: result for result in transaction.outcomes.operations(run.run_id)}
    for warning in _group_check_notices(run.plan, recorded):
        environment.listener.notice(warning)
    seqs = _active_operations(run.plan, recorded)
    with environment.spark(snapshot) as spark:
        limit = TimeLimit(within_seconds)
        trials = Trials(QuickSession(lambda: spark)(), run, definitions, environment.listener, limit)
        kept, result = trials.reduce(_first_rows(environment, spark, run, trials, seqs))
    text = scenario_text(run, definitions, kept, expectation_lines(run, result))
    target.parent.mkdir(parents=True, exist_ok=True)
    # Exclusive creation: a file that was created meanwhile stays as it is.
    try:
        with target.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise DaybookError("MODEL_095", path=target.as_posix()) from None
    counts = result.counts or {}
    missed = tuple(operation.id for operation in run.plan.project.operations if not counts.get(operation.id))
    return NewScenario(target, run_id, sum(len(dataset_rows.rows) for dataset_rows in kept), missed, trials.is_reduced)


def _group_check_notices(plan: Plan, recorded: Mapping[int, OperationResult]) -> Iterator[Notice]:
    """Checks of summary rows whose groups had more rows in the run than a scenario takes of a group."""
    for check in plan.steps:
        if not isinstance(check, CheckStep):
            continue
        for maker in plan.steps:
            if not isinstance(maker, AggregateStep) or maker.seq > check.seq or excludes(check.selector, maker.seq):
                continue
            counts = recorded.get(maker.seq)
            if counts is None or not counts.rows_picked or not counts.rows_added:
                continue
            rows_of_group = counts.rows_picked // counts.rows_added
            if rows_of_group > _MOST_ROWS[-1]:
                yield notice(
                    "RUN_092",
                    operation_seq=check.seq,
                    check=check.name,
                    aggregate=maker.name,
                    rows=f"{rows_of_group:,}",
                )


def _active_operations(plan: Plan, recorded: Mapping[int, OperationResult]) -> frozenset[int]:
    """The operations that did something in the run, by its counters; those it counted nothing of may have."""

    def is_active(seq: int) -> bool:
        result = recorded.get(seq)
        if result is None:
            return True
        counts = (result.rows_picked, result.rows_added, result.rows_deleted, result.rows_written)
        recorded_counts = [count for count in counts if count is not None]
        return not recorded_counts or any(recorded_counts)

    return frozenset(step.seq for step in plan.steps if is_active(step.seq))


def _first_rows(
    environment: RunEnvironment, spark: SparkSession, run: RestoredRun, trials: "Trials", seqs: frozenset[int]
) -> list[DatasetRows]:
    """Rows that pass through all operations that did something, or through most of them."""
    active = {step.operation_id for step in run.plan.steps if step.seq in seqs}
    listener, search = environment.listener, trials.limit.share(_SEARCH_SHARE)
    best: tuple[int, list[DatasetRows]] | None = None
    failure: Exception | None = None
    for most in _MOST_ROWS:
        listener.stage(f"looking for rows of {len(active)} operations, up to {most} of a group")
        chosen = RealRows(environment, spark, run, most, search).choose(seqs)
        datasets = [DatasetRows(load, tuple(chosen.get(load.key, ()))) for load in run.plan.loads]
        listener.stage(f"running the project on {sum(len(part.rows) for part in datasets)} rows")
        result = trials.run(datasets)
        missed = active - reached_operations(result)
        # Without a row that any operation selects, the scenario shows nothing.
        is_useful = result.error is None and (not active or len(missed) < len(active))
        if is_useful and (best is None or len(missed) < best[0]):
            best = (len(missed), datasets)
        if result.error is None and not missed:
            break
        listener.stage(_why_more_rows(result, sorted(missed)))
        failure = failure or result.error
        if search.is_over():
            break
    if best is None:
        causes = flatten(failure) if isinstance(failure, DaybookError) else ()
        if search.is_over() and not causes:
            project, seconds = run.snapshot.project.id, f"{trials.limit.seconds:g} s"
            raise DaybookError("RUN_091", run_id=run.run_id, project=project, limit=seconds) from failure
        raise DaybookError("RUN_088", run_id=run.run_id, causes=causes) from failure
    return best[1]


def _why_more_rows(result: ScenarioResult, missed: Sequence[str]) -> str:
    if isinstance(result.error, DaybookError):
        return f"too few rows: {result.error.message}"
    return f"too few rows: none reaches {', '.join(missed)}" if result.error is None else "the project fails with them"
