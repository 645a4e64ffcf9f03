"""Choosing scenario files; running them is tested with Spark."""

from pathlib import Path

import pytest

from daybook.demo.workspace_files import write_workspace
from daybook.errors import DaybookError
from daybook.workspace.scenarios import ScenarioReport, run_scenarios, select_scenarios
from tests.workspaces import no_session


def test_a_keyword_is_looked_for_in_file_and_name(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "scenarios"
    folder.mkdir(parents=True)
    (folder / "discount.yaml").write_text("name: Ten percent off\n")
    (folder / "other.yaml").write_text("period: '2026-01'\nname: A Discount of nothing\n")
    (folder / "third.yaml").write_text("name: Third\n# discount\n")
    found = select_scenarios((), tmp_path, keyword="discount")
    assert [path.name for path in found] == ["discount.yaml", "other.yaml"]
    assert len(select_scenarios((), tmp_path)) == 3


def test_a_path_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(DaybookError) as caught:
        select_scenarios([tmp_path / "nowhere"], tmp_path)
    assert caught.value.code == "MODEL_064"


def test_a_report_without_failures_is_ok(tmp_path: Path) -> None:
    write_workspace("starter", tmp_path)
    assert ScenarioReport(()).is_ok


@pytest.mark.parametrize(("code", "is_ok"), [("PROJECT_052", True), ("DELETE_002", True), ("UPDATE_004", False)])
def test_a_scenario_may_expect_a_code_that_was_replaced(tmp_path: Path, code: str, is_ok: bool) -> None:
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(
        f"""
name: A delete without a condition
period: 2026-01
datasets:
  - dataset: {{id: orders, main_table: {{name: orders, columns: [{{name: amount, type: integer}}]}}}}
    rows: [{{amount: 1}}]
project:
  id: p
  input: {{dataset_id: orders}}
  operations:
    - {{type: delete, selector: amount}}
    - {{type: output, arguments: {{destination: {{location: out.csv}}}}}}
expect:
  error: {code}
"""
    )
    assert run_scenarios([scenario], no_session).is_ok is is_ok
