"""`daybook runs` and `daybook show run`, on runs that were written down without Spark."""

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from daybook.cli.app import main
from daybook.errors import DaybookError, error_to_record
from daybook.store import open_store
from daybook.store.records import FinalStatus, OperationResult, OutputCommit
from tests.unit.runs.prepared import new_folder, prepared
from tests.unit.store.samples import PROCESS, later, nobody_is_dead
from tests.workspaces import Folder, to_table

RUN = "20260202-093000-abcdef"
FAILURE = DaybookError(
    "APPEND_008", causes=(DaybookError("IO_002", file="b.csv", column="x", hint="look there"),), dataset_id="budgets"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    folder = new_folder(tmp_path)
    folder.project(
        {"name": "Leave out", "type": "delete", "selector": "amount = 0"}, to_table(register_as_dataset="booked")
    )
    monkeypatch.chdir(folder.root)
    return folder


def record(folder: Folder, status: FinalStatus, error: DaybookError | None = None) -> None:
    """A run that waited two seconds for Spark and worked three."""
    snapshot = prepared(folder).snapshot.to_json()
    as_of = datetime.date(2026, 1, 1)
    details = {"dataset_id": "booked", "dataset_version": 2}
    with open_store("sqlite:///.daybook/store.db", root=folder.root) as store, store.write() as transaction:
        lease = transaction.runs.start(
            RUN,
            "p",
            3,
            "2026-01",
            snapshot,
            as_of=as_of,
            user="ann",
            process=PROCESS,
            now=later(0),
            is_dead=nobody_is_dead,
        )
        transaction.runs.mark_running(lease, now=later(2))
        for result in (
            OperationResult(0, "load", "load", rows_added=3),
            OperationResult(1, "op-1", "delete", rows_picked=1, rows_added=0, rows_deleted=1),
            OperationResult(2, "op-2", "output", rows_written=2, duration_ms=1200),
        ):
            transaction.outcomes.record_operations(lease, result)
        place = f"{folder.root.resolve()}/lake/result"
        commit = OutputCommit(2, "op-2", place, "replace_period", rows=2, details=details)
        transaction.outcomes.record_commit(lease, commit, now=later(4))
        transaction.runs.finish(lease, status, now=later(5), error=error_to_record(error) if error else None)


def out(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main([*arguments]) == 0
    return capsys.readouterr().out.splitlines()


def data(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads("\n".join(out(capsys, *arguments, "--json")))


def test_a_run_is_shown_as_it_was_when_it_ran(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    record(folder, "completed")
    shown = out(capsys, "show", "run", RUN)
    words = [line.split() for line in shown]
    assert shown[0] == f"run {RUN}: completed in 5.0 s"
    assert "  reads     orders version 1 from data/orders.csv" in shown
    assert ["Read", "the", "input", "3", "read"] in words
    assert ["1", "Leave", "out", "3", "1", "deleted"] in words
    assert ["2", "output", "2", "2", "2", "written", "1.2", "s"] in words
    assert shown[-1] == "wrote lake/result: 2 rows, dataset booked version 2 (replace_period)"


def test_a_run_that_failed_says_why_and_the_way_out(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    record(folder, "failed", FAILURE)
    shown = out(capsys, "show", "run", RUN)
    assert shown[-3].startswith("[APPEND_008] ")
    assert shown[-2].startswith("  because [IO_002] ")
    assert shown[-1] == "  hint: look there"


def test_the_errors_of_a_run_have_the_form_that_run_gives_them(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    record(folder, "failed", FAILURE)
    shown = data(capsys, "show", "run", RUN)
    (error,) = shown["errors"]
    assert error.keys() >= {"code", "message", "file", "line", "column", "hint", "operation_seq", "causes"}
    assert (error["code"], shown["error"]["code"]) == ("APPEND_008", "APPEND_008")
    assert [each["name"] for each in shown["operations"]] == ["load", "Leave out", "output 2"]


def test_a_run_took_what_somebody_waited_for_it(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    record(folder, "completed")
    assert "5.0" in out(capsys, "runs")[1].split()
    assert data(capsys, "runs")["runs"][0]["duration_ms"] == 5000
    assert data(capsys, "show", "run", RUN)["duration_ms"] == 5000


def test_a_retried_run_took_as_long_as_its_last_attempt(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    record(folder, "failed", FAILURE)
    with open_store("sqlite:///.daybook/store.db", root=folder.root) as store, store.write() as transaction:
        lease = transaction.runs.resume(RUN, process=PROCESS, now=later(90_000), is_dead=nobody_is_dead)
        transaction.runs.finish(lease, "completed", now=later(90_001))
    assert data(capsys, "runs")["runs"][0]["duration_ms"] == 1000
    assert out(capsys, "show", "run", RUN)[0] == f"run {RUN}: completed in 1.0 s"


@pytest.mark.parametrize(
    "arguments",
    [["runs"], ["show", "run", RUN], ["periods", "--year", "2026"], ["functions"]],
    ids=lambda each: each[0],
)
def test_nothing_trails_in_a_pipe(folder: Folder, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    record(folder, "completed")
    assert [line for line in out(capsys, *arguments) if line != line.rstrip()] == []


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["-p", "2026-1"], "no such runs; did you mean 2026-01?"),
        (["-p", "2026-02"], "no such runs"),
        (["-p", "FY2026-1"], "no such runs; did you mean FY2026-01?"),
        (["--project", "pp"], "no such runs; did you mean p?"),
    ],
)
def test_a_list_without_runs_says_what_was_meant(
    folder: Folder, capsys: pytest.CaptureFixture[str], arguments: list[str], answer: str
) -> None:
    levels = [{"name": "month", "unit": "month", "identifier": "FY{{year}}-{{month}}"}]
    folder.define("calendar", {"id": "fiscal", "rule": {"type": "months", "first_month": 4}, "levels": levels})
    assert main(["apply", "-q"]) == 0
    record(folder, "completed")
    capsys.readouterr()
    assert main(["runs", *arguments]) == 0
    assert capsys.readouterr().err.splitlines() == [answer]
