"""What a run did, as people read it."""

import datetime
from dataclasses import replace
from pathlib import Path

import pytest

from daybook.cli import run_results
from daybook.errors import DaybookError
from daybook.model.definition import TableVersion
from daybook.runs.replay import ReplayedOutput, ReplayResult
from daybook.runs.run_result import OutputResult, RunFailedError, RunResult, name_operations
from daybook.workspace.result_json import as_json
from tests.unit.runs.test_run_result import OPERATIONS

OUTPUT = OutputResult(
    operation_seq=50,
    operation_id="op-50",
    name="Write it",
    destination="warehouse.sales",
    place="/elsewhere/warehouse/sales",
    format="delta",
    rows_written=3,
    columns_written=("region", "sales"),
    write_duration_ms=1234,
    dataset_id="sales",
    dataset_version=2,
    table_version=TableVersion("delta", "7"),
)

RESULT = RunResult(
    run_id="run-1",
    project_id="close",
    project_version=4,
    period="2026-01",
    as_of=datetime.date(2026, 1, 1),
    status="completed",
    is_draft=False,
    sandbox=None,
    parameters={},
    operations=name_operations(OPERATIONS, {10: "Convert", 20: "Remove", 30: "Add", 40: "Sum up", 50: "Write it"}),
    outputs=(OUTPUT,),
    notices=(),
    duration_ms=2500,
)


def test_a_run_is_shown_with_every_operation(capsys: pytest.CaptureFixture[str]) -> None:
    run_results.show_run_result(RESULT, is_quiet=False)
    shown = capsys.readouterr().out
    lines = [line.split() for line in shown.splitlines()]
    assert "close for 2026-01: completed in 2.5 s" in shown
    assert "run run-1, as of 2026-01-01, project version 4" in shown
    assert ["20", "Remove", "1,000", "100", "deleted"] in lines
    assert ["50", "Write", "it", "915", "3", "written", "1.2", "s"] in lines
    assert "wrote /elsewhere/warehouse/sales: 3 rows, dataset sales version 2" in shown
    assert "\x1b" not in shown


def test_parameters_and_accepted_warnings_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    result = replace(RESULT, parameters={"threshold": "250", "region": "EMEA"}, accepted=2)
    run_results.show_run_result(result, is_quiet=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:5] == ["parameters threshold = 250, region = EMEA", "2 warnings accepted", ""]
    assert as_json(result)["parameters"] == {"threshold": "250", "region": "EMEA"}
    assert as_json(result)["accepted"] == 2


def test_quiet_shows_the_outcome_and_the_places(capsys: pytest.CaptureFixture[str]) -> None:
    run_results.show_run_result(RESULT, is_quiet=True)
    assert capsys.readouterr().out.splitlines() == [
        "close for 2026-01: completed in 2.5 s",
        "wrote /elsewhere/warehouse/sales: 3 rows, dataset sales version 2",
    ]


def test_names_are_never_taken_for_markup(capsys: pytest.CaptureFixture[str]) -> None:
    run_results.show_effects(OPERATIONS, {10: "[bold]Convert[/bold]"})
    assert "[bold]Convert[/bold]" in capsys.readouterr().out


def test_places_below_here_are_short(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dataclasses import replace

    monkeypatch.chdir(tmp_path)
    run_results.show_outputs([replace(OUTPUT, place=f"{tmp_path}/out/a.csv", rows_written=1, dataset_id=None)])
    run_results.show_outputs([replace(OUTPUT, place="s3://bucket/a", dataset_id=None)])
    assert capsys.readouterr().out.splitlines() == ["wrote out/a.csv: 1 row", "wrote s3://bucket/a: 3 rows"]


def test_programs_find_the_number_of_a_delta_version_where_it_always_was() -> None:
    (output,) = as_json(RESULT)["outputs"]
    assert (output["delta_version"], output["table_version"]) == (7, {"format": "delta", "token": "7"})


def test_the_data_names_operations() -> None:
    operations = as_json(RESULT)["operations"]
    assert [(each["seq"], each["name"]) for each in operations][:3] == [(0, "load"), (10, "Convert"), (20, "Remove")]


def test_a_failure_says_what_stays_and_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    failed = RunFailedError("run-1", "failed", DaybookError("RUN_013", text="soon"), (OUTPUT,))
    run_results.show_run_failure(failed, as_json=False)
    shown = capsys.readouterr().err
    assert "[RUN_013]" in shown
    assert "operation 50 had been committed to warehouse.sales" in shown
    assert "`daybook run`" in shown
    assert "`daybook retry run-1`" in shown


def test_what_was_cancelled_is_simply_continued(capsys: pytest.CaptureFixture[str]) -> None:
    cancelled = RunFailedError("run-1", "cancelled", DaybookError("RUN_004", run_id="run-1"), ())
    run_results.show_run_failure(cancelled, as_json=False)
    assert capsys.readouterr().err.splitlines()[-1] == "  `daybook retry run-1` continues it"


def test_a_replay_says_what_differs(capsys: pytest.CaptureFixture[str]) -> None:
    same = ReplayedOutput(50, "Write it", "warehouse.sales", 3, 3, True, None)
    other = ReplayedOutput(60, "Write more", "warehouse.more", 1000, 999, False, "/scratch/60")
    run_results.show_replay(ReplayResult("run-1", "2026-01", (same, other)))
    shown = capsys.readouterr().out
    assert "50  Write it: 3 rows, the same" in shown
    assert "60  Write more: 999 rows, 1,000 before: DIFFERENT, kept in /scratch/60" in shown
    assert shown.splitlines()[-1] == "outputs differ"
