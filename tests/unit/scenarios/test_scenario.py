"""Expected outputs are named by table, path or operation id, and must exist."""

from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.scenarios.load_scenario import load_scenario
from daybook.scenarios.scenario import Scenario, expected_outputs, unknown_name_errors

SCENARIO = """\
name: Two outputs
period: "2026-01"
datasets:
  - dataset: {{id: ones, main_table: {{name: ones, columns: [{{name: a, type: integer}}]}}}}
    rows: [{{a: 1}}]
project:
  name: Twice
  operations:
    - {{type: output, arguments: {{destination: {{datasource_id: lake, table: first}}}}}}
    - {{id: last, type: output, arguments: {{destination: {{location: out/second.csv}}}}}}
expect:
  {expect}
"""


def load(folder: Path, expect: str) -> Scenario:
    file = folder / "scenario.yaml"
    file.write_text(SCENARIO.format(expect=expect), encoding="utf-8")
    return load_scenario(file)


def unknown(scenario: Scenario) -> list[DaybookError]:
    return list(unknown_name_errors(scenario))


@pytest.mark.parametrize("name", ["first", "op-1", "out/second.csv", "last"])
def test_an_output_has_the_names_of_its_place_and_its_operation(tmp_path: Path, name: str) -> None:
    scenario = load(tmp_path, f"outputs: {{{name}: []}}")
    assert unknown(scenario) == []
    assert expected_outputs(scenario) == {name: ()}


def test_rows_are_those_of_the_last_output(tmp_path: Path) -> None:
    scenario = load(tmp_path, "rows: [{a: 1}]")
    assert expected_outputs(scenario) == {"out/second.csv": ({"a": 1},)}


def test_an_output_that_does_not_exist_is_an_error_where_it_is_named(tmp_path: Path) -> None:
    scenario = load(tmp_path, "outputs: {frist: []}")
    (error,) = unknown(scenario)
    assert (error.code, error.hint) == ("MODEL_070", "did you mean first?")
    assert error.span is not None
    assert error.span.line == 12
