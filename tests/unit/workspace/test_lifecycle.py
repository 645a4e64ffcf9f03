"""Planning and applying definitions."""

from pathlib import Path

from daybook.workspace.lifecycle import apply_changes, plan_changes
from daybook.workspace.open_workspace import open_workspace
from daybook.workspace.validate import validate_definitions
from tests.workspaces import Folder, assign, no_session, to_table


def test_apply_finds_in_projects_what_validate_finds(tmp_path: Path) -> None:
    """A project may read what another one will register; a column that nobody has is found by both."""
    folder = Folder.new(tmp_path / "w", no_session)
    folder.project(to_table(columns=["order_id", "region"], register_as_dataset="booked"), id_="maker")
    folder.project(assign("x", "order_id"), to_table("copy"), id_="reader", input_="booked")
    folder.project(assign("x", "amount"), to_table("copy2"), id_="wrong", input_="booked")
    planned = plan_changes(open_workspace(folder.root))
    by_project = {effect.project_id: [error.code for error in effect.findings] for effect in planned.effects}
    assert by_project == {"maker": [], "reader": [], "wrong": ["UPDATE_006"]}
    assert [error.code for error in validate_definitions(workspace=folder.root).errors] == ["UPDATE_006"]
    applied = apply_changes(open_workspace(folder.root))
    assert [effect.project_id for effect in applied.effects if effect.findings] == ["wrong"]
    assert [error.code for error in validate_definitions(workspace=folder.root).errors] == ["UPDATE_006"]
