"""`daybook validate` and `daybook schema`."""

import json
from pathlib import Path

import pytest

from daybook.cli.app import main

LAKE = "datasource: {id: lake, type: delta, options: {path: lake}}\n"
WRONG = "datasource: {id: wrong, type: delta, optins: {path: lake}}\n"
LOST = "dataset: {id: lost, resolver_id: nobody, main_table: {name: t, columns: [{name: a, type: string}]}}\n"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "daybook.yaml").write_text("name: test\n")
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "lake.yaml").write_text(LAKE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_nothing_wrong(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate"]) == 0
    assert capsys.readouterr().err == "1 definition, nothing wrong\n"
    assert main(["--quiet", "validate"]) == 0
    assert capsys.readouterr().err == ""


def test_every_finding_is_shown_with_its_place(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "sources" / "wrong.yaml").write_text(WRONG)
    (root / "lost.yaml").write_text(LOST)
    assert main(["validate"]) == 2
    shown = capsys.readouterr().err
    assert "[MODEL_020] Unknown key 'optins'" in shown
    assert "  at sources/wrong.yaml:1:38" in shown
    assert "[MODEL_061] Unknown resolver nobody" in shown
    assert "  at lost.yaml:1:34" in shown
    assert shown.endswith("2 definitions, 2 errors\n")


def test_findings_as_json(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "lost.yaml").write_text(LOST)
    assert main(["validate", "--json"]) == 2
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert captured.err == ""
    assert answer["ok"] is False
    (error,) = answer["errors"]
    assert (error["code"], error["file"], error["line"], error["column"]) == ("MODEL_061", "lost.yaml", 1, 34)


def test_a_path_narrows_what_is_reported(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "sources" / "wrong.yaml").write_text(WRONG)
    (root / "lost.yaml").write_text(LOST)
    assert main(["validate", "sources"]) == 2
    assert "MODEL_061" not in capsys.readouterr().err
    assert main(["validate", "lost.yaml"]) == 2
    shown = capsys.readouterr().err
    assert "MODEL_061" in shown
    assert "MODEL_020" not in shown
    assert main(["validate", "sources/lake.yaml"]) == 0


def test_templates_and_calendars_are_checked(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "r.yaml").write_text(
        "resolver: {id: r, rules: [{name: x, strategy: {type: path, datasource_id: lake, path: 'a/{{YEAR}}'}}]}\n"
    )
    (root / "c.yaml").write_text("calendar: {id: c, levels: [{name: year}]}\n")
    assert main(["validate", "--json"]) == 2
    codes = {error["code"] for error in json.loads(capsys.readouterr().out)["errors"]}
    assert codes == {"RESOLVE_030", "RESOLVE_011"}


def test_a_file_outside_of_any_workspace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone = tmp_path / "alone.yaml"
    alone.write_text(WRONG)
    assert main(["validate", str(alone)]) == 2
    assert "MODEL_020" in capsys.readouterr().err
    alone.write_text(LAKE)
    assert main(["validate", str(alone)]) == 0
    alone.write_text("title: nothing\n")
    assert main(["validate", str(alone)]) == 2
    assert "MODEL_065" in capsys.readouterr().err


def test_a_file_the_workspace_skips_is_checked_alone(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "_drafts").mkdir()
    (root / "_drafts" / "x.yaml").write_text(WRONG)
    assert main(["validate"]) == 0
    assert main(["validate", "_drafts/x.yaml"]) == 2
    assert "MODEL_020" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "code"), [(["validate", "nowhere"], "MODEL_064"), (["validate"], "MODEL_063")])
def test_no_such_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], code: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert f"[{code}]" in capsys.readouterr().err


def test_a_workspace_named_on_the_command_line(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir("/")
    assert main(["--workspace", str(root), "validate"]) == 0
    assert "1 definition" in capsys.readouterr().err


def test_schemas_are_written(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "--out", "made/here"]) == 0
    listed = capsys.readouterr().out.split()
    assert "made/here/project.schema.json" in listed
    assert all("$schema" in json.loads(Path(name).read_text()) for name in listed)


def test_schemas_that_cannot_be_written(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "taken").write_text("")
    assert main(["schema", "--out", "taken"]) == 2
    assert "[MODEL_066]" in capsys.readouterr().err


def test_skipped_files_are_named_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "daybook.yaml").write_text("name: test\n")
    (tmp_path / "docker-compose.yml").write_text("services: {db: {image: postgres}}\n")
    monkeypatch.chdir(tmp_path)
    assert main(["validate"]) == 0
    assert "docker-compose.yml" not in capsys.readouterr().err
    assert main(["-v", "validate"]) == 0
    assert "1 file defines nothing and was skipped: docker-compose.yml" in capsys.readouterr().err
