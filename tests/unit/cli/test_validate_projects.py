"""`daybook validate` on what projects compute."""

import json
from pathlib import Path

import pytest

from daybook.cli.app import main

FILES = {
    "daybook.yaml": "name: test\n",
    "lake.yaml": "datasource: {id: lake, type: delta, options: {path: lake}}\n",
    "orders.yaml": (
        "dataset:\n"
        "  id: orders\n"
        "  main_table:\n"
        "    name: orders\n"
        "    temporal_mode: period\n"
        "    columns: [{name: order_id, type: string}, {name: amount, type: 'decimal(18,2)'}]\n"
        "    location: {datasource_id: lake, table: orders}\n"
    ),
}
MAKER = """\
project:
  id: maker
  input: {dataset_id: orders}
  operations:
    - {type: update, arguments: {assignments: [{column: doubled, expression: amount * 2}]}}
    - type: output
      arguments:
        destination: {datasource_id: lake, table: doubled}
        columns: [order_id, doubled]
        register_as_dataset: doubled
"""
READER = """\
project:
  id: reader
  input: {dataset_id: doubled}
  operations:
    - {type: delete, selector: doubled = 0}
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def findings(capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str | None, int | None]]:
    capsys.readouterr()
    main(["validate", "--json"])
    answer = json.loads(capsys.readouterr().out)
    return [(error["code"], error["file"], error["line"]) for error in answer["errors"]]


def test_expressions_are_checked(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "maker.yaml").write_text(MAKER)
    assert findings(capsys) == []
    (root / "maker.yaml").write_text(MAKER.replace("amount * 2", "amout * 2").replace("[order_id,", "[order_no,"))
    assert findings(capsys) == [("UPDATE_006", "maker.yaml", 5), ("OUTPUT_002", "maker.yaml", 9)]


def test_a_wrong_reference_hides_nothing_else(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = MAKER.replace("amount * 2", "amout * 2").replace("datasource_id: lake", "datasource_id: laek")
    (root / "maker.yaml").write_text(wrong)
    assert findings(capsys) == [("UPDATE_006", "maker.yaml", 5), ("OUTPUT_020", "maker.yaml", 8)]


@pytest.mark.parametrize("wrong", [("type: string", "type: varchar"), ("    name: orders", "   name: orders")])
def test_what_cannot_be_read_is_not_missed_besides(
    root: Path, capsys: pytest.CaptureFixture[str], wrong: tuple[str, str]
) -> None:
    (root / "maker.yaml").write_text(MAKER)
    (root / "orders.yaml").write_text(FILES["orders.yaml"].replace(*wrong))
    ((code, file, _),) = findings(capsys)
    assert (code.startswith("MODEL_0"), file) == (True, "orders.yaml")


def test_what_a_wrong_project_registers_is_not_missed_besides(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "reader.yaml").write_text(READER)
    (root / "maker.yaml").write_text(MAKER.replace("amount * 2", "amout * 2"))
    assert findings(capsys) == [("UPDATE_006", "maker.yaml", 5)]
    (root / "maker.yaml").write_text(MAKER.replace("type: output", "type: outptu"))
    assert findings(capsys) == [("PROJECT_007", "maker.yaml", 6)]


def test_projects_that_wait_for_each_other_are_told(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "maker.yaml").write_text(MAKER.replace("dataset_id: orders", "dataset_id: b"))
    other = MAKER.replace("id: maker", "id: other").replace("dataset_id: orders", "dataset_id: doubled")
    (root / "other.yaml").write_text(
        other.replace("table: doubled", "table: b").replace("dataset: doubled", "dataset: b")
    )
    assert {code for code, _, _ in findings(capsys)} == {"PROJECT_044"}


def test_what_another_project_registers_can_be_read(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "maker.yaml").write_text(MAKER)
    (root / "reader.yaml").write_text(READER)
    assert findings(capsys) == []
    (root / "reader.yaml").write_text(READER.replace("doubled = 0", "amount = 0"))
    ((code, file, line),) = findings(capsys)
    assert (code, file, line) == ("PROJECT_052", "reader.yaml", 5)


def test_a_project_that_refers_to_nothing_is_reported_once(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "maker.yaml").write_text(MAKER.replace("dataset_id: orders", "dataset_id: ordres"))
    assert findings(capsys) == [("PROJECT_020", "maker.yaml", 3)]


def test_a_broken_neighbour_in_the_file_hides_nothing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "maker.yaml").write_text(
        "dataset: {id: x, resolver_id: no, main_tabel: 1}\n---\n" + MAKER.replace("* 2", "* nil")
    )
    assert {code for code, _, _ in findings(capsys)} == {"MODEL_020", "UPDATE_006"}


def test_the_store_knows_versions_the_files_do_not(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    orders = FILES["orders.yaml"]
    assert main(["apply"]) == 0
    (root / "orders.yaml").write_text(
        orders.replace("{name: order_id,", "{name: more, type: string}, {name: order_id,")
    )
    pinned = MAKER.replace("{dataset_id: orders}", "{dataset_id: orders, dataset_version: 1}")
    (root / "maker.yaml").write_text(pinned.replace("amount * 2", "'IF(ISNULL(more), 1, 2)'"))
    assert findings(capsys) == [("UPDATE_006", "maker.yaml", 5)]
    (root / "maker.yaml").write_text(pinned.replace("version: 1", "version: 7"))
    ((code, _, line),) = findings(capsys)
    assert (code, line) == ("PROJECT_021", 3)


def test_a_store_that_cannot_be_read_is_a_warning(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / ".daybook").mkdir()
    (root / ".daybook" / "store.db").write_text("this is no database " * 100)
    (root / "maker.yaml").write_text(MAKER)
    assert main(["validate", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["ok"] is True
    assert [notice["code"].split("_")[0] for notice in answer["notices"]] == ["STORE"]


def test_options_and_formats_of_files(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    location = "{path: orders.csv, options: {sep: ';'}}"
    orders = FILES["orders.yaml"].replace("{datasource_id: lake, table: orders}", location)
    (root / "orders.yaml").write_text(orders)
    (root / "maker.yaml").write_text(
        MAKER.replace("{datasource_id: lake, table: doubled}", "{location: out/doubled.ods}").replace(
            "        register_as_dataset: doubled\n", ""
        )
    )
    assert findings(capsys) == [("RESOLVE_037", "maker.yaml", 8), ("IO_011", "orders.yaml", 7)]
    for command in (["apply"], ["run", "maker", "-p", "2026-01"], ["run", "maker", "-p", "2026-01", "--dry-run"]):
        assert main(command) == 2
        shown = capsys.readouterr().err
        assert "orders.yaml:7:" in shown
        assert "did you mean delimiter?" in shown.lower()
    assert main(["runs"]) == 0
    assert "maker" not in capsys.readouterr().out
