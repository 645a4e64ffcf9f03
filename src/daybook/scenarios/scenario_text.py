"""The YAML text of a scenario with the rows of a run."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from daybook.definitions.loading import LoadedWorkspace
from daybook.model.serialization import to_canonical
from daybook.plan.steps import (
    LoadStep,
)
from daybook.runs.explain.row_origins import RestoredRun
from daybook.scenarios.expected_rows import yaml_value
from daybook.scenarios.real_rows import DatasetRows, Row
from daybook.scenarios.run_scenarios import ScenarioResult
from daybook.scenarios.scenario import destination_name


def scenario_text(
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
    """A dataset by its id where a file of the workspace defines it; else its whole definition."""
    if definitions.get("dataset", dataset_id) is not None:
        return f"{{id: {dataset_id}}}"
    content = to_canonical(dataset_rows.load.version.viewed.dataset)
    table = {key: value for key, value in content["main_table"].items() if key != "location"}
    columns = [{**column, "nullable": True} for column in table["columns"]]
    return json.dumps({"id": dataset_id, "main_table": {**table, "columns": columns}}, ensure_ascii=False)


def _row_text(load: LoadStep, row: Row, period: str) -> str:
    """The values of a row, without NULL."""
    table = load.version.viewed.dataset.main_table
    values: dict[str, Any] = {column.name: row.get(column.name) for column in table.columns}
    # Rows without a period belong to that of their slice.
    values["_period"] = row.get("_period") or row.get("_run_period") or period
    values |= {name: row.get(name) for name in ("_valid_from", "_valid_to")}
    values |= {"_operation_seq": row.get("_operation_seq") or None, "_labels": row.get("_labels") or None}
    if table.temporal_mode != "period":
        del values["_period"]
    return _flow_mapping({name: value for name, value in values.items() if value is not None})


def expectation_lines(run: RestoredRun, result: ScenarioResult) -> list[str]:
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
