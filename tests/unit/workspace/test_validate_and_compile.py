"""Checking and compiling definitions, as a program asks for it."""

import datetime
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from daybook.demo.workspace_files import write_workspace
from daybook.errors import DaybookError
from daybook.workspace.compilation import compile_project
from daybook.workspace.open_workspace import open_workspace
from daybook.workspace.schemas import write_schemas
from daybook.workspace.validate import validate_definitions
from tests.workspaces import COLUMNS, Folder, no_session, to_table


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


def view(folder: Folder, id_: str, of: str, window: object = "previous", **more: str) -> None:
    folder.define("dataset", {"id": id_, "view": {"of": of, "window": window, **more}})


def append(dataset_id: str) -> dict[str, Any]:
    return {"type": "append", "arguments": {"source": {"dataset_id": dataset_id}}}


def unknown_dataset(folder: Folder) -> None:
    view(folder, "v", "ordres")
    folder.project(append("v"), to_table())


def ring(folder: Folder) -> None:
    view(folder, "v", "w")
    view(folder, "w", "v")
    folder.project(append("v"), to_table())


def snapshot_table(folder: Folder) -> None:
    folder.dataset("rates", COLUMNS, {"path": "data/orders.csv"}, temporal_mode="snapshot")
    view(folder, "v", "rates")
    folder.project(append("v"), to_table())


def offset_of_zero(folder: Folder) -> None:
    view(folder, "v", "orders", {"offset": 0})
    folder.project(append("v"), to_table())


def own_table(folder: Folder) -> None:
    folder.dataset("own", COLUMNS, {"datasource_id": "lake", "table": "result"}, temporal_mode="period")
    folder.project(append("own"), to_table())


def own_later_months(folder: Folder) -> None:
    folder.dataset("own", COLUMNS, {"datasource_id": "lake", "table": "result"}, temporal_mode="period")
    view(folder, "v", "own", {"offset": 1}, missing="empty")
    folder.project(append("v"), to_table())


def later_months_in_a_cycle(folder: Folder) -> None:
    folder.dataset("a", COLUMNS, {"datasource_id": "lake", "table": "a"}, temporal_mode="period")
    folder.dataset("b", COLUMNS, {"datasource_id": "lake", "table": "b"}, temporal_mode="period")
    view(folder, "v", "b", {"offset": 1}, missing="empty")
    folder.project(append("v"), to_table("a"), id_="p")
    folder.project(append("a"), to_table("b"), id_="q")


def own_registration(folder: Folder) -> None:
    view(folder, "v", "booked", missing="empty")
    folder.project(append("v"), to_table(register_as_dataset="booked"))


def view_of_a_view(folder: Folder) -> None:
    view(folder, "v", "orders")
    view(folder, "w", "v")
    folder.project(append("w"), to_table())


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (unknown_dataset, [("MODEL_061", "dataset-v.yaml", "of: ordres")]),
        (ring, [("MODEL_083", "dataset-v.yaml", "of: w"), ("MODEL_083", "dataset-w.yaml", "of: v")]),
        (snapshot_table, [("MODEL_084", "dataset-v.yaml", "of: rates")]),
        (offset_of_zero, [("MODEL_081", "dataset-v.yaml", "offset: 0")]),
        (own_table, [("PROJECT_009", "project-p.yaml", "datasource_id: lake")]),
        (own_later_months, [("PROJECT_009", "project-p.yaml", "datasource_id: lake")]),
        (later_months_in_a_cycle, [("PROJECT_044", "project-p.yaml", "dataset_id: orders")]),
        (own_registration, [("PROJECT_061", "project-p.yaml", "dataset_id: v")]),
        (view_of_a_view, []),
    ],
)
def test_what_a_view_cannot_be_is_said_once_with_its_place_and_a_way_out(
    tmp_path: Path, make: Callable[[Folder], None], expected: list[tuple[str, str, str]]
) -> None:
    folder = Folder.new(tmp_path / "w", no_session)
    make(folder)
    found = []
    for error in validate_definitions(workspace=folder.root).errors:
        assert error.span is not None
        assert error.hint or error.code == "MODEL_083"
        file = Path(error.span.file or "")
        found.append((error.code, file.name, file.read_text().splitlines()[error.span.line - 1].strip()))
    assert found == expected
