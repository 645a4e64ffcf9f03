"""What a receiver hears of runs: order, ids, retries, replays, builds; and that no receiver is a reason to fail."""

import http.server
import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from daybook.runs.run_result import RunFailedError
from tests.openlineage import validated
from tests.spark.graph.test_build import built
from tests.unit.resolve.http_server import Asked, Server, answer, serving
from tests.workspaces import COLUMNS, Folder, assign, to_table

TOKEN = "s3cr3t-t0k3n"


def heard(server: Server) -> list[dict[str, Any]]:
    events = [json.loads(each.body) for each in server.asked]
    for event in events:
        validated(event)
    return events


def steps(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["job"]["name"], event["eventType"]) for event in events]


def workspace(root: Path, spark: SparkSession, server: Server) -> Folder:
    settings = {"to": server.url("/api/v1/lineage"), "namespace": "acme", "credential_ref": "env://LINEAGE_TOKEN"}
    return Folder.new(root / "w", lambda: spark, lineage={"openlineage": settings})


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_TOKEN", TOKEN)


def test_a_run_its_retry_and_its_replay(spark: SparkSession, tmp_path: Path) -> None:
    with serving(answer(b"", 201)) as server:
        folder = workspace(tmp_path, spark, server)
        check = {"type": "check", "arguments": {"condition": "amount > 0", "selector": 'region = "EMEA"'}}
        folder.project(check, assign("net", "amount * 0.5"), to_table())
        run = folder.run()
        assert run.notices == ()
        folder.replay(run.run_id)
        lake = folder.root / "lake"
        lake.rename(folder.root / "elsewhere")
        lake.write_text("no folder")
        with pytest.raises(RunFailedError) as failed:
            folder.run("2026-02")
        lake.unlink()
        folder.retry(failed.value.run_id)
        events = heard(server)
    assert steps(events) == [
        ("p", "START"),
        ("p", "COMPLETE"),
        ("p.replay", "START"),
        ("p.replay", "COMPLETE"),
        ("p", "START"),
        ("p", "FAIL"),
        ("p", "START"),
        ("p", "COMPLETE"),
    ]
    ids = [event["run"]["runId"] for event in events]
    assert ids[::2] == ids[1::2]
    assert len(set(ids)) == 4
    complete = events[1]
    assert complete["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 3
    assert complete["outputs"][0]["facets"]["version"]["datasetVersion"] == "0"
    (assertion,) = complete["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert assertion["success"] is True
    assert "errorMessage" in events[5]["run"]["facets"]
    tags = {each["key"]: each["value"] for each in events[7]["run"]["facets"]["tags"]["tags"]}
    assert (tags["daybook.run"], tags["daybook.attempt"]) == (failed.value.run_id, "2")
    assert TOKEN not in json.dumps(events)


def test_a_receiver_that_dies_in_the_middle_is_a_warning(spark: SparkSession, tmp_path: Path) -> None:
    def die_later(asked: Asked, handler: http.server.BaseHTTPRequestHandler) -> None:
        if len(server.asked) == 1:
            answer(b"", 201)(asked, handler)
        else:
            handler.connection.close()

    with serving(die_later) as server:
        folder = workspace(tmp_path, spark, server)
        folder.project(to_table())
        first, second = folder.run(), folder.run("2026-02")
    assert [each.code for each in first.notices] == ["RUN_046"]
    assert (second.status, second.notices) == ("completed", ())
    assert len(server.asked) == 2


def test_a_build_is_the_parent_of_its_runs(spark: SparkSession, tmp_path: Path) -> None:
    with serving(answer(b"", 201)) as server:
        folder = workspace(tmp_path, spark, server)
        names = [column["name"] for column in COLUMNS]
        folder.dataset("lines", COLUMNS, {"datasource_id": "lake", "table": "lines"}, temporal_mode="period")
        folder.project(to_table("lines", columns=names), id_="first")
        folder.project(to_table("copy"), id_="second", input_="lines")
        folder.apply()
        folder.activate("first")
        folder.activate("second")
        assert built(folder, "2026-01", jobs=1).is_ok
        events = heard(server)
    assert steps(events) == [
        ("build", "START"),
        ("first", "START"),
        ("first", "COMPLETE"),
        ("second", "START"),
        ("second", "COMPLETE"),
        ("build", "COMPLETE"),
    ]
    parents = {event["run"]["facets"]["parent"]["run"]["runId"] for event in events[1:5]}
    assert parents == {events[0]["run"]["runId"]}
    # What one run wrote is what the next one read.
    made, read = events[2]["outputs"][0], events[4]["inputs"][0]
    assert (made["namespace"], made["name"]) == (read["namespace"], read["name"])
    assert made["facets"]["version"] == read["facets"]["version"]
