"""Every operation of the API on a small close: answers are as described, and the same as `--json` prints."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from pyspark.sql import SparkSession

from daybook.cli.app import main
from tests.generated_client import GeneratedClient
from tests.page import TOKEN, served
from tests.spark_session import GivenSession
from tests.workspaces import Folder, to_path, to_table

SECONDS = 180.0
PERIOD = "2026-01"
# Nothing else is computed for it.
LOCKED = "2025-12"


@dataclass(frozen=True)
class SmallClose:
    """`run` closed the month, `draft` closed it again with other amounts; `summary` reads what the first wrote."""

    folder: Folder
    run: str
    draft: str
    summary: str


def total(column: str, expression: str) -> dict[str, Any]:
    arguments = {"group_by": ["region"], "aggregations": [{"column": column, "expression": expression}]}
    return {"type": "aggregate", "arguments": arguments}


@pytest.fixture
def close(tmp_path: Path, spark: SparkSession) -> SmallClose:
    folder = Folder.new(tmp_path / "w", lambda: spark, sandbox="sandbox")
    amounts = {"Travel": "-3.00", "Rent": "-2.00", "Energy": "-1.00", "Wages": "-9.50", "Revenue": "20.00"}
    rows = [
        {"order_id": f"O-{region}", "region": region, "amount": amount, "_period": PERIOD}
        for region, amount in amounts.items()
    ]
    folder.write_csv("data/orders.csv", rows)
    totals = {"selector": "_operation_seq = 1"}
    outputs = (
        {**to_table("actual", register_as_dataset="actual-vs-budget", columns=["region", "actual"]), **totals},
        {**to_path("out/{{identifier}}.csv", columns=["region", "actual"]), **totals},
    )

    def define(expression: str) -> None:
        folder.project(total("actual", expression), *outputs, id_="close", measures=["amount"])

    def run(project: str) -> str:
        folder.apply()
        folder.activate(project)
        return folder.run(PERIOD, project).run_id

    define("SUM(amount)")
    closed = run("close")
    written = {**to_table("summary"), **totals}
    folder.project(total("sum", "SUM(actual)"), written, id_="management-summary", input_="actual-vs-budget")
    summary = run("management-summary")
    define("SUM(amount * 2)")
    draft = folder.run(PERIOD, "close", is_draft=True).run_id
    define("SUM(amount)")
    return SmallClose(folder, closed, draft, summary)


@pytest.fixture
def generated(close: SmallClose) -> Iterator[GeneratedClient]:
    with served(close.folder, allows_actions=True) as address:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with httpx.Client(base_url=address, headers=headers, timeout=SECONDS) as http:
            yield GeneratedClient(http)


@pytest.fixture
def printed(
    close: SmallClose, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Any]:
    """What a command prints with `--json`; it shares the session of the tests."""

    @contextmanager
    def shared(*_: object, **__: object) -> Iterator[GivenSession]:
        yield GivenSession(spark)

    monkeypatch.setattr("daybook.workspace.spark_session.background_session", shared)

    def run(*arguments: str) -> Any:
        capsys.readouterr()
        code = main(["-w", str(close.folder.root), *arguments, "--json"])
        shown = capsys.readouterr()
        assert code == 0, shown.err
        return json.loads(shown.out)

    return run


STORED: list[tuple[str, dict[str, Any], list[str]]] = [
    ("status", {}, ["status"]),
    ("status", {"period": PERIOD}, ["status", "--period", PERIOD]),
    ("graph", {"period": PERIOD}, ["graph", "--period", PERIOD]),
    ("graph", {}, ["graph"]),
    ("build_plan", {"period": PERIOD, "full": True}, ["build", "--period", PERIOD, "--full", "--dry-run"]),
    ("runs", {"limit": 2}, ["runs", "--limit", "2"]),
    ("periods", {"year": 2026, "level": "month"}, ["periods", "--year", "2026", "--level", "month"]),
    ("lineage", {"project": "close", "all": True}, ["lineage", "close", "--all"]),
    ("log", {"limit": 3}, ["log", "--limit", "3"]),
    ("log_verification", {}, ["log", "--verify"]),
    ("requests", {"all": True}, ["requests", "--all"]),
    ("people", {}, ["people"]),
    ("policy", {}, ["policy"]),
    ("error_code", {"code": "RUN_001"}, ["explain", "RUN_001"]),
    ("definition", {"kind": "project", "identifier": "close"}, ["show", "project", "close"]),
    ("definition", {"kind": "dataset", "identifier": "actual-vs-budget"}, ["show", "dataset", "actual-vs-budget"]),
]


def _check_the_store(generated: GeneratedClient, close: SmallClose, printed: Callable[..., Any]) -> None:
    of_run = [
        ("run", {"run_id": close.run}, ["show", "run", close.run]),
        ("totals", {"run_id": close.run}, ["totals", close.run]),
    ]
    for name, given, arguments in [*STORED, *of_run]:
        assert generated.call(name, **given) == (200, printed(*arguments)), name


def _check_other_answers(generated: GeneratedClient, close: SmallClose) -> None:
    names = {each["id"] for each in generated.call("definitions")[1]}
    assert names >= {"orders", "lake", "close", "management-summary", "actual-vs-budget"}
    versions = {"kind": "project", "identifier": "close", "before": 1, "after": 1}
    assert generated.call("definition_difference", **versions)[1]["lines"] == []
    assert generated.call("period", identifier=PERIOD)[1]["status"] == "open"
    assert generated.call("seals", period=PERIOD)[1] == []
    assert generated.call("certificate", digest="0" * 64)[0] == 404
    # Approvals are for workspaces with a policy: `tests/unit/web/test_approvals.py`.
    assert generated.call("request_details", number=1)[0] == 404
    _, outputs = generated.call("outputs", run_id=close.run)
    assert [output["operation_seq"] for output in outputs] == [2, 3]
    asked = {"run_id": close.run, "seq": 2, "where": ['["actual", "<", 0]'], "sort": ["-actual"], "limit": 3}
    _, page = generated.call("output_rows", **asked)
    assert len(page["rows"]) == 3
    assert page["count"] < outputs[0]["rows_written"]
    _, text = generated.call("output_csv", run_id=close.run, seq=2)
    assert len(text.splitlines()) == outputs[0]["rows_written"] + 1


def _check_streams(generated: GeneratedClient, close: SmallClose) -> None:
    name, runs = generated.first_event("run_list_events")
    assert name == "runs"
    generated.check(runs, generated.schema_of("runs"))
    name, run = generated.first_event("run_events", run_id=close.run)
    assert (name, run) == ("run", generated.call("run", run_id=close.run)[1])
    assert generated.call("question_events", question_id="none")[0] == 404


def _check_questions(generated: GeneratedClient, close: SmallClose, printed: Callable[..., Any]) -> None:
    _, diff = generated.call("diff", a=close.run, b=close.draft, limit=3)
    assert diff == printed("diff", close.run, close.draft, "--limit", "3")
    assert diff["rows"]["changed"] > 3
    assert len(diff["changes"]) == 3
    _, bridge = generated.call("bridge", a=close.run, b=close.draft, measure="actual", output="2", by=["region"])
    wanted = ("--measure", "actual", "--output", "2", "--by", "region")
    assert bridge == printed("bridge", close.run, close.draft, *wanted)
    assert bridge["causes"]
    assert bridge["by"]
    definition = close.folder.root / "definitions" / "project-close.yaml"
    written = definition.read_text()
    definition.write_text(written.replace("SUM(amount)", "SUM(amount * 2)"))
    _, impact = generated.call("impact", period=PERIOD)
    assert impact == printed("impact", "--period", PERIOD)
    definition.write_text(written)
    # Expenses of 15.50 and revenue of 20.00, in the table, the file and the summary of the table.
    totals = [(output["project"], output["before"], output["after"]) for output in impact["outputs"]]
    moved = [total for total in totals if total[1] != total[2]]
    assert moved == [(project, "4.50", "9.00") for project in ("close", "close", "management-summary")]
    key = "region=Travel"
    _, explained = generated.call("explain", run_id=close.summary, operation="1", key=[key], limit=5, depth=2)
    assert explained == printed("explain", close.summary, "1", key, "--limit", "5", "--depth", "2")
    assert [level["depth"] for level in explained["levels"]]
    assert all(sum_["is_equal"] for sum_ in explained["sums"])


def _check_actions(generated: GeneratedClient) -> None:
    assert generated.call("activate_project", project_id="close")[1]["changed"] is False
    status, begun = generated.call("begin_run", body={"project": "management-summary", "period": PERIOD})
    assert status == 202
    assert _ended(generated, begun["run"])["status"] == "completed"
    assert generated.call("cancel_run", run_id=begun["run"])[0] == 409
    assert generated.call("retry_run", run_id=begun["run"])[0] == 409
    assert generated.call("begin_build", body={"period": PERIOD, "projects": ["close"]})[0] == 202
    for change in ("close", "lock"):
        done = generated.call(f"{change}_period", body={"reason": "signed off"}, identifier=LOCKED)
        assert done == (200, {"action": change, "subject": LOCKED, "run": None, "changed": True})
    for decision in ("approve", "reject", "withdraw"):
        assert generated.call(decision, body={"reason": "compared"}, number=1)[0] >= 400
    names = [each["name"] for each in generated.call("actions")[1]]
    assert names == ["lock", "close", "build", "retry", "cancel", "run", "activate"]


def _ended(generated: GeneratedClient, run_id: str) -> dict[str, Any]:
    until = time.monotonic() + SECONDS
    while (run := generated.call("run", run_id=run_id)[1])["status"] in ("queued", "running"):
        assert time.monotonic() < until
        time.sleep(0.2)
    found: dict[str, Any] = run
    return found


def test_every_operation_answers_as_described_and_as_the_command_prints(
    generated: GeneratedClient, close: SmallClose, printed: Callable[..., Any]
) -> None:
    """One test, since the last line looks for operations that were not called."""
    _check_the_store(generated, close, printed)
    _check_other_answers(generated, close)
    _check_streams(generated, close)
    _check_questions(generated, close, printed)
    _check_actions(generated)
    assert set(generated.operations) - generated.called == set()
