"""A dry run tells what is not there to be read, without Spark."""

from dataclasses import replace
from pathlib import Path

import pytest

from daybook.errors import DaybookError, flatten
from daybook.runs.attempt.prepare import PreparedRun
from daybook.runs.attempt.run_request import CheckedRequest, RunRequest
from daybook.runs.environment import RunEnvironment
from daybook.workspace.execution import dry_run_project
from daybook.workspace.open_workspace import open_workspace
from tests.prepared_runs import check_runs
from tests.unit.runs.prepared import new_folder
from tests.workspaces import COLUMNS, Folder, to_table

WISH = RunRequest("p", "2026-01")
APPEND = {"type": "append", "arguments": {"source": {"dataset_id": "more"}}}


def rehearsed(folder: Folder) -> list[str]:
    workspace = folder.load()
    with folder.around(workspace) as around:
        return [prepared.snapshot.period.identifier for prepared in check_runs(workspace, around, WISH)]


def test_what_is_there_can_run(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)
    folder.project(to_table())
    assert rehearsed(folder) == ["2026-01"]


@pytest.mark.parametrize("location", [{"path": "data/more.csv"}, {"path": "data/more", "format": "delta"}])
def test_everything_that_is_missing_is_named(tmp_path: Path, location: dict[str, str]) -> None:
    folder = new_folder(tmp_path)
    folder.dataset("more", COLUMNS, location)
    folder.project(APPEND, to_table())
    (folder.root / "data" / "orders.csv").unlink()
    with pytest.raises(DaybookError) as refused:
        rehearsed(folder)
    found = [
        (error.code, error.operation_seq, [cause.code for cause in error.causes]) for error in flatten(refused.value)
    ]
    assert found == [("IO_001", None, []), ("APPEND_008", 1, ["IO_001"])]


def test_missing_data_of_a_join_names_operation_alias_and_dataset(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)
    folder.dataset("rates", COLUMNS, {"path": "data/rates_{{MM}}.csv"})
    joins = [{"alias": "r", "dataset_id": "rates", "on": "orders.region = r.region"}]
    value = {"column": "rate", "expression": "r.amount"}
    folder.project({"type": "update", "arguments": {"joins": joins, "assignments": [value]}}, to_table())
    with pytest.raises(DaybookError) as refused:
        rehearsed(folder)
    assert (refused.value.code, refused.value.operation_seq) == ("UPDATE_025", 1)
    assert refused.value.message == "Operation 1 cannot load dataset rates of join r"
    (cause,) = refused.value.causes
    assert str(cause.parameters["location"]).endswith("data/rates_01.csv")


def test_it_is_done_under_the_name_of_who_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A draft reads what drafts of its user have written, so a dry run must know who that is."""
    folder = new_folder(tmp_path)
    folder.project(to_table())
    users: list[str | None] = []

    def noting(environment: RunEnvironment, checked: CheckedRequest) -> tuple[PreparedRun, ...]:
        users.append(environment.user)
        return ()

    monkeypatch.setattr("daybook.workspace.execution.check_runs", noting)
    dry_run_project(replace(open_workspace(folder.root), user="controller"), WISH)
    assert users == ["controller"]
