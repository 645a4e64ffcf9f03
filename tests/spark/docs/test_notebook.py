"""A run as a notebook shows it, and what becomes of a session that was brought along."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import daybook
from daybook.demo.workspace_files import write_workspace


@pytest.fixture
def workspace(spark: SparkSession, tmp_path: Path) -> daybook.Workspace:
    write_workspace("starter", tmp_path)
    project = tmp_path / "projects" / "monthly-sales.yaml"
    text = project.read_text(encoding="utf-8")
    project.write_text(text.replace("name: Sum up by region", 'name: "<b>Sum up</b>"'), encoding="utf-8")
    return daybook.Workspace(tmp_path / "projects", spark=spark)


def test_a_run_is_a_page(workspace: daybook.Workspace, spark: SparkSession) -> None:
    with workspace:
        run = workspace.run("monthly-sales", "2026-02")
    page = run._repr_html_()
    assert "monthly-sales · 2026-02 · completed, draft" in page
    assert run.id in page
    assert "<b>Sum up</b>" not in page
    assert f"<Run {run.id} of monthly-sales for 2026-02: " in repr(run)
    assert run.to_dict()["outputs"][0]["rows_written"] == 2
    # A session that was brought along outlives the workspace.
    assert spark.range(3).count() == 3


def test_a_range_is_not_one_run(workspace: daybook.Workspace) -> None:
    with pytest.raises(daybook.DaybookError) as caught:
        workspace.run("monthly-sales", "2026-01..2026-02")
    assert caught.value.code == "RUN_021"


def test_workspaces_of_a_program_share_one_application(spark: SparkSession, is_connect: bool, tmp_path: Path) -> None:
    if is_connect:
        pytest.skip("a program may have several Connect sessions")
    for name in ("a", "b"):
        write_workspace("starter", tmp_path / name)
    first, second = daybook.Workspace(tmp_path / "a"), daybook.Workspace(tmp_path / "b")
    rows = first.run("monthly-sales", "2026-01").output()
    assert second.run("monthly-sales", "2026-02").output().count() == 2
    assert first.spark is not second.spark
    second.close()
    first.close()
    # Neither of them started it.
    assert rows.count() == 4
    assert spark.range(3).count() == 3
