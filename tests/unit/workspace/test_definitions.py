"""Checking and compiling definitions, as a program asks for it."""

import datetime
from dataclasses import replace
from pathlib import Path

import pytest

from daybook.demo.data_files import write_workspace
from daybook.errors import DaybookError
from daybook.workspace.definitions import compile_project, validate_definitions, write_schemas
from daybook.workspace.open_workspace import open_workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_workspace("starter", tmp_path)
    return tmp_path


def test_a_valid_workspace(root: Path) -> None:
    found = validate_definitions(workspace=root)
    assert (found.is_ok, found.errors, found.definition_count) == (True, (), 2)


def test_only_what_is_below_a_path_is_reported(root: Path) -> None:
    (root / "broken.yaml").write_text("dataset: {id: x, main_tabel: 1}\n")
    assert {error.code for error in validate_definitions(workspace=root).errors} == {"MODEL_020"}
    below = validate_definitions(root / "projects", workspace=root)
    assert (below.errors, below.definition_count) == ((), 1)


def test_a_file_outside_of_any_workspace_is_checked_by_itself(tmp_path: Path) -> None:
    file = tmp_path / "orders.yaml"
    file.write_text("dataset: {id: x, main_tabel: 1}\n")
    found = validate_definitions(file)
    assert "MODEL_020" in {error.code for error in found.errors}


def test_a_project_is_compiled_for_the_month_of_the_clock(root: Path) -> None:
    moment = datetime.datetime(2026, 3, 5, tzinfo=datetime.UTC)
    workspace = replace(open_workspace(root), clock=lambda: moment)
    compiled = compile_project(workspace, "monthly-sales")
    assert compiled.period.identifier == "2026-03"
    assert [step.seq for step in compiled.plan.steps] == [1, 2, 3, 4]
    assert "SUM" in compiled.text.upper()
    assert compile_project(workspace, "monthly-sales", period="2026-01").period.identifier == "2026-01"


def test_schemas_that_cannot_be_written_are_a_coded_error(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(DaybookError) as caught:
        write_schemas(tmp_path / "taken" / "schemas")
    assert caught.value.code == "MODEL_066"
