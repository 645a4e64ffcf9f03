"""What the machine refuses is reported with its location, and is no error of Daybook."""

import sqlite3
from pathlib import Path

import pytest

from daybook.cli.app import main
from daybook.errors import DaybookError
from daybook.io.filesystem import list_files, translate_read_errors
from daybook.runs.environment import workspace_with_store_copy
from daybook.workspace import validate
from tests.unit.runs.prepared import new_folder


@pytest.fixture(autouse=True)
def in_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "daybook.yaml").write_text("name: w\n")
    (tmp_path / "datasets").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refuse(monkeypatch: pytest.MonkeyPatch, module: str, name: str) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "somewhere")

    monkeypatch.setattr(f"{module}.{name}", refused)


def test_a_folder_of_definitions(
    in_workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Root may read everything, so that the system's refusal is played."""
    stat = Path.stat

    def refused(path: Path, **options: bool) -> object:
        if path.parent.name == "datasets":
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", refused)
    assert main(["validate"]) == 0
    monkeypatch.undo()
    monkeypatch.chdir(in_workspace)
    refuse(monkeypatch, "os", "scandir")
    assert main(["validate"]) == 2
    assert "[MODEL_001] . cannot be read: Permission denied" in capsys.readouterr().err


def test_whatever_is_met_on_the_way(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    refuse(monkeypatch, validate.__name__, "validate_definitions")
    assert main(["validate"]) == 2
    assert capsys.readouterr().err.startswith("[IO_012] somewhere cannot be used: Permission denied\n  hint: ")


LONG = "x" * 5000


@pytest.mark.parametrize(
    "arguments",
    [
        ["validate", LONG],
        ["run", LONG, "--period", "2026-01"],
        ["compile", LONG],
        ["test", LONG],
        ["init", LONG],
        ["--workspace", "a/" * 3000, "validate"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_name_that_no_file_can_have(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("[IO_012] ")
    assert "File name too long" in shown
    assert len(shown) < 500


def test_a_current_folder_that_is_gone(
    in_workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = in_workspace / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for command in ("validate", "init"):
        assert main([command]) == 2
        assert capsys.readouterr().err.startswith("[MODEL_064] The current folder does not exist")
    monkeypatch.chdir(in_workspace)


def test_an_input(tmp_path: Path) -> None:
    file = str(tmp_path / "x.csv")
    with pytest.raises(DaybookError) as refused, translate_read_errors(file):
        raise PermissionError(13, "Failed to open local file 'x'. Detail: …")
    assert (refused.value.code, refused.value.parameters["reason"]) == ("IO_012", "Permission denied")
    assert list_files(file) == ()


def test_a_store_that_cannot_be_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = new_folder(tmp_path)
    with folder.around():
        pass

    def refused(*_: object) -> None:
        raise sqlite3.OperationalError("attempt to write a readonly database")

    monkeypatch.setattr(sqlite3, "connect", refused)
    with pytest.raises(DaybookError) as caught, workspace_with_store_copy(folder.load()):
        pass
    assert caught.value.code == "STORE_003"
