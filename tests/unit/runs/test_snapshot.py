"""Snapshots as text, and plans made from them alone."""

import datetime
import json
from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.model.definition import TableVersion
from daybook.plan.steps import UpdateStep
from daybook.runs.attempt.prepare import restore_run
from daybook.runs.snapshot import RunSettings, recorded_definitions, snapshot_from_json
from tests.unit.runs.prepared import TIMESTAMP, new_folder, prepared
from tests.workspaces import COLUMNS, Folder, assign, to_path, to_table


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = new_folder(tmp_path)
    folder.dataset("customers", [{"name": "id", "type": "string"}], {"path": "data/customers.csv"})
    join = {"alias": "c", "dataset_id": "customers", "on": "orders.region = c.id"}
    folder.project(
        {
            "type": "update",
            "selector": "{{big}}",
            "arguments": {"joins": [join], "assignments": [{"column": "found", "expression": "c.id"}]},
        },
        {"type": "append", "arguments": {"source": {"dataset_id": "orders"}}},
        to_table(register_as_dataset="booked"),
        to_path("out/{{identifier}}.csv"),
        selectors={"big": "amount > 10.50"},
    )
    return folder


def test_a_snapshot_survives_its_text(folder: Folder) -> None:
    settings = RunSettings(is_draft=True, sandbox="s", allow_empty=True, engine={"spark.x": 1})
    snapshot = prepared(folder, as_of=datetime.date(2026, 1, 9), settings=settings).snapshot
    assert snapshot_from_json(snapshot.to_json()) == snapshot
    assert (snapshot.as_of, snapshot.timestamp) == (datetime.date(2026, 1, 9), TIMESTAMP)


def test_the_text_as_written_is_kept(folder: Folder) -> None:
    snapshot = prepared(folder).snapshot
    assert snapshot.project_text == (folder.root / "definitions/project-p.yaml").read_text()
    assert snapshot.project.selectors == {"big": "amount > 10.50"}


def test_a_run_is_restored_from_its_snapshot_alone(folder: Folder) -> None:
    before = prepared(folder)
    text = before.snapshot.to_json()
    for file in folder.root.rglob("*.yaml"):
        file.unlink()
    after = restore_run(snapshot_from_json(text), folder.root)
    assert [output.target for output in after.outputs] == [output.target for output in before.outputs]
    assert [load.key for load in after.plan.loads] == [load.key for load in before.plan.loads]
    assert [step.seq for step in after.plan.steps] == [1, 2, 3, 4]


def test_a_restored_run_knows_where_its_expressions_stood(folder: Folder) -> None:
    before = prepared(folder)
    (folder.root / "definitions/project-p.yaml").write_text("project: {id: p, changed: since}\n")
    after = restore_run(snapshot_from_json(before.snapshot.to_json()), folder.root)
    places = []
    for run in (before, after):
        step = run.plan.steps[0]
        assert isinstance(step, UpdateStep)
        places.append(step.assignments[0].expression.span)
    assert places[0] is not None
    assert places[0].file == (folder.root / "definitions/project-p.yaml").as_posix()
    assert places[0].text == "c.id"
    assert places[0] == places[1]


def test_a_run_that_kept_no_file_is_restored(folder: Folder) -> None:
    data = json.loads(prepared(folder).snapshot.to_json())
    del data["project_file"]
    restored = restore_run(snapshot_from_json(json.dumps(data)), folder.root)
    assert [step.seq for step in restored.plan.steps] == [1, 2, 3, 4]


def test_as_of_is_the_start_of_the_period_by_default(folder: Folder) -> None:
    assert prepared(folder, "2026-02").snapshot.as_of == datetime.date(2026, 2, 1)


def test_a_snapshot_of_a_later_format_is_refused(folder: Folder) -> None:
    data = json.loads(prepared(folder).snapshot.to_json())
    with pytest.raises(DaybookError) as refused:
        snapshot_from_json(json.dumps({**data, "format": 99}))
    assert refused.value.code == "RUN_010"


def test_the_catalog_of_a_snapshot_knows_what_the_run_used(folder: Folder) -> None:
    catalog = recorded_definitions(prepared(folder).snapshot)
    assert catalog.ids("dataset") == ("customers", "orders")
    assert catalog.ids("datasource") == ("lake",)
    assert catalog.dataset("orders") is not None
    assert catalog.dataset("orders", 2) is None
    assert catalog.dataset("other") is None
    assert catalog.dataset_versions("orders") == (1,)


def test_resolvers_are_kept_with_their_version(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)
    folder.datasource("files", "csv", path="data")
    strategy = {"type": "path", "datasource_id": "files", "path": "{{identifier}}.csv"}
    folder.define("resolver", {"id": "monthly", "rules": [{"name": "r", "data_level": "month", "strategy": strategy}]})
    table = {"name": "orders", "temporal_mode": "period", "columns": COLUMNS}
    folder.define("dataset", {"id": "orders", "resolver_id": "monthly", "main_table": table})
    folder.project(assign("x", "1"), to_table())
    snapshot = prepared(folder, "2026-Q1").snapshot
    assert [(each.resolver.id, each.version) for each in snapshot.resolvers] == [("monthly", 1)]
    (source,) = snapshot.sources
    assert (source.resolution.resolver_id, source.resolution.rule) == ("monthly", "r")
    assert [str(location.uri).rpartition("/")[2] for location in source.resolution.locations] == [
        "2026-01.csv",
        "2026-02.csv",
        "2026-03.csv",
    ]


def test_a_snapshot_with_the_number_of_a_delta_version_is_read(folder: Folder) -> None:
    snapshot = prepared(folder).snapshot
    data = json.loads(snapshot.to_json())
    (location,) = data["sources"][0]["resolution"]["locations"]
    del location["version"]
    location["delta_version"] = 4
    found = snapshot_from_json(json.dumps(data)).sources[0].resolution.locations[0]
    assert found.version == TableVersion("delta", "4")
    location["delta_version"] = None
    assert snapshot_from_json(json.dumps(data)) == snapshot
