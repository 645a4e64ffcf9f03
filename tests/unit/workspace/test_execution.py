"""What running gives: the runs that completed, and what ended a range early."""

import datetime
import json
from dataclasses import replace
from pathlib import Path

import pytest

from daybook.demo.workspace_files import write_workspace
from daybook.errors import DaybookError, Notice
from daybook.resolve.project_files import CheckedFiles
from daybook.runs.attempt.prepare import PreparedRun
from daybook.runs.attempt.run_request import RunRequest
from daybook.runs.environment import RunEnvironment
from daybook.runs.run_listener import RunListener
from daybook.runs.run_result import RunFailedError, RunResult
from daybook.workspace.execution import (
    RangeResult,
    check_requests,
    dry_run_project,
    parse_as_of,
    replay_run,
    retry_run,
    run_project,
)
from daybook.workspace.explain import explain_operation
from daybook.workspace.lifecycle import activate_project
from daybook.workspace.open_workspace import open_workspace
from daybook.workspace.result_json import as_json, json_text
from daybook.workspace.scenarios import new_scenario
from tests.unit.cli.test_run_results import OUTPUT, RESULT
from tests.workspaces import Folder, no_session, to_table

LOCKED = DaybookError("STORE_017", period="2026-02", status="locked", action="closed")


def test_completed_runs_stay_in_the_json_when_a_later_period_is_refused() -> None:
    data = json.loads(json_text(RangeResult((RESULT,), LOCKED).outcomes))
    assert [item.get("run_id") for item in data] == ["run-1", None]
    assert [error["code"] for error in data[1]["errors"]] == ["STORE_017"]


def test_a_run_that_failed_is_the_last_of_a_range() -> None:
    failed = RunFailedError("run-2", "failed", LOCKED, (OUTPUT,))
    result = RangeResult((RESULT,), failed)
    assert not result.is_ok
    data = as_json(result.outcomes)
    assert [(item["run_id"], item["status"]) for item in data] == [("run-1", "completed"), ("run-2", "failed")]
    assert [output["destination"] for output in data[1]["outputs"]] == ["warehouse.sales"]


@pytest.mark.parametrize("value", ["2026-04-05", datetime.date(2026, 4, 5)])
def test_an_as_of_date_may_be_a_text(value: str | datetime.date) -> None:
    assert parse_as_of(value) == datetime.date(2026, 4, 5)


@pytest.mark.parametrize("text", ["2026-4-5", "tomorrow", ""])
def test_a_text_that_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(DaybookError) as caught:
        parse_as_of(text)
    assert caught.value.code == "RUN_013"


def test_past_runs_need_no_valid_definitions(tmp_path: Path) -> None:
    (tmp_path / "daybook.yaml").write_text("name: close\n")
    (tmp_path / "broken.yaml").write_text("project: {id: p, operations: [\n")
    workspace = open_workspace(tmp_path)
    for use_case in (retry_run, replay_run, lambda opened, run_id: explain_operation(opened, run_id, "1")):
        with pytest.raises(DaybookError) as caught:
            use_case(workspace, "20260101-000000-000000")
        assert caught.value.code == "STORE_014"


def test_a_wrong_project_is_reported_before_a_store_is_created(tmp_path: Path) -> None:
    (tmp_path / "daybook.yaml").write_text("name: close\n")
    with pytest.raises(DaybookError) as caught:
        dry_run_project(open_workspace(tmp_path), RunRequest("nobody", "2026-01"))
    assert caught.value.code == "RUN_001"
    assert not (tmp_path / ".daybook").exists()


class Hearing(RunListener):
    def __init__(self) -> None:
        self.heard: list[str] = []

    def notice(self, notice: Notice) -> None:
        self.heard.append(notice.code)


@pytest.fixture
def warned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose last operation has no effect, and runs that end when they begin."""
    write_workspace("starter", tmp_path)
    project = tmp_path / "projects" / "monthly-sales.yaml"
    check = "    - {type: check, arguments: {condition: sales > 0}}\n"
    project.write_text(project.read_text(encoding="utf-8").rstrip() + f"\n\n{check}", encoding="utf-8")

    def begin(environment: RunEnvironment, prepared: PreparedRun) -> RunResult:
        for notice in prepared.notices:
            environment.listener.notice(notice)
        return replace(RESULT, notices=prepared.notices)

    monkeypatch.setattr("daybook.workspace.execution.execute_run", begin)
    return tmp_path


@pytest.mark.parametrize("is_active", [True, False])
def test_warnings_shown_at_activation_need_not_be_heard_again(warned: Path, is_active: bool) -> None:
    workspace = open_workspace(warned)
    if is_active:
        (known,) = {notice.code for notice in activate_project(workspace, "monthly-sales").notices}
    request = RunRequest("monthly-sales", "2026-01")
    everything, news = Hearing(), Hearing()
    loud = run_project(workspace, request, listener=everything)
    quiet = run_project(workspace, request, listener=news, repeat_plan_warnings=False)
    assert loud.completed[0].notices == quiet.completed[0].notices
    assert everything.heard
    assert news.heard == ([code for code in everything.heard if code != known] if is_active else everything.heard)


def test_a_scenario_of_a_project_needs_a_completed_run(tmp_path: Path) -> None:
    folder = Folder.new(tmp_path / "w", no_session)
    folder.project(to_table())
    with pytest.raises(DaybookError) as caught:
        new_scenario(open_workspace(folder.root), "p")
    assert (caught.value.code, caught.value.parameters["project"]) == ("RUN_052", "p")


def test_a_pattern_runs_what_others_read_first(tmp_path: Path) -> None:
    folder = Folder.new(tmp_path / "w", no_session)
    folder.project(to_table("copy"), id_="a-reader", input_="booked")
    folder.project(to_table(register_as_dataset="booked"), id_="a-writer")
    folder.project(to_table("third"), id_="other")
    files = CheckedFiles(open_workspace(folder.root).read_definitions())
    requests = check_requests(files, RunRequest("a-*", "2026-01"))
    assert [checked.definition.id for checked in requests] == ["a-writer", "a-reader"]
