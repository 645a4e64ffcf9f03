"""A run that is begun on the page: under the name of its token, and explained by the API as by the command."""

import time
from pathlib import Path

from pyspark.sql import SparkSession
from starlette.testclient import TestClient

from daybook.web.server import create_app
from daybook.workspace.explain import explain_number
from daybook.workspace.open_workspace import open_workspace
from daybook.workspace.result_json import as_json
from tests.page import TOKEN, page_folder, site

_SECONDS = 120


def test_a_run_is_begun_recorded_and_explained(tmp_path: Path, spark: SparkSession) -> None:
    workspace = open_workspace(page_folder(tmp_path).root, session=lambda: spark)
    program = TestClient(create_app(workspace, site(allows_actions=True)), headers={"Authorization": f"Bearer {TOKEN}"})
    begun = program.post("/api/v1/runs", json={"project": "p", "period": "2026-01"})
    assert begun.status_code == 202, begun.text
    run_id = begun.json()["run"]
    until = time.monotonic() + _SECONDS
    while (run := program.get(f"/api/v1/runs/{run_id}").json())["status"] in ("queued", "running"):
        assert time.monotonic() < until
        time.sleep(0.2)
    assert (run["status"], run["user"]) == ("completed", "controlling")
    (action,) = program.get("/api/v1/actions").json()
    assert (action["done_by"], action["name"], action["details"]["run"]) == ("controlling", "run", run_id)
    (output,) = program.get(f"/api/v1/runs/{run_id}/outputs").json()
    assert output["rows_written"] == 2
    answer = program.get(f"/api/v1/runs/{run_id}/explain/1", params={"key": "order_id=O-3"})
    assert answer.json() == as_json(explain_number(workspace, run_id, "1", {"order_id": "O-3"}))
    assert answer.json()["rows"]["count"] == 1
