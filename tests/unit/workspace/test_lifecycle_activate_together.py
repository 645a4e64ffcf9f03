"""Several projects are activated together, against what they will register; nothing has to run first."""

import json
from pathlib import Path

import pytest

from daybook.cli.app import main
from daybook.errors import DaybookError
from daybook.graph.build_plan import BuildRequest
from daybook.workspace.close import build_close
from daybook.workspace.lifecycle import activate_projects, deactivate_project
from daybook.workspace.open_workspace import OpenedWorkspace, open_workspace
from tests.workspaces import Folder, assign, no_session, to_table


@pytest.fixture
def chain(tmp_path: Path) -> Folder:
    folder = Folder.new(tmp_path / "w", no_session)
    folder.project(assign("mark", "1"), to_table(register_as_dataset="booked"), id_="maker")
    folder.project(assign("twice", "mark * 2"), to_table("copy"), id_="reader", input_="booked")
    return folder


def opened(folder: Folder) -> OpenedWorkspace:
    return open_workspace(folder.root)


def states(folder: Folder) -> dict[str, str]:
    with folder.around() as around, around.store.read() as transaction:
        return {state.project_id: state.status for state in transaction.projects.all()}


def test_a_chain_is_activated_in_any_order(chain: Folder) -> None:
    done = activate_projects(opened(chain), ["reader", "maker"])
    assert [(each.project_id, each.is_new) for each in done] == [("reader", True), ("maker", True)]
    assert states(chain) == {"maker": "active", "reader": "active"}


def test_all_or_none_are_activated(chain: Folder) -> None:
    chain.project(assign("twice", "mrk * 2"), to_table("copy"), id_="reader", input_="booked")
    with pytest.raises(DaybookError) as refused:
        activate_projects(opened(chain))
    assert "mrk" in str(refused.value)
    assert states(chain) == {"maker": "draft", "reader": "draft"}


def test_all_leaves_out_what_was_deactivated(chain: Folder) -> None:
    activate_projects(opened(chain))
    deactivate_project(opened(chain), "reader")
    assert [each.project_id for each in activate_projects(opened(chain))] == ["maker"]
    assert states(chain) == {"maker": "active", "reader": "inactive"}


def test_the_command_takes_several_or_all(
    chain: Folder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(chain.root)
    assert main(["activate", "--all", "--json"]) == 0
    assert [each["project_id"] for each in json.loads(capsys.readouterr().out)] == ["maker", "reader"]
    assert main(["activate", "maker", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["project_id"] == "maker"
    assert main(["activate"]) == 2
    assert main(["activate", "maker", "--all"]) == 2
    assert main(["activate", "maker", "reader", "--dataset-version", "1"]) == 2


def test_a_build_of_drafts_needs_a_sandbox(chain: Folder) -> None:
    with pytest.raises(DaybookError) as refused:
        build_close(opened(chain), BuildRequest("2026-01", is_draft=True))
    assert refused.value.code == "RUN_070"
