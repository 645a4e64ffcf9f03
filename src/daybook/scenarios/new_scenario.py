"""A scenario from real rows of a run, as small as it can be while every operation still has something to do."""

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from daybook.errors import DaybookError
from daybook.model.loading import LoadedWorkspace
from daybook.model.serialization import to_canonical
from daybook.plan.steps import LoadStep
from daybook.runs.environment import RunEnvironment
from daybook.runs.explain.restored_run import RestoredRun, RestoredRuns
from daybook.scenarios.load_scenario import DEFAULT_SCENARIO_FOLDER
from daybook.scenarios.quick_session import QuickSession
from daybook.scenarios.real_rows import RealRows, Row
from daybook.scenarios.report import yaml_value
from daybook.scenarios.run_scenarios import ScenarioResult, run_scenario_file
from daybook.scenarios.scenario import destination_name

# How many rows are tried to be left out.
_MOST_TRIES = 40
_TIME_COLUMNS = ("_period", "_valid_from", "_valid_to")


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


def write_new_scenario(
    around: RunEnvironment, definitions: LoadedWorkspace, run_id: str, file: Path | None = None
) -> NewScenario:
    """Write a scenario for the project of a run; refused where the file exists."""
    run = RestoredRuns(around).get(run_id)
    snapshot = run.snapshot
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{snapshot.project.id}-{snapshot.period.identifier}")
    target = file or around.root / DEFAULT_SCENARIO_FOLDER / f"{name}.yaml"
    if target.exists():
        raise DaybookError("MODEL_095", path=target.as_posix())
    if definitions.get("project", snapshot.project.id) is None:
        raise DaybookError("RUN_001", project=snapshot.project.id)
    if not run.pins:
        raise DaybookError("RUN_027", run_id=run_id, status=run.record.status)
    with around.spark(snapshot) as spark:
        chosen = RealRows(around, spark, run).choose()
        given = [DatasetRows(load, tuple(chosen.get(load.key, ()))) for load in run.plan.loads]
        trials = _Trials(QuickSession(lambda: spark)(), run, definitions)
        given, result = trials.reduce(given)
    text = _scenario_text(run, definitions, given, _expectation_lines(run, result))
    target.parent.mkdir(parents=True, exist_ok=True)
    # Exclusive creation: a file that somebody made meanwhile stays as it is.
    try:
        with target.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise DaybookError("MODEL_095", path=target.as_posix()) from None
    counts = result.counts or {}
    missed = tuple(each.id for each in run.plan.project.operations if not counts.get(each.id))
    return NewScenario(target, run_id, sum(len(each.rows) for each in given), missed)


class _Trials:
    """Runs of the scenario with fewer and fewer rows."""

    def __init__(self, spark: SparkSession, run: RestoredRun, definitions: LoadedWorkspace) -> None:
        self._spark = spark
        self._run = run
        self._definitions = definitions

    def reduce(self, given: Sequence[DatasetRows]) -> tuple[list[DatasetRows], ScenarioResult]:
        """The rows without those that no operation needs."""
        known = list(given)
        result = self._try(known)
        if result.error is not None:
            raise result.error
        wanted = _reached(result)
        tries = 0
        # Joined rows last: those that no row meets any more change nothing.
        for position in sorted(range(len(known)), key=lambda each: known[each].is_joined):
            for row in known[position].rows:
                if tries >= _MOST_TRIES:
                    return known, result
                tries += 1
                part = known[position]
                fewer = replace(part, rows=tuple(one for one in part.rows if one is not row))
                tried = [*known[:position], fewer, *known[position + 1 :]]
                found = self._try(tried)
                is_enough = found.error is None and _reached(found) >= wanted
                if is_enough and (not part.is_joined or found.actual == result.actual):
                    known, result = tried, found
        return known, result

    def _try(self, given: Sequence[DatasetRows]) -> ScenarioResult:
        text = _scenario_text(self._run, self._definitions, given, ["  counts: {}"])
        # Inside of the workspace, whose definitions it names.
        with tempfile.TemporaryDirectory(prefix=".daybook-new-", dir=self._definitions.root) as folder:
            file = Path(folder) / "scenario.yaml"
            file.write_text(text, encoding="utf-8")
            return run_scenario_file(self._spark, file)


def _reached(result: ScenarioResult) -> frozenset[str]:
    return frozenset(name for name, count in (result.counts or {}).items() if count)


def _scenario_text(
    run: RestoredRun, definitions: LoadedWorkspace, given: Sequence[DatasetRows], expectation: Sequence[str]
) -> str:
    return "\n".join(_scenario_lines(run, definitions, given, expectation)) + "\n"


def _scenario_lines(
    run: RestoredRun, definitions: LoadedWorkspace, given: Sequence[DatasetRows], expectation: Sequence[str]
) -> Iterator[str]:
    snapshot = run.snapshot
    yield f"# Rows of run {run.run_id}. What is expected is what the project makes of them now: check it, and keep it."
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
    for each in given:
        by_dataset.setdefault(each.load.version.viewed.dataset.id, []).append(each)
    for dataset_id, parts in by_dataset.items():
        yield f"  - dataset: {_dataset_text(dataset_id, parts[0], definitions)}"
        lines = dict.fromkeys(
            _row_text(each.load, row, snapshot.period.identifier) for each in parts for row in each.rows
        )
        yield "    rows:" if lines else "    rows: []"
        yield from (f"      - {line}" for line in lines)
    yield f"project: {{id: {snapshot.project.id}}}"
    yield "expect:"
    yield from expectation


def _dataset_text(dataset_id: str, given: DatasetRows, definitions: LoadedWorkspace) -> str:
    """By its id, where a file of the workspace defines it; else written out."""
    if definitions.get("dataset", dataset_id) is not None:
        return f"{{id: {dataset_id}}}"
    content = to_canonical(given.load.version.viewed.dataset)
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
    known = {each.id: counts.get(each.id, 0) for each in run.plan.project.operations}
    return [*lines, f"  counts: {json.dumps(known)}"]


def _flow_mapping(values: Mapping[str, Any]) -> str:
    named = (f"{json.dumps(name, ensure_ascii=False)}: {yaml_value(value)}" for name, value in values.items())
    return "{" + ", ".join(named) + "}"
