"""Events of runs as the specification has them, checked by the classes of its client; values by hand."""

import datetime
import json
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from openlineage.client.naming.dataset import ABFSS, GCS, HDFS, S3, LocalFileSystem, MySQL, Oracle, Postgres

from daybook.errors import DaybookError
from daybook.io.pins import TablePin
from daybook.model.datasource import JdbcSource, PostgresqlSource
from daybook.model.definition import TableVersion
from daybook.resolve.location import Location
from daybook.runs.attempt.prepare import PreparedRun
from daybook.runs.environment import RunEnvironment
from daybook.runs.openlineage import EventSender, LineageEvents, RunEvents
from daybook.runs.openlineage_datasets import dataset_name
from daybook.runs.run_result import OutputResult
from daybook.runs.snapshot import RunSettings
from daybook.runs.totals import MadeBy, MeasureTotals, OutputTotals, RunTotals, SourceRowCounts, SourceTotals
from tests.openlineage import validated
from tests.unit.runs.prepared import new_folder, prepared
from tests.workspaces import Folder, assign, to_table

RUN = "20260202-093000-abcdef"
NOW = datetime.datetime(2026, 2, 2, 9, 31, 5, 123456, tzinfo=datetime.UTC)
IDS = uuid.UUID("6f1c5f3e-52d5-5a0e-9d5c-6c1a3b0c7e11")
SECRET = "hunter2"


