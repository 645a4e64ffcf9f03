"""Files with errors: they concern only what needs them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from daybook.errors import DaybookError, Notice, flatten
from daybook.runs.attempt.run_request import RunRequest
from daybook.workspace.compilation import compile_project
from daybook.workspace.execution import dry_run_project, replay_run, retry_run
from daybook.workspace.explain import explain_operation
from daybook.workspace.lifecycle import activate_project, apply_changes, deactivate_project, plan_changes
from daybook.workspace.maintenance import apply_retention, examine
from daybook.workspace.open_workspace import OpenedWorkspace, open_workspace
from daybook.workspace.runs import cancel_run, list_runs, show_run
from daybook.workspace.stored_definitions import show_definition
from daybook.workspace.validate import validate_definitions
from tests.workspaces import COLUMNS, Folder, no_session, to_path, to_table

UNKNOWN_KEY = "project: {id: other, input: {dataset_id: orders}, operatoins: []}\n"
NO_YAML = "project: {id: other, operations: [\n"
BAD_TEMPLATE = (
    "project: {id: other, input: {dataset_id: orders}, operations: "
    "[{type: output, arguments: {destination: {location: 'out/{{YEAR}}.csv'}}}]}\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A project p over orders."""
    made = Folder.new(tmp_path / "w", no_session)
    made.project(to_table())
    return made


def write(folder: Folder, text: str, name: str = "other.yaml") -> str:
    path = folder.root / name
    path.write_text(text)
    return path.as_posix()


def rehearse(workspace: OpenedWorkspace, project: str) -> tuple[Notice, ...]:
    (prepared,) = dry_run_project(workspace, RunRequest(project, "2026-01"))
    return prepared.notices


def activate(workspace: OpenedWorkspace, project: str) -> tuple[Notice, ...]:
    return activate_project(workspace, project).notices


def compile_(workspace: OpenedWorkspace, project: str) -> tuple[Notice, ...]:
    return compile_project(workspace, project).notices


UseCase = Callable[[OpenedWorkspace, str], tuple[Notice, ...]]
of_one_project = pytest.mark.parametrize("use_case", [rehearse, activate, compile_])


def codes(use_case: UseCase, folder: Folder, project: str = "p") -> set[str]:
    with pytest.raises(DaybookError) as caught:
        use_case(open_workspace(folder.root), project)
    return {error.code for error in flatten(caught.value)}


@of_one_project
@pytest.mark.parametrize("text", [UNKNOWN_KEY, NO_YAML, BAD_TEMPLATE])
def test_errors_in_another_project_are_a_warning(folder: Folder, use_case: UseCase, text: str) -> None:
    file = write(folder, text)
    notices = use_case(open_workspace(folder.root), "p")
    (found,) = (notice for notice in notices if notice.code == "MODEL_087")
    assert file in found.message


@of_one_project
def test_without_errors_there_is_no_warning(folder: Folder, use_case: UseCase) -> None:
    assert "MODEL_087" not in {notice.code for notice in use_case(open_workspace(folder.root), "p")}


@of_one_project
def test_errors_in_a_dataset_that_is_read_are_errors(folder: Folder, use_case: UseCase) -> None:
    text = (folder.root / "definitions/dataset-orders.yaml").read_text()
    (folder.root / "definitions/dataset-orders.yaml").write_text(text.replace("main_table:", "main_tabel:"))
    assert "MODEL_020" in codes(use_case, folder)


@of_one_project
def test_a_stored_dataset_does_not_stand_in_for_a_file_with_errors(folder: Folder, use_case: UseCase) -> None:
    activate(open_workspace(folder.root), "p")
    file = folder.root / "definitions/dataset-orders.yaml"
    file.write_text(file.read_text().replace("main_table:", "main_tabel:"))
    assert "MODEL_020" in codes(use_case, folder)


@of_one_project
def test_errors_in_the_project_itself_are_errors(folder: Folder, use_case: UseCase) -> None:
    write(folder, UNKNOWN_KEY)
    assert codes(use_case, folder, "other") >= {"MODEL_020"}
    assert codes(use_case, folder, str(folder.root / "other.yaml")) >= {"MODEL_020"}


