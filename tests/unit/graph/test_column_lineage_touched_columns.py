"""Which columns of other projects a change touches, as `plan` and `activate` say it."""

from pathlib import Path
from typing import Any

import pytest

from daybook.cli.app import main
from daybook.runs.lifecycle.touched_columns import TouchedColumns
from daybook.workspace.lifecycle import activate_project, plan_changes
from daybook.workspace.open_workspace import open_workspace
from tests.workspaces import COLUMNS, Folder, assign, no_session, to_table

Touched = list[tuple[str, int, tuple[str, ...], tuple[str, ...]]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """`maker` computes net and gross; `reader` sums up net, `copier` copies gross."""
    made = Folder.new(tmp_path / "w", no_session)
    maker(made)
    made.project(assign("twice", "net * 2"), to_table("twice", columns=["region", "twice"]), id_="r", input_="booked")
    made.project(to_table("copy", columns=["gross"]), id_="c", input_="booked")
    monkeypatch.chdir(made.root)
    for project in ("maker", "r", "c"):
        activate_project(open_workspace(made.root), project)
    return made


def maker(folder: Folder, net: str = "amount * 2", gross: str = "amount", **more: Any) -> None:
    folder.project(
        assign("net", net),
        assign("gross", gross),
        {**to_table(register_as_dataset="booked", columns=["region", "net", "gross"]), **more},
        id_="maker",
    )


def told(touched: tuple[TouchedColumns, ...]) -> Touched:
    return [(each.project_id, each.output_seq, each.columns, each.causes) for each in touched]


def planned(folder: Folder) -> Touched:
    return told(plan_changes(open_workspace(folder.root)).touched)


def test_nothing_is_touched_while_nothing_changes(folder: Folder) -> None:
    assert planned(folder) == []


def test_another_expression_touches_the_columns_that_come_from_its_column(folder: Folder) -> None:
    maker(folder, net="amount * 3")
    assert planned(folder) == [("r", 2, ("twice",), ("project maker",))]


def test_other_spaces_and_an_operation_more_touch_nothing(folder: Folder) -> None:
    folder.project(
        assign("unused", "1"),
        assign("net", "amount*2"),
        assign("gross", "amount"),
        to_table(register_as_dataset="booked", columns=["region", "net", "gross"]),
        id_="maker",
    )
    assert planned(folder) == []


def test_another_selector_of_the_output_touches_every_column_that_is_read(folder: Folder) -> None:
    maker(folder, selector="amount > 0")
    assert planned(folder) == [
        ("c", 1, ("gross",), ("project maker",)),
        ("r", 2, ("region", "twice"), ("project maker",)),
    ]


def test_another_type_of_a_dataset_touches_what_comes_from_it(folder: Folder) -> None:
    wider = [*COLUMNS[:2], {"name": "amount", "type": "decimal(20,2)"}]
    folder.dataset("orders", wider, {"path": "data/orders.csv"}, temporal_mode="period")
    assert planned(folder) == [
        ("c", 1, ("gross",), ("dataset orders",)),
        ("maker", 3, ("gross", "net"), ("dataset orders",)),
        ("r", 2, ("twice",), ("dataset orders",)),
    ]


def test_activating_says_which_columns_change_from_now_on(folder: Folder) -> None:
    maker(folder, gross="amount + 1")
    workspace = open_workspace(folder.root)
    assert told(activate_project(workspace, "maker").touched) == [("c", 1, ("gross",), ("project maker",))]
    assert activate_project(workspace, "maker").touched == ()


def test_the_commands_name_the_columns(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    maker(folder, net="amount * 3")
    assert main(["plan"]) == 0
    lines = capsys.readouterr().out.splitlines()
    place = lines.index("touches      project     r  output 2: twice")
    assert lines[place + 1] == "    because of project maker"
    assert main(["activate", "maker"]) == 0
    assert "touches      project     r  output 2: twice" in capsys.readouterr().out.splitlines()
