"""The rules of the specification as scenarios, through the product's own runner, on both engines."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from daybook.scenarios.run_scenarios import run_scenario_file
from daybook.scenarios.scenario_report import failure_lines

SCENARIOS = Path(__file__).parents[2] / "scenarios"
FILES = sorted(SCENARIOS.rglob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=[str(file.relative_to(SCENARIOS).with_suffix("")) for file in FILES])
def test_scenario(spark: SparkSession, file: Path) -> None:
    reasons = "\n".join(failure_lines(run_scenario_file(spark, file, engine="both")))
    assert not reasons, reasons


def test_there_are_scenarios() -> None:
    assert {file.parent.name for file in FILES} >= {
        "update",
        "aggregate",
        "append",
        "delete",
        "check",
        "output",
        "project",
    }
