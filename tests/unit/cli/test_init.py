"""`daybook init` and the parts of `daybook demo` that need no Spark."""

from pathlib import Path

import pytest

from daybook.cli.app import main


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_init_lists_what_it_wrote_and_what_comes_next(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "sales"]) == 0
    captured = capsys.readouterr()
    written = captured.out.split()
    assert "sales/daybook.yaml" in written
    assert all((here / path).is_file() for path in written)
    assert "  cd sales\n" in captured.err
    for command in ("daybook validate", "daybook run monthly-sales --period 2026-01", "daybook test"):
        assert command in captured.err


def test_init_here_needs_no_change_of_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init"]) == 0
    captured = capsys.readouterr()
    assert "daybook.yaml" in captured.out.split()
    assert "cd " not in captured.err


def test_init_can_be_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quiet", "init", "sales"]) == 0
    assert capsys.readouterr().err == ""


def test_init_twice_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "sales"]) == 0
    capsys.readouterr()
    assert main(["init", "sales"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("[MODEL_067] Files in sales would be overwritten: ")


def test_init_over_this_folder_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init"]) == 0
    assert main(["init"]) == 2
    assert "Files in this folder would be overwritten: " in capsys.readouterr().err


def test_demo_makes_its_workspace(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--no-run"]) == 0
    assert "journal lines" in capsys.readouterr().err
    assert (here / "daybook-demo" / "data" / "ledger" / "2026-12.parquet").is_file()
    assert main(["--workspace", "daybook-demo", "validate"]) == 0


def test_demo_refuses_a_folder_with_other_things_in_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "notes.txt").write_text("mine", encoding="utf-8")
    assert main(["demo", ".", "--no-run"]) == 2
    assert "[MODEL_068]" in capsys.readouterr().err
    assert [path.name for path in here.iterdir()] == ["notes.txt"]
