"""Creates a scenario from a few real rows of a run, as small as possible while every operation has rows."""

import json
import re
import secrets
import tempfile
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from daybook.definitions.loading import LoadedWorkspace
from daybook.engine.context import RunContext
from daybook.engine.jobs import carry_tags, wait_for
from daybook.engine.load_rows import filter_by_time, stored_rows
from daybook.engine.pipeline import Pipeline
from daybook.errors import DaybookError, Notice, flatten, notice
from daybook.expression import quote_identifier
from daybook.expression.typed_tree import ColumnValue
from daybook.io.filesystem import remove_folder
from daybook.model.serialization import to_canonical
from daybook.model.types import STRING
from daybook.plan.conditions import excludes, split_join_condition
from daybook.plan.loads import INPUT_KEY
from daybook.plan.partial_plan import RowKey, RowKeys, key_columns, picked_rows
from daybook.plan.steps import (
    AggregateStep,
    AppendStep,
    CheckStep,
    DeleteStep,
    JoinStep,
    LoadStep,
    Plan,
    Step,
    UpdateStep,
    count_until_last_output,
)
from daybook.runs.environment import RunEnvironment
from daybook.runs.explain.row_origins import RestoredRun, RestoredRuns, group_columns
from daybook.runs.listener import RunListener
from daybook.scenarios.load_scenario import DEFAULT_SCENARIO_FOLDER
from daybook.scenarios.report import yaml_value
from daybook.scenarios.run_scenarios import QuickSession, ScenarioResult, run_scenario_file
from daybook.scenarios.scenario import Workspaces, destination_name
from daybook.scenarios.time_limit import TimeLimit
from daybook.store.records import OperationResult

Row = Mapping[str, Any]

_ID = "_row_id"
# Looking for the rows of an operation is a job of its own; several share the cores better than one.
_THREADS = 4
# The part of the time that is for finding rows of operations; the rest is for leaving out rows.
_SEARCH_SHARE = 0.7