class Heard:
    """Keeps what it is given, as it would be sent."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def send(self, event: Mapping[str, Any]) -> None:
        self.events.append(json.loads(json.dumps(event)))

    def flush(self) -> None:
        return None


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def events(heard: Heard) -> LineageEvents:
    return LineageEvents(cast("EventSender", heard), "acme", lambda: NOW, "file:///work")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = new_folder(tmp_path)
    folder.project(
        {"type": "check", "name": "No debt", "arguments": {"condition": "amount >= 0"}},
        assign("net", "amount * 0.5", selector='region = "EMEA"'),
        {
            "type": "aggregate",
            "arguments": {"group_by": ["region"], "aggregations": [{"column": "total", "expression": "SUM(net)"}]},
        },
        {**to_table(columns=["region", "total"]), "selector": "_operation_seq = 3"},
        description="Totals by region",
    )
    return folder


def written(run: PreparedRun, version: int = 4) -> OutputResult:
    (planned,) = run.outputs
    target = planned.target
    return OutputResult(
        planned.step.seq,
        planned.step.operation_id,
        planned.step.name,
        planned.label,
        target.label,
        target.format,
        2,
        tuple(planned.step.columns),
        10,
        table_version=TableVersion("delta", str(version)),
    )


def facets(event: dict[str, Any], part: str) -> dict[str, Any]:
    found: dict[str, Any] = event[part]["facets"]
    return found


def test_a_run_that_completes(folder: Folder, events: LineageEvents, heard: Heard) -> None:
    run = prepared(folder)
    events.run_started(run, 1)
    pins = {"input": (TablePin((folder.root / "data/orders.csv").as_posix(), TableVersion("delta", "7"), "t"),)}
    events.run_ended(run, 1, "completed", outputs=[written(run)], pins=pins)
    start, complete = heard.events
    for event in heard.events:
        validated(event)
    assert [each["eventType"] for each in heard.events] == ["START", "COMPLETE"]
    run_id = str(uuid.uuid5(IDS, f"acme/run/{RUN}"))
    assert [each["run"]["runId"] for each in heard.events] == [run_id, run_id]
    assert (start["job"]["namespace"], start["job"]["name"]) == ("acme", "p")
    assert start["eventTime"] == "2026-02-02T09:31:05.123Z"
    nominal = facets(start, "run")["nominalTime"]
    assert nominal["nominalStartTime"] == "2026-01-01T00:00:00.000Z"
    assert nominal["nominalEndTime"] == "2026-02-01T00:00:00.000Z"
    code = facets(start, "job")["sourceCodeLocation"]
    assert (code["url"], code["version"]) == ("file:///work/definitions/project-p.yaml", "abc")
    tags = {each["key"]: each["value"] for each in facets(start, "run")["tags"]["tags"]}
    assert (tags["daybook.run"], tags["daybook.period"], tags["daybook.attempt"]) == (RUN, "2026-01", "1")
    assert "parent" not in facets(start, "run")

    (read,) = complete["inputs"]
    path = (folder.root / "data/orders.csv").as_posix()
    assert (read["namespace"], read["name"]) == ("file", path)
    assert read["facets"]["version"]["datasetVersion"] == "7"
    assert [each["name"] for each in read["facets"]["schema"]["fields"]] == ["order_id", "region", "amount"]
    assert read["inputFacets"]["dataQualityAssertions"]["assertions"] == [
        {"assertion": "amount >= 0", "name": "No debt", "success": True, "severity": "error"}
    ]
    (made,) = complete["outputs"]
    assert (made["namespace"], made["name"]) == ("file", (folder.root / "lake/result").as_posix())
    assert made["facets"]["version"]["datasetVersion"] == "4"
    assert made["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == "OVERWRITE"
    assert made["facets"]["schema"]["fields"] == [
        {"name": "region", "type": "string"},
        {"name": "total", "type": "decimal(38,3)"},
    ]
    assert made["facets"]["dataSource"]["name"] == "lake"
    assert made["outputFacets"]["outputStatistics"]["rowCount"] == 2


def test_where_columns_come_from(folder: Folder, events: LineageEvents, heard: Heard) -> None:
    run = prepared(folder)
    events.run_ended(run, 1, "completed", outputs=[written(run)])
    lineage = heard.events[0]["outputs"][0]["facets"]["columnLineage"]

    def ways(fields: list[dict[str, Any]]) -> dict[str, list[tuple[str, str]]]:
        return {
            each["field"]: [(way["type"], way["subtype"]) for way in each["transformations"]]
            for each in fields
            if each["namespace"] == "file" and each["name"].endswith("data/orders.csv")
        }

    total = ways(lineage["fields"]["total"]["inputFields"])
    assert total["amount"] == [("DIRECT", "AGGREGATION")]
    assert ("INDIRECT", "FILTER") in total["region"]
    assert ("DIRECT", "IDENTITY") in ways(lineage["fields"]["region"]["inputFields"])["region"]
    assert ("INDIRECT", "GROUP_BY") in ways(lineage["dataset"])["region"]


def test_the_first_version_of_a_table_creates_it(folder: Folder, events: LineageEvents, heard: Heard) -> None:
    run = prepared(folder)
    events.run_ended(run, 1, "completed", outputs=[written(run, version=0)])
    change = heard.events[0]["outputs"][0]["facets"]["lifecycleStateChange"]
    assert change["lifecycleStateChange"] == "CREATE"


def test_a_run_that_fails_says_why_and_names_what_it_committed(
    folder: Folder, events: LineageEvents, heard: Heard
) -> None:
    run = prepared(folder)
    error = DaybookError("CHECK_020", operation_seq=1, seq=1, name="No debt", row="order_id = O-1, amount = -1.00")
    events.run_ended(run, 1, "failed", error=error)
    (event,) = heard.events
    validated(event)
    assert (event["eventType"], event["outputs"]) == ("FAIL", [])
    assert facets(event, "run")["errorMessage"]["message"].startswith("[CHECK_020]")
    (assertion,) = event["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert (assertion["name"], assertion["success"]) == ("No debt", False)


def test_a_run_that_is_cancelled(folder: Folder, events: LineageEvents, heard: Heard) -> None:
    events.run_ended(prepared(folder), 1, "cancelled", error=DaybookError("RUN_004", run_id=RUN))
    assert heard.events[0]["eventType"] == "ABORT"
    validated(heard.events[0])


def test_a_retry_is_a_run_of_its_own(folder: Folder, events: LineageEvents, heard: Heard) -> None:
    """A run ends once, so that a second attempt has another id, always the same one."""
    run = prepared(folder)
    events.run_started(run, 2)
    assert heard.events[0]["run"]["runId"] == str(uuid.uuid5(IDS, f"acme/run/{RUN}/2"))
    tags = {each["key"]: each["value"] for each in facets(heard.events[0], "run")["tags"]["tags"]}
    assert (tags["daybook.run"], tags["daybook.attempt"]) == (RUN, "2")


def test_a_build_is_the_parent_of_its_runs(folder: Folder, events: LineageEvents, heard: Heard) -> None:
    events.build_started("B-1")
    events.run_started(prepared(folder, settings=RunSettings(build_id="B-1")), 1)
    events.build_ended("B-1", is_ok=False, is_cancelled=False)
    for event in heard.events:
        validated(event)
    assert [(each["job"]["name"], each["eventType"]) for each in heard.events] == [
        ("build", "START"),
        ("p", "START"),
        ("build", "FAIL"),
    ]
    parent = facets(heard.events[1], "run")["parent"]
    assert parent["run"]["runId"] == heard.events[0]["run"]["runId"] == str(uuid.uuid5(IDS, "acme/build/B-1"))
    assert parent["job"] == {"namespace": "acme", "name": "build"}


def test_a_replay_reads_and_writes_nothing(folder: Folder, events: LineageEvents, heard: Heard) -> None:
    run = prepared(folder)
    events.replay_started(run, "1")
    events.replay_ended(run, "1")
    for event in heard.events:
        validated(event)
    assert [(each["job"]["name"], each["eventType"]) for each in heard.events] == [
        ("p.replay", "START"),
        ("p.replay", "COMPLETE"),
    ]
    assert [len(each["inputs"]) for each in heard.events] == [1, 1]
    assert [each["outputs"] for each in heard.events] == [[], []]
    ids = {each["run"]["runId"] for each in heard.events}
    assert len(ids) == 1
    assert str(uuid.uuid5(IDS, f"acme/run/{RUN}")) not in ids


def test_no_secret_is_told(folder: Folder, events: LineageEvents, heard: Heard) -> None:
    folder.define(
        "project",
        {
            "id": "p",
            "input": {"dataset_id": "orders"},
            "description": f"uses password={SECRET}",
            "operations": [
                {"type": "check", "arguments": {"condition": f'region <> "token={SECRET}"'}},
                to_table(),
            ],
        },
    )
    run = prepared(folder)
    error = DaybookError("IO_012", location=f"postgresql://u:{SECRET}@db/x", reason=f"password={SECRET}")
    events.run_started(run, 1)
    events.run_ended(run, 1, "completed", outputs=[written(run)])
    events.run_ended(run, 1, "failed", error=error)
    assert SECRET not in json.dumps(heard.events)


def jdbc(url: str) -> JdbcSource:
    options = {"url": url, "driver": "x.Driver"}
    return JdbcSource.model_validate({"id": "erp", "name": "ERP", "type": "jdbc", "options": options})


def at_table(source: Any, schema: str | None = None) -> Location:
    return Location(source.type, table="orders", schema=schema, datasource=source)


POSTGRES = PostgresqlSource.model_validate(
    {"id": "pg", "name": "PG", "type": "postgresql", "options": {"host": "db1", "database": "erp", "user": "u"}}
)


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        (Location("csv", uri="/data/orders.csv"), LocalFileSystem("/data/orders.csv")),
        (Location("delta", uri="s3://bucket/lake/orders"), S3("bucket", "lake/orders")),
        (Location("delta", uri="s3a://bucket/lake/orders"), S3("bucket", "lake/orders")),
        (Location("delta", uri="gs://bucket/lake/orders"), GCS("bucket", "lake/orders")),
        (
            Location("delta", uri="abfss://lake@acme.dfs.core.windows.net/orders"),
            ABFSS("lake", "acme", "/orders"),
        ),
        (Location("parquet", uri="hdfs://name:8020/lake/orders"), HDFS("name", "8020", "/lake/orders")),
        (at_table(POSTGRES, "public"), Postgres("db1", "5432", "erp", "public", "orders")),
        (at_table(jdbc("jdbc:mysql://db2/shop?user=u&x=y")), MySQL("db2", "3306", "shop", "orders")),
        (at_table(jdbc("jdbc:oracle:thin:@//db3:1522/erp"), "gl"), Oracle("db3", "1522", "erp", "gl", "orders")),
    ],
    ids=str,
)
def test_names_follow_the_rules_of_the_specification(location: Location, expected: Any) -> None:
    assert dataset_name(location) == (expected.get_namespace(), expected.get_name())


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("jdbc:sqlserver://db4:1433;databaseName=erp;encrypt=true", ("sqlserver://db4:1433", "erp.dbo.orders")),
        ("jdbc:h2:mem:test", ("h2://erp", "dbo.orders")),
    ],
)
def test_databases_without_a_rule_in_the_client(url: str, expected: tuple[str, str]) -> None:
    assert dataset_name(at_table(jdbc(url), "dbo")) == expected


def test_what_goes_wrong_with_an_event_is_a_warning(folder: Folder) -> None:
    """Here the store is closed, so that not even the attempt is known."""

    class Broken:
        def read(self) -> None:
            raise RuntimeError("closed")

    heard: list[str] = []
    listener = SimpleNamespace(notice=lambda given: heard.append(given.code))
    environment = SimpleNamespace(events=object(), store=Broken(), listener=listener)
    events = RunEvents(cast("RunEnvironment", environment), prepared(folder))
    events.started()
    found = events.ended("completed", ())
    assert found is not None
    assert heard == [found.code] == ["RUN_046"]


def test_without_a_receiver_nothing_is_looked_up(folder: Folder) -> None:
    events = RunEvents(cast("RunEnvironment", SimpleNamespace(events=None)), prepared(folder))
    events.started()
    assert events.ended("completed", ()) is None


def test_the_totals_of_sources_and_outputs_are_metrics(folder: Folder, events: LineageEvents, heard: Heard) -> None:
    run = prepared(folder)
    source = SourceTotals("orders", "data/orders.csv", SourceRowCounts(4, 1, 3), {"amount": "150.00"}, None)
    made = OutputTotals(4, "lake.result", 2, (MadeBy(3, "75.00"),), (MadeBy(0, "150.00"),), ())
    totals = RunTotals(RUN, (source,), (MeasureTotals("total", (), (made,)),))
    events.run_ended(run, 1, "completed", outputs=[written(run)], totals=totals)
    (event,) = heard.events
    validated(event)
    read = event["inputs"][0]["inputFacets"]["dataQualityMetrics"]
    assert (read["rowCount"], read["columnMetrics"]) == (3, {"amount": {"sum": 150.0}})
    wrote = event["outputs"][0]["facets"]["dataQualityMetrics"]
    assert (wrote["rowCount"], wrote["columnMetrics"]) == (2, {"total": {"sum": 75.0}})
