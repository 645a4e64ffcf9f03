"""A declared dataset without a location that a project registers lies where the output writes, before any run."""

from pathlib import Path
from typing import Any

import pytest

from daybook.workspace.validate import validate_definitions
from tests.workspaces import COLUMNS, Folder, no_session, to_table

BALANCES = {
    "type": "aggregate",
    "arguments": {
        "group_by": ["region"],
        "aggregations": [{"column": "amount", "expression": "SUM(amount)"}],
    },
}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A roll-forward: the opening balances are the closing balances of the month before."""
    folder = Folder.new(tmp_path / "w", no_session)
    folder.dataset("closing", COLUMNS[1:], None, temporal_mode="period")
    view = {"of": "closing", "window": "previous", "missing": "empty", "period": "run"}
    folder.define("dataset", {"id": "opening", "view": view})
    define_roll_forward(folder)
    return folder


def define_roll_forward(folder: Folder, **more: Any) -> None:
    folder.project(
        {"type": "append", "arguments": {"source": {"dataset_id": "opening"}}},
        BALANCES,
        {
            **to_table("closing", register_as_dataset="closing", columns=["region", "amount"]),
            "selector": "_operation_seq = 2",
        },
        id_="roll",
        **more,
    )


def codes(folder: Folder) -> list[str]:
    return [error.code for error in validate_definitions(workspace=folder.root).errors]


def states(folder: Folder) -> dict[str, tuple[str, tuple[str, ...]]]:
    with folder.around() as around, around.store.read() as transaction:
        return {state.project_id: (state.status, state.warnings) for state in transaction.projects.all()}


def test_it_is_valid_before_and_after_it_is_applied_and_activated(folder: Folder) -> None:
    assert codes(folder) == []
    folder.apply()
    assert codes(folder) == []
    folder.activate("roll")
    assert codes(folder) == []
    folder.apply()
    assert states(folder) == {"roll": ("active", ())}
    assert codes(folder) == []


def test_a_reader_sees_it_too(folder: Folder) -> None:
    folder.project(to_table("copy"), id_="reads", input_="closing")
    folder.apply()
    folder.activate("roll")
    folder.activate("reads")
    folder.apply()
    assert states(folder) == {"roll": ("active", ()), "reads": ("active", ())}
    assert codes(folder) == []


def test_without_a_declaration_the_only_way_out_is_to_declare_it(folder: Folder) -> None:
    (folder.root / "definitions/dataset-closing.yaml").unlink()
    (error,) = validate_definitions(workspace=folder.root).errors
    assert (error.code, error.hint) == ("PROJECT_061", "declare closing as a dataset with its columns")