class RealRows:
    """Rows of the sources of one run, as they are stored, by load.

    `most` is how many rows of a group a summary row may need, and of a source where no key says which ones.
    """

    def __init__(
        self, environment: RunEnvironment, spark: SparkSession, run: RestoredRun, most: int, limit: TimeLimit
    ) -> None:
        self._environment = environment
        self._spark = spark
        self._run = run
        self._most = most
        self._limit = limit
        self._plan = run.plan
        self._context = RunContext.of(run.plan, run.snapshot.as_of)
        self._staging = f"{environment.state}/staging/{run.run_id}.scenario-{secrets.token_hex(4)}"
        self._ids: dict[str, dict[str, None]] = {load.key: {} for load in run.plan.loads}

    def choose(self, seqs: Collection[int]) -> dict[str, list[Row]]:
        """The rows of each load: those that these operations pick, and those that joins find for them."""
        steps = self._plan.steps[: count_until_last_output(self._plan.steps)]
        try:
            self._run.read(self._environment, self._spark, [load.key for load in self._plan.loads])
            self._find_witnesses([step for step in steps if step.seq in seqs])
            # What was found is read to the end, even when the time is over: otherwise there would be no scenario.
            self._environment.listener.stage("reading these rows and what joins find for them")
            updates = [step for step in steps if isinstance(step, UpdateStep)]
            joined = dict(self._joined_rows(step, join) for step in updates for join in step.joins)
            return {**{load.key: self._stored(load) for load in self._plan.loads if load.role != "join"}, **joined}
        finally:
            remove_folder(self._staging, self._environment.storage)

    def _find_witnesses(self, steps: Sequence[Step]) -> None:
        """A row for each step, as far as the time goes."""
        search, listener, lock = self._limit, self._environment.listener, threading.Lock()
        left = {step.seq: step.name for step in steps}

        def find(step: Step) -> None:
            if search.is_over():
                return
            try:
                self._add_witness(step)
            except Exception:
                # A stopped job fails in many ways, and the rows that are found so far are enough to go on.
                if not search.is_over():
                    raise
                return
            with lock:
                del left[step.seq]
                listener.stage(f"rows found for {len(steps) - len(left)} of {len(steps)} operations")

        with search.stopping(self._spark), ThreadPoolExecutor(_THREADS) as pool:
            for future in [pool.submit(carry_tags(self._spark, find), step) for step in steps]:
                wait_for(future)
        if left:
            listener.stage(f"no rows found in time for {', '.join(left.values())}")

    def _add_witness(self, step: Step, keys: RowKeys = (), depth: int = 0, summary: Row | None = None) -> None:
        """A row that the operation picks, or the rows that it is made of."""
        limit = self._most if keys else 1
        for row in self._picked(step, keys, limit, _largest_first(step, summary)):
            seq = row["_operation_seq"]
            if isinstance(step, AppendStep):
                self._ids[step.load_key][row[_ID]] = None
            elif seq == 0:
                self._ids[INPUT_KEY][row[_ID]] = None
            elif depth < len(self._plan.steps):
                self._add_makers(self._plan.step(seq), row, depth)

    def _add_makers(self, maker: Step, row: Row, depth: int) -> None:
        if not isinstance(maker, AggregateStep | AppendStep):
            return
        columns = key_columns(self._plan, maker)
        if group_columns(maker) and all(name in row for name in columns):
            keys = [tuple(RowKey(name, row[name], type_) for name, type_ in columns.items())]
            self._add_witness(maker, keys, depth + 1, row)
        else:
            self._add_witness(maker, (), depth + 1)

    def _picked(self, step: Step, keys: RowKeys, limit: int, largest: Mapping[str, bool] | None = None) -> list[Row]:
        """The first rows that an operation picks; loaded ones come before those that operations made.

        `largest` are columns that decide before the usual order, the smallest first where they are true.
        """
        makers = [earlier for earlier in self._plan.steps if earlier.seq < step.seq and group_columns(earlier)]
        more = [] if isinstance(step, AppendStep) else [name for maker in makers for name in _made_columns(maker)]
        plan = self._plan
        if isinstance(step, CheckStep):
            # All rows that it checks, not only those that it would fail for.
            checked = DeleteStep(step.seq, step.operation_id, step.name, step.selector, step.schema)
            plan = replace(plan, steps=tuple(checked if other is step else other for other in plan.steps))
            step = checked
        cut = picked_rows(plan, step, keys, more)
        sources = self._run.read(self._environment, self._spark, cut.feeds.values())
        frames = {key: sources[whole].frame for key, whole in cut.feeds.items()}
        as_of = self._run.snapshot.as_of
        # A place of its own: others look for their rows at the same time.
        staging = f"{self._staging}/{secrets.token_hex(4)}"
        # What a completed run computed was checked then.
        is_counting = self._run.record.status != "completed"
        folder = self._environment.staging(self._spark, staging)
        with Pipeline(self._spark, cut.plan, frames, staging=folder, as_of=as_of, is_counting=is_counting) as pipeline:
            (group,) = pipeline.groups()
            (output,) = group.outputs
            order = [F.col(quote_identifier(name)) for name in ("_operation_seq", *cut.order)]
            sizes = [
                F.col(quote_identifier(name)).asc_nulls_last() if is_negative else F.col(quote_identifier(name)).desc()
                for name, is_negative in (largest or {}).items()
                if name in output.step.columns
            ]
            rows = output.df.orderBy(order[0], *sizes, *order[1:]).limit(limit)
            picked: list[Row] = rows.toArrow().to_pylist()
            return picked

    def _stored(self, load: LoadStep) -> list[Row]:
        ids = list(self._ids[load.key])
        if not ids:
            return []
        frame = self._frame(load)
        return _in_order(stored_rows(frame, load, self._context, ids), load)

    def _joined_rows(self, step: UpdateStep, join: JoinStep) -> tuple[str, list[Row]]:
        """The rows of a join that the chosen rows meet, as far as equal keys show; otherwise the first ones."""
        load = self._plan.load(join.load_key)
        frame = self._frame(load)
        rows = filter_by_time(frame, load, self._context)
        pairs = [
            (own.use.name, joined.use.name)
            for own, joined in split_join_condition(join.on.tree, join.alias).keys
            if isinstance(own, ColumnValue) and isinstance(joined, ColumnValue) and own.use.qualifier is None
        ]
        keys = [(RowKey(_ID, row_id, STRING),) for row_id in self._ids[INPUT_KEY]]
        if pairs and keys:
            chosen = self._picked(step, keys, len(keys))
            for own, name in pairs:
                values = [row[own] for row in chosen if own in row and row[own] is not None]
                rows = rows.where(F.col(quote_identifier(name)).isin(values))
        return load.key, _in_order(rows.limit(self._most), load)

    def _frame(self, load: LoadStep) -> Any:
        return self._run.read(self._environment, self._spark, (load.key,))[load.key].frame


