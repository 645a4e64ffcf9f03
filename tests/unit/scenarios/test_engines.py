"""The second engine computes scenarios without Spark."""

import textwrap
from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.scenarios.run_scenarios import run_scenario_files
from daybook.scenarios.scenario_report import failure_lines

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def test_every_scenario_of_the_specification_passes() -> None:
    files = sorted(SCENARIOS.rglob("*.yaml"))
    results = list(run_scenario_files(None, files, threads=1, engine="quick"))
    assert len(results) == len(files) > 100
    assert {result.file.name: list(failure_lines(result)) for result in results if not result.is_passed} == {}


CASE = """
name: case
period: "2026-01"
datasets:
  - dataset: {id: o, main_table: {name: o, columns: [{name: amount, type: "decimal(12,2)"}]}}
    rows: [{amount: 1.10}, {amount: 2.20}]
project:
  id: p
  operations:
    - {id: double, type: update, arguments: {assignments: [{column: amount, expression: amount * 2}]}}
    - {type: output, arguments: {destination: out.csv, columns: [amount]}}
"""


def scenario(folder: Path, expectation: str) -> Path:
    file = folder / "case.yaml"
    file.write_text(CASE + textwrap.dedent(expectation), encoding="utf-8")
    return file


def test_what_differs_is_said(tmp_path: Path) -> None:
    file = scenario(tmp_path, "expect: {rows: [{amount: 2.20}, {amount: 4.41}], counts: {double: 3}}")
    (result,) = run_scenario_files(None, [file], threads=1, engine="quick")
    assert list(failure_lines(result)) == [
        "out.csv: 1 row differs",
        "  expected   {amount: 4.41}",
        "  but        amount is 4.40",
        "operation double: expected 3 rows, but it was 2",
    ]


@pytest.mark.parametrize(("expected", "is_passed"), [("UPDATE_007", True), ("CHECK_020", False)])
def test_failures_of_a_run_have_their_codes(tmp_path: Path, expected: str, is_passed: bool) -> None:
    file = scenario(tmp_path, f"expect: {{error: {expected}}}")
    text = file.read_text(encoding="utf-8").replace("amount * 2", "amount * 10000000000")
    file.write_text(text, encoding="utf-8")
    (result,) = run_scenario_files(None, [file], threads=1, engine="quick")
    assert result.is_passed == is_passed
    assert is_passed or (isinstance(result.error, DaybookError) and result.error.code == "UPDATE_007")
