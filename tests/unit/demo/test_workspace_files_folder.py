"""Workspaces that come with Daybook: whole, valid, and never written over anything."""

from pathlib import Path
from typing import get_args

import pytest

from daybook.cli.app import main
from daybook.definitions.loading import load_workspace
from daybook.demo.workspace_files import Template, has_template_files, make_demo_workspace, write_workspace
from daybook.errors import DaybookError


@pytest.mark.parametrize("template", get_args(Template))
def test_a_workspace_has_nothing_wrong(template: Template, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_workspace(template, tmp_path / "made")
    assert main(["--workspace", str(tmp_path / "made"), "validate"]) == 0
    captured = capsys.readouterr()
    assert "nothing wrong" in captured.err
    assert "warning" not in captured.err


@pytest.mark.parametrize("template", get_args(Template))
def test_a_workspace_ignores_what_runs_write(template: Template, tmp_path: Path) -> None:
    write_workspace(template, tmp_path)
    ignored = (tmp_path / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {".daybook/", "out/"} <= set(ignored)


@pytest.mark.parametrize("name", ["sales", "sales 2026", "true", "#1", "a: b", "Zürich"])
def test_the_starter_is_named_after_its_folder(name: str, tmp_path: Path) -> None:
    write_workspace("starter", tmp_path / name)
    assert load_workspace(tmp_path / name).settings.name == name


def test_one_file_in_the_way_keeps_everything_away(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "orders.csv").write_text("mine", encoding="utf-8")
    with pytest.raises(DaybookError) as caught:
        write_workspace("starter", tmp_path)
    assert caught.value.code == "MODEL_067"
    assert "data/orders.csv" in caught.value.message
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["orders.csv"]
    assert (tmp_path / "data" / "orders.csv").read_text(encoding="utf-8") == "mine"


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine", encoding="utf-8")
    write_workspace("starter", tmp_path)
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "mine"
    assert has_template_files("starter", tmp_path)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(DaybookError) as caught:
        write_workspace("starter", tmp_path / "file")
    assert caught.value.code == "MODEL_066"


def test_the_demonstration_wants_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(DaybookError) as caught:
        make_demo_workspace(tmp_path)
    assert caught.value.code == "MODEL_068"
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_demonstration_is_used_again_with_what_was_changed(tmp_path: Path) -> None:
    first = make_demo_workspace(tmp_path / "demo")
    assert first.is_new
    assert first.write_data is not None
    first.write_data()
    project = tmp_path / "demo" / "projects" / "close.yaml"
    project.write_text("# changed\n" + project.read_text(encoding="utf-8"), encoding="utf-8")
    second = make_demo_workspace(tmp_path / "demo")
    assert not second.is_new
    assert second.write_data is None
    assert project.read_text(encoding="utf-8").startswith("# changed")


def test_data_that_was_not_finished_is_written_again(tmp_path: Path) -> None:
    make_demo_workspace(tmp_path / "demo")
    (tmp_path / "demo" / ".data-being-written" / "ledger").mkdir(parents=True)
    second = make_demo_workspace(tmp_path / "demo")
    assert not second.is_new
    assert second.write_data is not None
    assert second.write_data() > 0
    assert (tmp_path / "demo" / "data" / "budgets.csv").is_file()
    assert not (tmp_path / "demo" / ".data-being-written").exists()