def _made_columns(step: Step) -> tuple[str, ...]:
    """What a summary row has: its group, and what was computed of it."""
    assert isinstance(step, AggregateStep | AppendStep)
    return (*step.group_by, *(value.column for value in step.aggregations))


def _largest_first(step: Step, summary: Row | None) -> dict[str, bool]:
    """The numbers that a summary row is made of, those first that take it furthest, so that few rows make a large sum.

    Each with whether the sum is negative.
    """
    if summary is None or not isinstance(step, AggregateStep | AppendStep):
        return {}
    largest: dict[str, bool] = {}
    for value in step.aggregations:
        total = summary.get(value.column)
        if isinstance(total, int | float | Decimal) and not isinstance(total, bool):
            names = [use.name for use in value.expression.uses if use.qualifier is None]
            largest |= {name: total < 0 for name in sorted(names) if name not in largest}
    return largest


def _in_order(rows: DataFrame, load: LoadStep) -> list[Row]:
    """In the order of what people know them by, so that the same run gives the same scenario."""
    unordered: list[Row] = rows.toArrow().to_pylist()
    names: Sequence[str] = load.version.dataset.natural_key_columns or tuple(load.types)
    return sorted(unordered, key=lambda row: [(row[name] is not None, str(row[name])) for name in names])


# How often rows are tried to be left out; a scenario runs for each.
MOST_TRIES = 60
# How many rows of a group are taken, and how many where those do not reach every operation.
_MOST_ROWS = (20, 200)


@dataclass(frozen=True, slots=True)
class DatasetRows:
    """A dataset with the rows that a scenario has of it."""

    load: LoadStep
    rows: tuple[Row, ...]

    @property
    def is_joined(self) -> bool:
        return self.load.role == "join"


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
    text = _scenario_text(run, definitions, kept, _expectation_lines(run, result))
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
        missed = active - _reached(result)
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


