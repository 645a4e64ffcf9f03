"""`apply`, `plan`, `show`, `activate`, `deactivate`, `periods close|lock`, as a user types them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from daybook.cli.app import main
from daybook.definitions.loading import load_text
from daybook.store import open_store
from daybook.store.records import OutputCommit, Registration
from tests.postgres import PostgresServer
from tests.unit.store.samples import NOW, PROCESS, later, make_dataset, new_run, nobody_is_dead

ORDERS = """\
dataset:
  id: orders
  main_table:
    name: orders
    columns:
      - {name: order_id, type: string}
      - {name: amount, type: "decimal(18,2)"}
    location: {path: data/orders.csv}
"""
PROJECT = """\
project:
  id: close
  input: {dataset_id: orders}
  operations:
    - type: update
      arguments: {assignments: [{column: net, expression: amount * 0.9}]}
    - type: output
      arguments: {destination: {location: out/net.csv}, columns: [order_id, net]}
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "daybook.yaml").write_text("name: test\n")
    (tmp_path / "orders.yaml").write_text(ORDERS)
    (tmp_path / "close.yaml").write_text(PROJECT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def actions(data: Any) -> dict[str, str]:
    return {change["id"]: change["action"] for change in data["changes"]}


def test_plan_then_apply_then_nothing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert actions(told(capsys, "plan")) == {"orders": "added", "close": "added"}
    assert not (root / ".daybook").exists()
    assert actions(told(capsys, "apply")) == {"orders": "added", "close": "added"}
    assert actions(told(capsys, "plan")) == {"orders": "unchanged", "close": "unchanged"}


def test_a_structural_error_stores_nothing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "wrong.yaml").write_text("dataset: {id: other, main_table: {name: t, columns: []}}\n")
    assert main(["apply"]) == 2
    assert "wrong.yaml" in capsys.readouterr().err
    assert main(["show", "dataset", "orders"]) == 2
    assert "[STORE_007]" in capsys.readouterr().err


def test_a_semantic_error_is_stored_as_a_draft(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "close.yaml").write_text(PROJECT.replace("amount *", "amout *"))
    (project,) = told(capsys, "apply")["projects"]
    assert project["after"] == "draft"
    assert [(error["line"], error["operation_seq"]) for error in project["errors"]] == [(6, 1)]
    assert told(capsys, "show", "project", "close")["warnings"]
    assert main(["activate", "close"]) == 2
    assert "close.yaml:6" in capsys.readouterr().err


def test_what_breaks_is_planned_reported_and_shown(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, "activate", "close")
    (root / "orders.yaml").write_text(ORDERS.replace("decimal(18,2)", "decimal(9,2)"))
    for command in ("plan", "apply"):
        (project,) = told(capsys, command)["projects"]
        assert (project["before"], project["after"]) == ("active", "conflict")
        assert [(item["column"], item["change"], item["operations"]) for item in project["breaks"]] == [
            ("amount", "narrowed", [1])
        ]
    shown = told(capsys, "show", "project", "close")
    assert shown["status"] == "conflict"
    assert shown["conflict"]["breaks"][0]["column"] == "amount"
    assert main(["apply"]) == 0
    assert "[STORE_025]" in capsys.readouterr().err


