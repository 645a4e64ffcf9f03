"""Projects that register one name: refused where they are validated and activated."""

import datetime
from pathlib import Path

import pytest

from daybook.errors import DaybookError, flatten
from daybook.runs.lifecycle.activation import deactivate
from daybook.workspace.validate import ValidationResult, validate_definitions
from tests.workspaces import Folder, no_session, to_table

NOW = datetime.datetime(2026, 2, 2, tzinfo=datetime.UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """The project `first` is active, `second` is a draft; both register `sums`."""
    folder = Folder.new(tmp_path / "w", no_session)
    folder.project(to_table("first", register_as_dataset="sums"), id_="first")
    folder.apply()
    folder.activate("first")
    folder.project(to_table("second", register_as_dataset="sums"), id_="second")
    folder.apply()
    return folder


def validated(folder: Folder) -> ValidationResult:
    return validate_definitions(workspace=folder.root)


def set_active(folder: Folder, project: str) -> None:
    with folder.around() as around, around.store.write() as transaction:
        transaction.projects.set_state(project, "active", active_version=1, now=NOW)


def test_validation_names_both_in_both_files(folder: Folder) -> None:
    errors = validated(folder).errors
    assert [(error.code, error.parameters["project"], error.parameters["others"]) for error in errors] == [
        ("PROJECT_062", "first", "second"),
        ("PROJECT_062", "second", "first"),
    ]
    assert all(error.span is not None and error.span.file is not None for error in errors)


def test_without_a_store_all_files_count(tmp_path: Path) -> None:
    folder = Folder.new(tmp_path / "w", no_session)
    for name in ("one", "two"):
        folder.project(to_table(name, register_as_dataset="sums"), id_=name)
    assert [error.code for error in validated(folder).errors] == ["PROJECT_062", "PROJECT_062"]


@pytest.mark.parametrize("project", ["first", "second"])
def test_neither_is_activated(folder: Folder, project: str) -> None:
    with pytest.raises(DaybookError) as refused:
        folder.activate(project)
    assert [error.code for error in flatten(refused.value)] == ["PROJECT_062"]


def test_an_inactive_project_does_not_count(folder: Folder) -> None:
    with folder.around() as around:
        deactivate(around.store, "first", now=NOW)
    assert validated(folder).errors == ()
    folder.activate("second")
    with pytest.raises(DaybookError):
        folder.activate("first")


def test_two_that_are_active_already_warn_until_one_is_activated_again(folder: Folder) -> None:
    set_active(folder, "second")
    result = validated(folder)
    assert result.errors == ()
    assert [notice.code for notice in result.notices] == ["PROJECT_062", "PROJECT_062"]
    with pytest.raises(DaybookError):
        folder.activate("first")
