"""`daybook graph`, `status` and `build --dry-run`: the shapes that machines rely on, without Spark."""

import json
from pathlib import Path
from typing import Any

import pytest

from daybook.cli.app import main
from tests.workspaces import Folder, assign, no_session, to_table


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    made = Folder.new(tmp_path / "w", no_session)
    made.project(assign("x", "1"), to_table(register_as_dataset="booked"), id_="maker")
    made.project(to_table("copy"), id_="reader", input_="booked")
    monkeypatch.chdir(made.root)
    return made


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(arguments) == 0
    return json.loads(capsys.readouterr().out)


def test_the_graph_of_projects(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    assert called(capsys, "graph", "--json") == {
        "nodes": [{"project": "maker"}, {"project": "reader"}],
        "edges": [{"from": "maker", "to": "reader", "dataset": "booked"}],
    }


def test_the_graph_of_a_period(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    found = called(capsys, "graph", "--period", "2026-01", "--json")
    assert {"from": "maker@2026-01", "to": "reader@2026-01", "dataset": "booked"} in found["edges"]
    assert {"project": "maker", "period": "2026-01"} in found["nodes"]


def test_the_graph_as_a_flow_chart(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "--mermaid"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "flowchart LR",
        '    n0["maker"]',
        '    n1["reader"]',
        '    n0 -->|"booked"| n1',
    ]


def test_the_status_of_what_never_ran(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    folder.apply()
    folder.activate("maker")
    assert called(capsys, "status", "--period", "2026-01", "--json") == {
        "nodes": [
            {
                "project": "maker",
                "period": "2026-01",
                "state": "never",
                "is_locked": False,
                "run": None,
                "reasons": [],
            }
        ]
    }


def test_a_dry_build_says_what_would_run_and_why(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    folder.apply()
    folder.activate("maker")
    (node,) = called(capsys, "build", "--period", "2026-01", "--dry-run", "--json")["nodes"]
    assert (node["project"], node["will_run"], node["why"]) == ("maker", True, ["it has never run"])


def test_an_unknown_project_is_answered_with_the_nearest(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    folder.apply()
    assert main(["build", "--period", "2026-01", "--dry-run", "makr"]) == 2
    assert "maker" in capsys.readouterr().err


def test_projects_that_wait_for_each_other_are_refused(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    folder.project(to_table("a", register_as_dataset="one"), id_="first", input_="two")
    folder.project(to_table("b", register_as_dataset="two"), id_="second", input_="one")
    assert main(["graph"]) == 2
    assert "PROJECT_044" in capsys.readouterr().err


def break_file(folder: Folder, path: str = "definitions/broken.yaml") -> None:
    (folder.root / path).write_text("project: {id: broken, inptu: {dataset_id: orders}, operations: []}\n")


def test_a_file_with_errors_that_nobody_needs_is_a_warning(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    folder.apply()
    folder.activate("maker")
    break_file(folder)
    for command in (["graph"], ["status", "--period", "2026-01"], ["build", "--dry-run", "--period", "2026-01"]):
        assert main([*command, "--json"]) == 0
        shown = capsys.readouterr()
        assert "maker" in {node["project"] for node in json.loads(shown.out)["nodes"]}
        assert "MODEL_089" in shown.err
        assert "broken.yaml" in shown.err


def test_a_project_that_cannot_be_read_is_named_with_its_error(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    break_file(folder)
    assert main(["build", "--dry-run", "--period", "2026-01", "broken"]) == 2
    assert "inptu" in capsys.readouterr().err


def test_an_active_project_whose_file_has_errors_keeps_its_node_and_says_why(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.apply()
    folder.activate("maker")
    text = (folder.root / "definitions/project-maker.yaml").read_text()
    (folder.root / "definitions/project-maker.yaml").write_text(text.replace("operations:", "operatoins:"))
    assert main(["status", "--period", "2026-01", "--json"]) == 0
    (node,) = json.loads(capsys.readouterr().out)["nodes"]
    assert (node["project"], node["state"]) == ("maker", "never")
    assert "its definition has errors" in node["reasons"][0]
    assert main(["graph", "--json"]) == 0
    assert {"from": "maker", "to": "reader", "dataset": "booked"} in json.loads(capsys.readouterr().out)["edges"]


def test_drafts_that_wait_for_each_other_do_not_concern_what_is_active(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.apply()
    folder.activate("maker")
    folder.project(to_table("a", register_as_dataset="one"), id_="first", input_="two")
    folder.project(to_table("b", register_as_dataset="two"), id_="second", input_="one")
    assert [node["project"] for node in called(capsys, "status", "--period", "2026-01", "--json")["nodes"]] == ["maker"]
    assert main(["build", "--dry-run", "--period", "2026-01", "first"]) == 2
    shown = capsys.readouterr().err
    assert "first → second → first" in shown or "second → first → second" in shown


def test_validate_names_the_path_of_projects_that_wait_for_each_other(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.project(to_table("a", register_as_dataset="one"), id_="first", input_="two")
    folder.project(to_table("b", register_as_dataset="two"), id_="second", input_="one")
    assert main(["validate", "--json"]) == 2
    errors = json.loads(capsys.readouterr().out)["errors"]
    assert [error["code"] for error in errors] == ["PROJECT_044"]
    assert {"first", "second"} <= set(errors[0]["message"].replace("→", " ").split())
    assert errors[0]["file"].endswith(("project-first.yaml", "project-second.yaml"))


def test_a_level_that_the_calendar_does_not_have_is_an_error_where_it_is_written(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.project(to_table("x"), id_="leveled", level="mnth")
    assert main(["validate", "--json"]) == 2
    (error,) = json.loads(capsys.readouterr().out)["errors"]
    assert (error["code"], error["hint"]) == (
        "RESOLVE_004",
        "did you mean month? its levels are year, quarter, month, day",
    )


@pytest.mark.parametrize(("action", "mark"), [("close", "never closed"), ("lock", "never locked")])
def test_the_grid_marks_closed_and_locked_periods(
    folder: Folder, capsys: pytest.CaptureFixture[str], action: str, mark: str
) -> None:
    folder.apply()
    folder.activate("maker")
    assert main(["periods", action, "2026-Q1"]) == 0
    capsys.readouterr()
    assert main(["status", "--period", "2026-03..2026-04"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[:2] == ["project 2026-03 2026-04", f"maker {mark} never"]


def test_more_days_than_a_table_has_columns_are_listed(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    folder.project(assign("x", "1"), to_table(register_as_dataset="booked"), id_="maker", level="day")
    folder.apply()
    folder.activate("maker")
    assert main(["status", "--period", "1900-01-01..2050-12-31"]) == 0
    lines = capsys.readouterr().out.splitlines()
    # The leap years from 1904 to 2048; 1900 is none.
    assert len(lines) == 151 * 365 + 37
    assert [line.split() for line in (lines[0], lines[-1])] == [
        ["maker", "1900-01-01", "never"],
        ["maker", "2050-12-31", "never"],
    ]


def test_a_pattern_names_several_projects(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    folder.project(assign("x", "1"), to_table("other"), id_="maker-2")
    folder.apply()
    folder.activate("maker")
    folder.activate("maker-2")

    def projects(*arguments: str) -> list[str]:
        return [node["project"] for node in called(capsys, *arguments, "--period", "2026-01", "--json")["nodes"]]

    assert projects("status", "maker*") == ["maker", "maker-2"]
    assert projects("status", "maker-?") == ["maker-2"]
    assert projects("build", "maker-*", "--dry-run") == ["maker-2"]
    assert sorted(projects("build", "maker*+", "--dry-run")) == ["maker", "maker-2", "reader"]
    assert main(["build", "m[0-9]*", "--period", "2026-01", "--dry-run"]) == 2
    assert "RUN_001" in capsys.readouterr().err
