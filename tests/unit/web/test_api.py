"""The API answers exactly what the command line prints with `--json`."""

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from daybook.cli.app import main
from tests.page import RUN, client, page_folder, record_run
from tests.workspaces import Folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    made = page_folder(tmp_path)
    record_run(made)
    monkeypatch.chdir(made.root)
    return made


@pytest.fixture
def program(folder: Folder) -> TestClient:
    return client(folder)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("path", "command"),
    [
        ("status", ["status"]),
        ("status?period=2026-01..2026-02", ["status", "--period", "2026-01..2026-02"]),
        ("graph", ["graph"]),
        ("graph?period=2026-01", ["graph", "--period", "2026-01"]),
        ("build-plan?period=2026-01", ["build", "--period", "2026-01", "--dry-run"]),
        ("runs", ["runs"]),
        (f"runs/{RUN}", ["show", "run", RUN]),
        ("definitions/project/p", ["show", "project", "p"]),
        ("definitions/dataset/orders?version=1", ["show", "dataset", "orders", "--version", "1"]),
        ("periods?year=2026&level=quarter", ["periods", "--year", "2026", "--level", "quarter"]),
        ("periods/2026-01", ["periods", "history", "2026-01"]),
        ("errors/RUN_001", ["explain", "RUN_001"]),
        ("lineage?project=p&column=amount", ["lineage", "p", "amount"]),
        ("lineage?downstream=orders.amount", ["lineage", "--downstream", "orders.amount"]),
    ],
)
def test_it_answers_what_the_command_prints(
    program: TestClient, capsys: pytest.CaptureFixture[str], path: str, command: list[str]
) -> None:
    answer = program.get(f"/api/v1/{path}")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == printed(capsys, *command)


def test_a_run_that_has_ended_is_not_sent_twice(program: TestClient) -> None:
    first = program.get(f"/api/v1/runs/{RUN}")
    again = program.get(f"/api/v1/runs/{RUN}", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert first.headers["cache-control"] == "private, no-cache"


def test_runs_come_in_pages(folder: Folder, program: TestClient) -> None:
    record_run(folder, "20260302-093000-abcdef", period="2026-02")
    first = program.get("/api/v1/runs?limit=1").json()
    second = program.get("/api/v1/runs", params={"limit": 1, "after": first["next"]}).json()
    assert [len(first["runs"]), len(second["runs"]), second["next"]] == [1, 1, None]
    assert {first["runs"][0]["id"], second["runs"][0]["id"]} == {RUN, "20260302-093000-abcdef"}


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("runs/nothing", 404, "STORE_014"),
        ("definitions/project/nothing", 404, "STORE_007"),
        ("definitions/dataset/orders?version=7", 404, "STORE_008"),
        ("definitions/planet/orders", 400, "WEB_015"),
        ("runs?limit=0", 400, "WEB_015"),
        ("runs?after=~", 400, "STORE_030"),
        ("status?period=1999-13", 400, None),
        ("errors/NOTHING", 404, "RUN_029"),
        ("nothing", 404, "WEB_013"),
    ],
)
def test_errors_are_problems_with_our_codes(program: TestClient, path: str, status: int, code: str | None) -> None:
    answer = program.get(f"/api/v1/{path}")
    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, problem["status"]) == (status, status) if code else problem["status"] in (400, 404)
    assert code in (problem["code"], None)
    assert problem["type"] == f"/api/v1/errors/{problem['code']}"
    assert problem["errors"][0]["message"] == problem["title"]


def test_what_nobody_expected_shows_nothing_of_the_program(
    program: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("inner secret")

    monkeypatch.setattr("daybook.web.served.list_runs", fail)
    answer = program.get("/api/v1/runs")
    assert answer.status_code == 500
    assert answer.json()["code"] == "WEB_017"
    assert "inner secret" not in answer.text
    assert "Traceback" not in answer.text
    assert answer.json()["title"].rpartition(" ")[2] in caplog.text
