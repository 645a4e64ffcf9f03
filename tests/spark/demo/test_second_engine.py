"""The close of the demonstration on both engines: a preview shows the numbers that a run writes, to the last cell."""

import csv
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from daybook.demo.generated_data import write_data
from daybook.demo.workspace_files import write_workspace
from daybook.model.types import value_text
from daybook.runs.attempt.run_request import RunRequest
from daybook.workspace.execution import run_project
from daybook.workspace.open_workspace import open_workspace
from daybook.workspace.preview import preview_project
from daybook.workspace.recomputation import recompute
from tests.spark.demo.conftest import PERIOD, ClosedDemo


def test_every_run_of_the_demonstration_is_computed_again(demo: ClosedDemo) -> None:
    for run_id in (demo.run, demo.draft, demo.summary):
        again = recompute(demo.workspace, run_id)
        assert [(each.problem, each.differences) for each in again.outputs] == [(None, ())] * len(again.outputs)
        assert sum(each.cells for each in again.outputs) > 100


@pytest.mark.usefixtures("product_settings")
def test_a_preview_has_the_counts_and_the_rows_of_a_run(spark: SparkSession, tmp_path: Path) -> None:
    write_workspace("close", tmp_path / "demo")
    write_data(tmp_path / "demo" / "data", 100)
    workspace = open_workspace(tmp_path / "demo", session=lambda: spark)
    request = RunRequest("close", PERIOD)
    previewed = preview_project(workspace, request, rows=10_000)
    (done,) = run_project(workspace, request).completed
    counts = {each.seq: each for each in done.operations}
    assert previewed.input_rows == counts[0].rows_added
    assert len(previewed.operations) == 12
    for each in previewed.operations:
        written = counts[each.seq]
        assert (each.added or each.picked) in (written.rows_added, written.rows_picked, written.rows_deleted), each
    assert [each.row_count for each in previewed.outputs] == [each.rows_written for each in done.outputs]
    with next(tmp_path.rglob("actual-vs-budget-*.csv")).open(encoding="utf-8", newline="") as stream:
        _, *lines = csv.reader(stream)
    shown = [[value_text(value, null="") for value in row] for row in previewed.outputs[1].rows]
    assert shown == lines
