"""What `daybook init` writes runs, and the scenarios that come along pass."""

from pathlib import Path
from typing import get_args

import pytest
from pyspark.sql import SparkSession

from daybook.definitions.loading import load_workspace
from daybook.demo.workspace_files import Template, write_workspace
from daybook.runs.attempt.run_request import RunRequest
from daybook.runs.environment import open_run_environment
from daybook.scenarios.load_scenario import find_scenarios
from daybook.scenarios.run_scenarios import run_scenario_file
from tests.workspaces import run_files

# By hand from data/orders.csv: fees are three percent of each order, rounded to the cent.
JANUARY = """\
region,sales,fees,orders
AMER,640.00,19.20,1
APAC,2100.50,63.02,1
EMEA,1339.90,40.20,2
unknown,75.25,2.26,1
"""


def test_the_starter_runs(spark: SparkSession, tmp_path: Path) -> None:
    write_workspace("starter", tmp_path)
    workspace = load_workspace(tmp_path)
    with open_run_environment(workspace, lambda: spark) as around:
        (result,) = run_files(workspace, around, RunRequest("monthly-sales", "2026-01"))
    assert result.notices == ()
    assert (tmp_path / "out" / "sales-2026-01.csv").read_text(encoding="utf-8") == JANUARY


@pytest.mark.parametrize("template", get_args(Template))
def test_the_scenarios_pass(spark: SparkSession, template: Template, tmp_path: Path) -> None:
    write_workspace(template, tmp_path)
    results = [run_scenario_file(spark, file) for file in find_scenarios((), tmp_path)]
    assert results
    assert [(result.name, result.differences, result.error) for result in results if not result.is_passed] == []