class Trials:
    """Runs of the scenario with fewer and fewer rows, as long as there is time."""

    def __init__(
        self,
        spark: SparkSession,
        run: RestoredRun,
        definitions: LoadedWorkspace,
        listener: RunListener,
        limit: TimeLimit,
    ) -> None:
        self.limit = limit
        self.is_reduced = True
        self._listener = listener
        self._spark = spark
        self._run = run
        self._definitions = definitions
        self._workspaces = Workspaces()

    def reduce(self, given: Sequence[DatasetRows]) -> tuple[list[DatasetRows], ScenarioResult]:
        """The rows without those that no operation needs: first half of them at once, then less and less."""
        kept = list(given)
        result = self.run(kept)
        needed = _reached(result)
        tries = 0
        # Joined rows last: those that no row meets any more change nothing. Some tries are left for them.
        for is_joined, most in ((False, MOST_TRIES * 2 // 3), (True, MOST_TRIES)):
            for size in _sizes(sum(len(part.rows) for part in kept if part.is_joined == is_joined)):
                rows = [row for part in kept if part.is_joined == is_joined for row in part.rows]
                self._listener.stage(f"leaving out rows, {size} at once, of {sum(len(part.rows) for part in kept)}")
                for start in range(0, len(rows), size):
                    if self.limit.is_over():
                        self.is_reduced = False
                        return kept, result
                    if tries >= most:
                        break
                    tries += 1
                    fewer = _without(kept, rows[start : start + size])
                    trial = self.run(fewer)
                    is_enough = trial.error is None and _reached(trial) >= needed
                    if is_enough and (not is_joined or trial.actual == result.actual):
                        kept, result = fewer, trial
        return kept, result

    def run(self, given: Sequence[DatasetRows]) -> ScenarioResult:
        text = _scenario_text(self._run, self._definitions, given, ["  counts: {}"])
        # Inside of the workspace, whose definitions it names.
        with tempfile.TemporaryDirectory(prefix=".daybook-new-", dir=self._definitions.root) as folder:
            file = Path(folder) / "scenario.yaml"
            file.write_text(text, encoding="utf-8")
            return run_scenario_file(self._spark, file, self._workspaces)


def _sizes(count: int) -> Iterator[int]:
    """Half of so many rows, half of that, and at last one."""
    while count:
        count = (count + 1) // 2
        yield count
        if count == 1:
            return


def _without(datasets: Sequence[DatasetRows], rows: Sequence[Row]) -> list[DatasetRows]:
    left_out = {id(row) for row in rows}
    return [replace(part, rows=tuple(row for row in part.rows if id(row) not in left_out)) for part in datasets]


def _reached(result: ScenarioResult) -> frozenset[str]:
    return frozenset(name for name, count in (result.counts or {}).items() if count)


def _scenario_text(
    run: RestoredRun, definitions: LoadedWorkspace, datasets: Sequence[DatasetRows], expectation: Sequence[str]
) -> str:
    return "\n".join(_scenario_lines(run, definitions, datasets, expectation)) + "\n"


def _scenario_lines(
    run: RestoredRun, definitions: LoadedWorkspace, datasets: Sequence[DatasetRows], expectation: Sequence[str]
) -> Iterator[str]:
    snapshot = run.snapshot
    yield f"# Rows of run {run.run_id}. It expects what the project computes from them now: check that this is correct."
    yield f"name: {json.dumps(f'{snapshot.project.name} on a few rows of {snapshot.period.identifier}')}"
    yield f"period: {json.dumps(snapshot.period.identifier)}"
    if snapshot.as_of != snapshot.period.start_date:
        yield f"as_of: {snapshot.as_of.isoformat()}"
    declared = definitions.definitions["project"][snapshot.project.id].model.parameters
    parameters = {name: text for name, text in snapshot.parameters.items() if name in declared}
    if parameters:
        yield f"parameters: {json.dumps(parameters, ensure_ascii=False)}"
    yield "datasets:"
    by_dataset: dict[str, list[DatasetRows]] = {}
    for part in datasets:
        by_dataset.setdefault(part.load.version.viewed.dataset.id, []).append(part)
    for dataset_id, parts in by_dataset.items():
        yield f"  - dataset: {_dataset_text(dataset_id, parts[0], definitions)}"
        lines = dict.fromkeys(
            _row_text(part.load, row, snapshot.period.identifier) for part in parts for row in part.rows
        )
        yield "    rows:" if lines else "    rows: []"
        yield from (f"      - {line}" for line in lines)
    yield f"project: {{id: {snapshot.project.id}}}"
    yield "expect:"
    yield from expectation


def _dataset_text(dataset_id: str, dataset_rows: DatasetRows, definitions: LoadedWorkspace) -> str:
    """By its id, where a file of the workspace defines it; else written out."""
    if definitions.get("dataset", dataset_id) is not None:
        return f"{{id: {dataset_id}}}"
    content = to_canonical(dataset_rows.load.version.viewed.dataset)
    table = {key: value for key, value in content["main_table"].items() if key != "location"}
    columns = [{**column, "nullable": True} for column in table["columns"]]
    return json.dumps({"id": dataset_id, "main_table": {**table, "columns": columns}}, ensure_ascii=False)


def _row_text(load: LoadStep, row: Row, period: str) -> str:
    """The values that a row has; what it lacks is NULL anyway."""
    table = load.version.viewed.dataset.main_table
    values: dict[str, Any] = {column.name: row.get(column.name) for column in table.columns}
    # Rows that say no period are of the slice they stand in.
    values["_period"] = row.get("_period") or row.get("_run_period") or period
    values |= {name: row.get(name) for name in ("_valid_from", "_valid_to")}
    values |= {"_operation_seq": row.get("_operation_seq") or None, "_labels": row.get("_labels") or None}
    if table.temporal_mode != "period":
        del values["_period"]
    return _flow_mapping({name: value for name, value in values.items() if value is not None})


def _expectation_lines(run: RestoredRun, result: ScenarioResult) -> list[str]:
    lines = ["  outputs:"]
    for step in run.plan.outputs:
        rows = (result.actual or {}).get(destination_name(step.arguments), ())
        name = json.dumps(destination_name(step.arguments), ensure_ascii=False)
        lines.append(f"    {name}:" if rows else f"    {name}: []")
        for row in rows:
            business = {key: value for key, value in row.items() if not key.startswith("_")}
            lines.append(f"      - {_flow_mapping(business)}")
    counts = result.counts or {}
    operation_counts = {operation.id: counts.get(operation.id, 0) for operation in run.plan.project.operations}
    return [*lines, f"  counts: {json.dumps(operation_counts)}"]


def _flow_mapping(values: Mapping[str, Any]) -> str:
    named = (f"{json.dumps(name, ensure_ascii=False)}: {yaml_value(value)}" for name, value in values.items())
    return "{" + ", ".join(named) + "}"