@of_one_project
def test_a_bad_template_of_the_project_itself_is_an_error(folder: Folder, use_case: UseCase) -> None:
    folder.project(to_path("out/{{YEAR}}.csv"))
    assert codes(use_case, folder) == {"RESOLVE_030"}


@of_one_project
def test_two_definitions_of_a_dataset_that_is_read_are_an_error(folder: Folder, use_case: UseCase) -> None:
    write(folder, (folder.root / "definitions/dataset-orders.yaml").read_text())
    assert codes(use_case, folder) == {"MODEL_060"}


@of_one_project
def test_two_definitions_of_something_else_are_a_warning(folder: Folder, use_case: UseCase) -> None:
    folder.dataset("budget", COLUMNS, {"path": "data/budget.csv"})
    write(folder, (folder.root / "definitions/dataset-budget.yaml").read_text())
    assert "MODEL_087" in {notice.code for notice in use_case(open_workspace(folder.root), "p")}


@of_one_project
def test_a_default_resolver_with_errors_concerns_every_project(folder: Folder, use_case: UseCase) -> None:
    write(folder, "resolver: {id: daily, is_default: true, rulse: []}\n")
    assert "MODEL_020" in codes(use_case, folder)


@of_one_project
def test_a_project_whose_registration_is_read_may_have_errors(folder: Folder, use_case: UseCase) -> None:
    """What it registered is in the store, and is right."""
    folder.dataset("totals", COLUMNS, {"path": "data/orders.csv"})
    apply_changes(open_workspace(folder.root))
    (folder.root / "definitions/dataset-totals.yaml").unlink()
    folder.project(to_table(), input_="totals")
    write(folder, "project: {id: maker, operations: [{type: output, arguments: {register_as_dataset: totals}\n")
    assert "MODEL_087" in {notice.code for notice in use_case(open_workspace(folder.root), "p")}


def test_what_concerns_all_definitions_reports_all_errors(folder: Folder) -> None:
    write(folder, UNKNOWN_KEY)
    write(folder, BAD_TEMPLATE, "more.yaml")
    workspace = open_workspace(folder.root)
    for use_case in (apply_changes, plan_changes):
        with pytest.raises(DaybookError) as caught:
            use_case(workspace)
        assert {error.code for error in flatten(caught.value)} >= {"MODEL_020", "RESOLVE_030"}
    assert {error.code for error in validate_definitions(workspace=folder.root).errors} >= {"MODEL_020", "RESOLVE_030"}


def explain_first(workspace: OpenedWorkspace, run_id: str) -> object:
    return explain_operation(workspace, run_id, "1")


def test_commands_about_what_is_stored_read_no_definitions(folder: Folder) -> None:
    activate(open_workspace(folder.root), "p")
    write(folder, NO_YAML)
    workspace = open_workspace(folder.root)
    assert list_runs(workspace).runs == ()
    assert show_definition(workspace, "project", "p").status == "active"
    assert deactivate_project(workspace, "p").is_changed
    assert apply_retention(workspace).runs == ()
    for use_case in (show_run, cancel_run, retry_run, replay_run, explain_first):
        with pytest.raises(DaybookError) as caught:
            use_case(workspace, "20260101-000000-000000")
        assert caught.value.code == "STORE_014"


def test_doctor_goes_on_beside_files_with_errors(folder: Folder) -> None:
    write(folder, NO_YAML)
    found = {finding.subject: finding.state for finding in examine(open_workspace(folder.root)).findings}
    assert (found["Definitions"], found["Store"], found["Left behind"]) == ("problem", "ok", "ok")


def test_a_project_is_deactivated_by_its_file_beside_files_with_errors(folder: Folder) -> None:
    activate(open_workspace(folder.root), "p")
    write(folder, NO_YAML)
    file = folder.root / "definitions/project-p.yaml"
    assert deactivate_project(open_workspace(folder.root), str(file)).is_changed


def test_an_output_over_a_file_with_errors_is_refused(folder: Folder) -> None:
    write(folder, '{"project": {"id": "other", "operatoins": []}}', "definitions/other.json")
    (folder.root / "link").symlink_to(folder.root / "definitions")
    folder.project(to_path("link/other.json"))
    assert codes(rehearse, folder) == {"IO_034"}
