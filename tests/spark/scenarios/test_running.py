"""Scenarios give what runs give, on every machine."""

import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from daybook.engine.pipeline import OutputFrame
from daybook.errors import DaybookError
from daybook.scenarios import engines
from daybook.scenarios.run_scenarios import ScenarioResult, run_scenario_file, run_scenario_files
from daybook.scenarios.scenario_report import failure_lines

OUTPUT = "{type: output, arguments: {destination: {location: out.csv}}}"


def scenario(folder: Path, text: str, *, name: str = "case", period: str = "2026-01") -> Path:
    file = folder / f"{name}.yaml"
    head = f"name: {name}\nperiod: {period}\n"
    file.write_text(head + textwrap.dedent(text).replace("OUTPUT", OUTPUT), encoding="utf-8")
    return file


def code(result: ScenarioResult) -> str | None:
    return result.error.code if isinstance(result.error, DaybookError) else None


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("new_york")
def test_timestamps_do_not_depend_on_the_time_zone_of_the_machine(spark: SparkSession, tmp_path: Path) -> None:
    file = scenario(
        tmp_path,
        """
        datasets:
          - dataset: {id: o, main_table: {name: o, columns: [{name: at, type: timestamp}]}}
            rows: [{at: "2026-03-08T02:30:00Z"}, {at: "0001-01-01T00:00:00Z"}]
        project: {name: P, operations: [OUTPUT]}
        expect: {rows: [{at: "2026-03-08T02:30:00Z"}, {at: "0001-01-01T00:00:00Z"}]}
        """,
    )
    assert list(failure_lines(run_scenario_file(spark, file))) == []


@pytest.mark.parametrize("mode", ["snapshot", "bitemporal"])
def test_declared_columns_of_validity_keep_their_values(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    derived = "2026-01-01" if mode == "bitemporal" else "null"
    file = scenario(
        tmp_path,
        f"""
        datasets:
          - dataset:
              id: o
              main_table:
                name: o
                temporal_mode: {mode}
                columns: [{{name: valid_from, type: date}}, {{name: valid_to, type: date}}]
            rows: [{{valid_from: 2026-01-01, valid_to: 2026-02-01}}]
        project: {{name: P, operations: [OUTPUT]}}
        expect: {{rows: [{{valid_from: 2026-01-01, valid_to: 2026-02-01, _valid_from: {derived}}}]}}
        """,
    )
    assert list(failure_lines(run_scenario_file(spark, file))) == []


FISCAL = """
calendar:
  id: fiscal
  rule: {type: months, first_month: 4}
  levels:
    - {name: year, unit: year, identifier: "FY{{year}}"}
    - {name: month, unit: month, identifier: "FY{{year}}-P{{month}}"}
"""


@pytest.mark.parametrize("is_defined", [True, False])
def test_periods_are_those_of_the_calendar_of_the_workspace(
    spark: SparkSession, tmp_path: Path, is_defined: bool
) -> None:
    (tmp_path / "daybook.yaml").write_text("name: w\n", encoding="utf-8")
    (tmp_path / "calendar.yaml").write_text(FISCAL if is_defined else "", encoding="utf-8")
    folder = tmp_path / "tests" / "scenarios"
    folder.mkdir(parents=True)
    file = scenario(
        folder,
        """
        datasets:
          - dataset: {id: o, main_table: {name: o, columns: [{name: id, type: integer}]}}
            rows: [{id: 1}]
        project:
          name: P
          calendar_id: fiscal
          operations:
            - {type: update, arguments: {assignments: [{column: p, expression: period.identifier}]}}
            - OUTPUT
        expect: {rows: [{p: FY2026-P01}]}
        """,
        period="FY2026-P01",
    )
    assert code(run_scenario_file(spark, file)) == (None if is_defined else "RESOLVE_003")


def test_a_mistake_of_ours_is_the_failure_of_one_scenario(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """
        datasets:
          - dataset: {id: o, main_table: {name: o, columns: [{name: id, type: integer}]}}
            rows: [{id: 1}]
        project: {name: P, operations: [OUTPUT]}
        expect: {rows: [{id: 1}]}
        """
    files = [scenario(tmp_path, text, name=name) for name in ("bad", "good")]
    read = engines._read_output

    def fail(output: OutputFrame) -> None:
        monkeypatch.setattr(engines, "_read_output", read)
        raise OverflowError("too far")

    monkeypatch.setattr(engines, "_read_output", fail)
    bad, good = run_scenario_files(lambda: spark, files, threads=1)
    assert list(failure_lines(bad)) == ["internal error of Daybook: OverflowError: too far"]
    assert good.is_passed
