"""Outputs of a run by the names people have for them."""

import datetime
from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.runs.attempt.prepare import PreparedRun
from daybook.runs.run_result import OutputResult, RunResult
from daybook.runs.slices import choose_output
from daybook.runs.snapshot import RunSettings
from tests.unit.runs.prepared import new_folder, prepared
from tests.workspaces import to_path, to_table


def completed(found: PreparedRun) -> RunResult:
    """The run as if everything it planned had been written."""
    outputs = tuple(
        OutputResult(
            operation_seq=each.step.seq,
            operation_id=each.step.operation_id,
            name=each.step.name,
            destination=each.label,
            place=each.target.label,
            format=each.target.format,
            rows_written=1,
            columns_written=tuple(each.step.columns),
            write_duration_ms=1,
            dataset_id="booked" if each.step.seq == 1 else None,
        )
        for each in found.outputs
    )
    as_of = datetime.date(2026, 1, 1)
    return RunResult("r", "p", 1, "2026-01", as_of, "completed", False, None, {}, 1, (), outputs, ())


@pytest.fixture(params=["real", "sandbox"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> PreparedRun:
    folder = new_folder(tmp_path)
    folder.project(
        {**to_table("result"), "name": "Write the table"}, to_path("out/{{identifier}}.csv"), to_path("out/last.csv")
    )
    settings = RunSettings(is_draft=True, sandbox="sandbox") if request.param == "sandbox" else RunSettings()
    return prepared(folder, settings=settings)


@pytest.mark.parametrize(
    ("name", "seq"),
    [
        ("lake.result", 1),
        ("result", 1),
        ("op-1", 1),
        ("Write the table", 1),
        ("booked", 1),
        ("out/2026-01.csv", 2),
        ("out/{{identifier}}.csv", 2),
        ("out/last.csv", 3),
        (None, 3),
    ],
)
def test_names(run: PreparedRun, name: str | None, seq: int) -> None:
    assert choose_output(completed(run).outputs, run, name).operation_seq == seq


def test_the_place_is_a_name_too(run: PreparedRun) -> None:
    result = completed(run)
    assert [choose_output(result.outputs, run, each.place) for each in result.outputs] == list(result.outputs)


def test_an_unknown_name(run: PreparedRun) -> None:
    with pytest.raises(DaybookError) as caught:
        choose_output(completed(run).outputs, run, "out/lost.csv")
    assert caught.value.code == "RUN_019"
    assert "out/last.csv" in str(caught.value.hint)


def test_a_run_without_outputs(run: PreparedRun) -> None:
    result = completed(run)
    nothing = RunResult("r", "p", 1, "2026-01", result.as_of, "completed", False, None, {}, 1, (), (), ())
    with pytest.raises(DaybookError) as caught:
        choose_output(nothing.outputs, run, None)
    assert caught.value.message == "The run has no output to show; it has none"