def test_activate_takes_the_file_along_on_an_embedded_store(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = told(capsys, "activate", "close.yaml")
    assert (done["version"], done["changed"]) == (2, True)
    assert done["datasets"] == [{"id": "orders", "version": 1, "pinned": False}]
    (root / "close.yaml").write_text(PROJECT.replace("0.9", "0.8"))
    assert told(capsys, "activate", "close")["version"] == 3
    assert not told(capsys, "activate", "close")["changed"]


def test_activate_with_a_version_of_the_input(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, "apply")
    (root / "orders.yaml").write_text(ORDERS.replace("decimal(18,2)", "decimal(9,2)"))
    done = told(capsys, "activate", "close", "--dataset-version", "1")
    assert done["datasets"] == [{"id": "orders", "version": 1, "pinned": True}]


def test_deactivate(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, "activate", "close")
    assert told(capsys, "deactivate", "close.yaml") == {"project_id": "close", "changed": True}
    assert told(capsys, "deactivate", "close") == {"project_id": "close", "changed": False}
    assert told(capsys, "show", "project", "close")["status"] == "inactive"


def test_what_show_prints_loads_again(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, "apply")
    for kind, identifier, text in (("dataset", "orders", ORDERS), ("project", "close", PROJECT)):
        assert main(["show", kind, identifier]) == 0
        (shown,) = load_text(capsys.readouterr().out, "shown.yaml")
        (written,) = load_text(text, "written.yaml")
        assert shown.model == written.model


def test_old_versions_are_shown_as_they_were(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, "apply")
    (root / "orders.yaml").write_text(ORDERS.replace("amount", "total"))
    told(capsys, "apply")
    shown = told(capsys, "show", "dataset", "orders", "--version", "1")
    assert [column["name"] for column in shown["definition"]["main_table"]["columns"]] == ["order_id", "amount"]
    assert shown["versions"] == [1, 2]
    assert main(["show", "dataset", "orders", "--version", "3"]) == 2
    assert "[STORE_008]" in capsys.readouterr().err


def test_plan_shows_how_the_text_of_definitions_changes(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, "apply")
    (root / "close.yaml").write_text(PROJECT.replace("0.9", "0.8"))
    changed = {change["id"]: change["difference"] for change in told(capsys, "plan")["changes"]}
    assert changed["orders"] is None
    lines = changed["close"].splitlines()
    assert [line[0] + line[1:].strip() for line in lines if line.startswith(("-", "+"))] == [
        '-expression: "amount * 0.9"',
        '+expression: "amount * 0.8"',
    ]
    assert main(["plan"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r'^    -\s+expression: "amount \* 0.9"$', shown, re.MULTILINE)
    # `apply` says what it did; how the text changed was shown before.
    assert main(["apply"]) == 0
    assert "0.9" not in capsys.readouterr().out


def complete(root: Path, run_id: str, project: str, period: str) -> None:
    """A completed run of a project, as far as the store knows of it."""
    with open_store("sqlite:///.daybook/store.db", root=root) as store, store.write() as transaction:
        run = transaction.runs.start(**new_run(run_id, project_id=project, period=period), process=PROCESS, now=NOW)
        transaction.runs.finish(run, "completed", now=later(1))


def test_plan_names_the_projects_and_periods_that_a_change_makes_stale(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "report.yaml").write_text(
        PROJECT.replace("id: close", "id: report")
        .replace("dataset_id: orders", "dataset_id: net")
        .replace("amount * 0.9", "amount * 2")
        .replace("out/net.csv", "out/report.csv")
    )
    (root / "close.yaml").write_text(
        PROJECT.replace("columns: [order_id, net]", "columns: [order_id, amount, net], register_as_dataset: net")
    )
    told(capsys, "apply")
    complete(root, "r1", "close", "2026-01")
    complete(root, "r2", "report", "2026-01")
    complete(root, "r3", "report", "2026-02")
    assert told(capsys, "plan")["stale"] == []
    (root / "orders.yaml").write_text(ORDERS.replace("decimal(18,2)", "decimal(20,2)"))
    assert told(capsys, "plan")["stale"] == [
        {"project_id": "close", "periods": ["2026-01"], "causes": ["dataset orders"]},
        {"project_id": "report", "periods": ["2026-01", "2026-02"], "causes": ["project close"]},
    ]


def test_show_lists_the_versions_of_a_dataset_with_what_is_behind_them(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told(capsys, "apply")
    with open_store("sqlite:///.daybook/store.db", root=root) as store, store.write() as transaction:
        lease = transaction.runs.start(**new_run("r1"), process=PROCESS, now=NOW)
        transaction.outcomes.record_commit(lease, OutputCommit(20, "op-20", "/out", "replace", rows=1234), now=NOW)
        dataset = make_dataset({"net": "float"}, dataset_id="net")
        transaction.definitions.register(dataset, Registration("close", "r1", 20), now=NOW)
        transaction.definitions.register(dataset, Registration("close", "gone", 20), now=NOW)
    found = told(capsys, "show", "dataset", "net")["history"]
    assert [(each["version"], each["run_id"], each["period"], each["rows"]) for each in found] == [
        (1, "r1", "2026-01", 1234),
        (2, "gone", None, None),
    ]
    assert main(["show", "dataset", "net"]) == 0
    assert "run r1  close 2026-01  1,234 rows" in capsys.readouterr().out


def test_pruning(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, "apply")
    (root / "close.yaml").unlink()
    assert actions(told(capsys, "apply")) == {"orders": "unchanged"}
    assert actions(told(capsys, "apply", "--prune")) == {"orders": "unchanged", "close": "disabled"}


def test_periods_are_closed_and_locked(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "periods", "close", "2026-01") == {
        "identifier": "2026-01",
        "status": "closed",
        "changed": True,
    }
    told(capsys, "periods", "lock", "2026-Q1")
    listed = told(capsys, "periods", "--year", "2026")
    by_id = {period["identifier"]: (period["status"], period["because_of"]) for period in listed}
    assert by_id["2026-01"] == ("locked", "2026-Q1")
    assert by_id["2026-04"] == ("open", None)
    who = {period["identifier"]: (period["changed_by"], period["changed_at"]) for period in listed}
    assert who["2026-04"] == (None, None)
    assert all(who["2026-01"])
    assert main(["periods", "close", "2026-02"]) == 2
    assert "[STORE_017]" in capsys.readouterr().err


def test_a_locked_period_is_reopened_with_a_reason(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, "periods", "lock", "2026-01", "--reason", "signed off")
    assert main(["periods", "reopen", "2026-01"]) == 2
    assert "[STORE_032]" in capsys.readouterr().err
    assert told(capsys, "periods", "reopen", "2026-01", "--reason", "late invoice")["changed"]
    listed = told(capsys, "periods", "--year", "2026", "--level", "month")
    january = next(period for period in listed if period["identifier"] == "2026-01")
    assert january["status"] == "open"
    assert [(change["status"], change["reason"]) for change in january["history"]] == [
        ("locked", "signed off"),
        ("open", "late invoice"),
    ]
    assert all(change["changed_by"] and change["changed_at"] for change in january["history"])
    assert main(["periods", "history", "2026-01"]) == 0
    assert [line.split()[2] for line in capsys.readouterr().out.splitlines()[1:]] == ["locked", "open"]


def test_a_password_in_the_settings_is_refused_and_not_shown(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "daybook.yaml").write_text("name: test\nstore: postgresql://ann:s3cret@db/close\n")
    assert main(["apply"]) == 2
    captured = capsys.readouterr()
    assert "s3cret" not in captured.out + captured.err


@pytest.mark.parametrize("name", ["clos", "orders.yaml", "nothing.yaml"])
def test_a_project_that_is_not_there(root: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("activate", "deactivate"):
        assert main([command, name]) == 2
        assert "[STORE_007]" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["clos", "orders.yaml"])
def test_whoever_looks_for_a_project_gives_the_same_hint(
    root: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hints: set[str] = set()
    for command in (["activate", name], ["compile", name], ["run", name, "-p", "2026-01"]):
        assert main([*command, "--json"]) == 2
        hints.update(error["hint"] for error in json.loads(capsys.readouterr().out)["errors"])
    assert hints == {"did you mean close?" if name == "clos" else "known: close"}


def test_a_project_says_once_which_version_is_active(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def header(*arguments: str) -> str:
        assert main(["show", "project", "close", *arguments]) == 0
        return capsys.readouterr().out.splitlines()[0]

    told(capsys, "apply")
    assert header() == "# project close, version 1 of 1, draft"
    told(capsys, "activate", "close")
    assert header() == "# project close, version 2 of 2, active"
    assert header("--version", "1") == "# project close, version 1 of 2, active is version 2"
    (root / "close.yaml").write_text(PROJECT.replace("0.9", "0.8"))
    told(capsys, "apply")
    assert header() == "# project close, version 3 of 3, draft, active is version 2"


def test_the_ways_out_of_a_changed_file_can_be_typed(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, "activate", "close")
    (root / "close.yaml").write_text(PROJECT.replace("0.9", "0.8"))
    assert main(["run", "close", "--period", "2026-01", "--dry-run"]) == 2
    assert "hint: `daybook activate close`, or `daybook run close --period PERIOD --draft`" in capsys.readouterr().err


def test_without_any_data_source_the_hint_says_how_to_define_one(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = PROJECT.replace("{location: out/net.csv}", "{datasource_id: lake, table: net}")
    (root / "close.yaml").write_text(written)
    assert main(["validate", "--json"]) == 2
    (error,) = json.loads(capsys.readouterr().out)["errors"]
    assert error["code"] == "OUTPUT_020"
    hinted = re.search(r"`(datasource: .*)`", error["hint"])
    assert hinted is not None
    text = hinted[1].replace("id: ...", "id: lake").replace("name: ...", "name: Lake")
    (root / "lake.yaml").write_text(text)
    assert main(["validate"]) == 0


@pytest.mark.postgres
def test_a_shared_store_is_set_up_by_apply_and_takes_nothing_implicitly(
    root: Path, capsys: pytest.CaptureFixture[str], postgres_server: PostgresServer
) -> None:
    (root / "daybook.yaml").write_text(f"name: test\nstore: {postgres_server.create_database()}\n")
    assert main(["activate", "close"]) == 2
    assert "[STORE_004]" in capsys.readouterr().err
    told(capsys, "apply")
    told(capsys, "activate", "close")
    (root / "close.yaml").write_text(PROJECT.replace("0.9", "0.8"))
    assert not told(capsys, "activate", "close")["changed"]
    told(capsys, "apply")
    assert told(capsys, "activate", "close")["version"] == 3
    (root / "close.yaml").unlink()
    assert told(capsys, "activate", "close")["version"] == 3


@pytest.mark.parametrize("arguments", [["show", "run", "r1", "--version", "1"], ["show", "table", "x"]])
def test_wrong_arguments(root: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2


def test_a_longer_list_of_runs_goes_on_after_a_run(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, "apply")
    with open_store("sqlite:///.daybook/store.db", root=root) as store:
        for month in range(1, 5):
            with store.write() as transaction:
                run = new_run(f"r{month}", period=f"2026-{month:02}")
                transaction.runs.start(**run, process=PROCESS, now=later(month), is_dead=nobody_is_dead)
    assert main(["runs", "--limit", "2"]) == 0
    assert "more with --after r3" in capsys.readouterr().err
    rest = told(capsys, "runs", "--after", "r3")
    assert [run["id"] for run in rest["runs"]] == ["r2", "r1"]
    mark = told(capsys, "runs", "--limit", "2")["next"]
    assert told(capsys, "runs", "--after", mark) == rest


def test_a_kind_that_does_not_exist(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "projct", "close"]) == 2
    assert "nothing is a projct; did you mean project?" in capsys.readouterr().err


def test_a_run_is_asked_to_stop(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, "apply")
    with open_store("sqlite:///.daybook/store.db", root=root) as store, store.write() as transaction:
        now = transaction.now()
        transaction.runs.start(**new_run("r1"), process=PROCESS, now=now, is_dead=nobody_is_dead)
    (listed,) = told(capsys, "runs")["runs"]
    assert listed["created_at"] == now.isoformat()
    assert "T" in listed["created_at"]
    assert told(capsys, "cancel", "r1") == {"run_id": "r1", "status": "queued", "is_active": True}
    assert main(["cancel", "r1"]) == 0
    assert capsys.readouterr().out == "run r1 was asked to stop\n"


def test_a_project_with_findings_is_stored_as_a_draft_with_a_warning(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "close.yaml").write_text(PROJECT.replace("amount * 0.9", "amuont * 0.9"))
    assert main(["apply"]) == 0
    shown = capsys.readouterr().err
    assert "[STORE_028] Project close fails validation: 1 finding(s)" in shown
    assert "[UPDATE_006]" in shown
