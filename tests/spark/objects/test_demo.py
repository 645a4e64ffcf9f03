"""The demonstration's close with its data, warehouse, files, sandbox and state on an object store."""

import re
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

from daybook.compare.bridge import BridgeRequest
from daybook.compare.diff import DiffRequest
from daybook.demo.generated_data import write_data
from daybook.demo.workspace_files import write_workspace
from daybook.io.formats.delta.table import read_rows
from daybook.runs.attempt.run_request import RunRequest
from daybook.workspace.close import close_status
from daybook.workspace.execution import replay_run, run_project
from daybook.workspace.lifecycle import activate_project
from daybook.workspace.numbers import NumbersRequest, bridge_runs, diff_runs, read_numbers
from daybook.workspace.open_workspace import OpenedWorkspace, open_workspace
from tests.close_by_hand import close_by_hand
from tests.object_store import Bucket, hadoop_jars

PERIOD = "2026-01"
_RELATIVE = re.compile(r"((?:path|location): \"?)(data/|out/|warehouse\b)")


@pytest.fixture
def workspace(bucket: Bucket, tmp_path: Path, spark: SparkSession) -> OpenedWorkspace:
    if not hadoop_jars():
        pytest.skip("Hadoop's S3 client is not here")
    root = tmp_path / "demo"
    write_workspace("close", root)
    write_data(tmp_path / "data", 100)
    for file in sorted(path for path in (tmp_path / "data").rglob("*") if path.is_file()):
        bucket.put(f"data/{file.relative_to(tmp_path / 'data').as_posix()}", file.read_bytes())
    for file in sorted(root.rglob("*.yaml")):
        if "tests" not in file.parts:
            file.write_text(_RELATIVE.sub(rf"\1{bucket.uri}/\2", file.read_text()))
    settings = yaml.safe_load((root / "daybook.yaml").read_text())
    settings |= {"state": f"{bucket.uri}/state", "sandbox": f"{bucket.uri}/sandbox"}
    settings["storage"] = {bucket.uri: bucket.settings}
    (root / "daybook.yaml").write_text(yaml.safe_dump(settings))
    return open_workspace(root, session=lambda: spark)


@pytest.mark.slow
@pytest.mark.usefixtures("product_settings")
def test_the_close_is_that_of_the_hand_calculation(workspace: OpenedWorkspace, bucket: Bucket, tmp_path: Path) -> None:
    runs = {}
    for project in ("close", "management-summary", "balances"):
        activate_project(workspace, project)
        result = run_project(workspace, RunRequest(project, PERIOD))
        assert result.failure is None, result.failure
        runs[project] = result.completed[0].run_id
    expected = {key: (cell.actual, cell.budget) for key, cell in close_by_hand(tmp_path / "data", PERIOD).items()}
    table = read_rows(f"{bucket.uri}/warehouse/actual_vs_budget", run_period=PERIOD, storage=bucket.storage)
    written = {(row["account_type"], row["cost_centre"]): (row["actual"], row["budget"]) for row in table.to_pylist()}
    assert written == expected
    assert bucket.keys("out/") == [
        "out/.actual-vs-budget-2026-01.csv.daybook.json",
        "out/.management-summary-2026-01.xlsx.daybook.json",
        "out/actual-vs-budget-2026-01.csv",
        "out/management-summary-2026-01.xlsx",
    ]
    assert replay_run(workspace, runs["close"]).is_same
    assert {node.state for node in close_status(workspace, period=PERIOD).nodes} == {"fresh"}
    page = read_numbers(workspace, NumbersRequest(runs["close"], limit=1000, has_totals=True))
    assert len(page.rows) == len(expected)
    draft = run_project(workspace, RunRequest("close", PERIOD, is_draft=True)).completed[0].run_id
    assert diff_runs(workspace, DiffRequest(runs["close"], draft)).is_same
    bridge = bridge_runs(workspace, BridgeRequest(runs["close"], draft, "actual", "120"))
    assert bridge.before == bridge.after == sum((cell[0] for cell in expected.values()), Decimal(0))
