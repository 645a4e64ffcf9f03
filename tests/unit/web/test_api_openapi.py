"""The description of the API: complete, and true of every answer; a client that is made from it works."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.generated_client import GeneratedClient
from tests.page import RUN, client, page_folder, record_run


@pytest.fixture
def generated(tmp_path: Path) -> GeneratedClient:
    folder = page_folder(tmp_path)
    record_run(folder)
    return GeneratedClient(client(folder, allows_actions=True))


def test_every_answer_is_as_it_is_described(generated: GeneratedClient) -> None:
    asked: dict[str, dict[str, Any]] = {
        "status": {"period": "2026-01"},
        "graph": {"period": "2026-01"},
        "build_plan": {"period": "2026-01"},
        "runs": {"limit": 1},
        "run": {"run_id": RUN},
        "outputs": {"run_id": RUN},
        "definitions": {},
        "definition": {"kind": "project", "identifier": "p"},
        "definition_difference": {"kind": "project", "identifier": "p", "before": 1, "after": 1},
        "periods": {"year": 2026, "level": "month"},
        "period": {"identifier": "2026-01"},
        "error_code": {"code": "RUN_001"},
        "actions": {},
        "lineage": {"project": "p"},
    }
    assert {name: generated.call(name, **given)[0] for name, given in asked.items()} == dict.fromkeys(asked, 200)


def test_problems_are_described_too(generated: GeneratedClient) -> None:
    assert generated.call("run", run_id="nothing")[0] == 404
    status, problem = generated.call("begin_run", body={"project": "nothing", "period": "2026-01"})
    assert (status, problem["code"]) == (404, "RUN_001")


def test_actions_are_described(generated: GeneratedClient) -> None:
    status, done = generated.call("lock_period", body={"reason": "signed off"}, identifier="2026-01")
    assert (status, done) == (200, {"action": "lock", "subject": "2026-01", "run": None, "changed": True})
    _, listed = generated.call("actions", limit=1)
    assert [(each["done_by"], each["name"], each["subject"]) for each in listed] == [("controlling", "lock", "2026-01")]


def test_every_operation_says_what_it_does_and_what_it_answers(generated: GeneratedClient) -> None:
    for name, (_, path, operation) in generated.operations.items():
        assert operation["description"], name
        assert re.fullmatch(r"[a-z_]+", name)
        good = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
        assert good, name
        schemas = [content["schema"] for answer in good for content in answer["content"].values()]
        assert all(schemas), (name, path)
        assert "default" in operation["responses"] or path.endswith("/events")


def test_no_operation_takes_a_file_or_a_query_of_the_client(generated: GeneratedClient) -> None:
    names = {
        each["name"] for _, _, operation in generated.operations.values() for each in operation.get("parameters", ())
    }
    assert names.isdisjoint({"path", "file", "folder", "sql", "expression", "token", "url"})
