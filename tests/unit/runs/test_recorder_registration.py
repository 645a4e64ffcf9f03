"""What a registration says and does not say when a run records its outputs."""

from pathlib import Path
from typing import Any

import pytest

from daybook.errors import Notice
from daybook.graph.build import build
from daybook.graph.build_listener import BuildListener
from daybook.graph.build_plan import BuildRequest
from daybook.resolve.project_files import CheckedFiles
from daybook.runs.attempt.recorder import RunRecorder
from daybook.runs.attempt.run_request import RunRequest
from daybook.workspace.lifecycle import activate_projects
from daybook.workspace.open_workspace import open_workspace
from tests.prepared_runs import prepare_runs
from tests.recorded_runs import record_run
from tests.workspaces import Folder, assign, no_session, to_table


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder.new(tmp_path / "w", no_session)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[Notice]:
    """The warnings of all outputs that are recorded."""
    notices: list[Notice] = []
    record = RunRecorder.record

    def keep(recorder: RunRecorder, *arguments: Any, **options: Any) -> Any:
        output, said = record(recorder, *arguments, **options)
        notices.extend(said)
        return output, said

    monkeypatch.setattr(RunRecorder, "record", keep)
    return notices


@pytest.mark.parametrize("failure", [ValueError("no such thing"), OSError(28, "No space left on device")])
def test_a_registration_that_fails_in_any_way_is_a_warning(
    folder: Folder, recorded: list[Notice], monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise failure

    monkeypatch.setattr("daybook.runs.attempt.recorder.register_output", fail)
    folder.project(to_table(register_as_dataset="booked"))
    workspace = folder.load()
    with folder.around(workspace) as around:
        (prepared,) = prepare_runs(workspace, around, RunRequest("p", "2026-01"))
        record_run(around, prepared)
    assert [(each.code, str(failure) in each.message) for each in recorded] == [("RUN_007", True)]
    assert folder.last_run().status == "completed"


def test_the_first_build_of_a_chain_warns_of_no_conflict(
    folder: Folder, recorded: list[Notice], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last project reads what two others register, of which one has not run when the other one has."""
    monkeypatch.setattr("daybook.graph.build.execute_run", record_run)
    columns = ["order_id", "region", "amount"]
    for name in ("first", "second"):
        folder.project(assign("amount", "0"), to_table(name, columns=columns, register_as_dataset=name), id_=name)
    append = {"type": "append", "arguments": {"source": {"dataset_id": "second"}}}
    folder.project(append, to_table("both"), id_="reader", input_="first")
    activate_projects(open_workspace(folder.root))
    workspace = folder.load()
    with folder.around(workspace) as around:
        result = build(CheckedFiles(workspace), around, BuildRequest("2026-01", jobs=1), BuildListener())
    assert {each.node.name: each.result for each in result.nodes} == {
        "first@2026-01": "ran",
        "second@2026-01": "ran",
        "reader@2026-01": "ran",
    }
    assert [each.code for each in recorded if each.code == "RUN_020"] == []
