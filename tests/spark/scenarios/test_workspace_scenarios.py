"""Scenarios that name what the workspace defines: datasets and projects by id, several periods, chains, counts."""

import textwrap
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from daybook.errors import DaybookError
from daybook.scenarios.engines import EngineName
from daybook.scenarios.run_scenarios import ScenarioResult, run_scenario_file
from daybook.scenarios.scenario_report import failure_lines
from tests.workspaces import Folder, assign, no_session, to_table

COLUMNS: list[dict[str, Any]] = [
    {"name": "account", "type": "string", "nullable": False},
    {"name": "amount", "type": "decimal(38,2)"},
    {"name": "booked_by", "type": "string", "nullable": False},
]
CLOSING = [{"name": "account", "type": "string"}, {"name": "amount", "type": "decimal(38,2)"}]


@pytest.fixture
def close(tmp_path: Path) -> Folder:
    """Movements roll forward into closing balances; the trial balance reads those, doubled."""
    folder = Folder.new(tmp_path / "w", no_session)
    folder.dataset("movements", COLUMNS, {"path": "data/gl/{{identifier}}.csv"}, temporal_mode="period")
    location = {"datasource_id": "lake", "table": "closing"}
    folder.dataset("closing", CLOSING, location, temporal_mode="period")
    folder.define("dataset", {"id": "opening", "view": {"of": "closing", "window": "previous", "missing": "empty"}})
    total = {"group_by": ["account"], "aggregations": [{"column": "amount", "expression": "SUM(amount)"}]}
    folder.project(
        {"type": "delete", "selector": "amount = 0", "id": "zeros"},
        {"type": "append", "arguments": {"source": {"dataset_id": "opening"}}, "id": "opening"},
        {"type": "aggregate", "arguments": total, "id": "totals"},
        {**to_table("closing", columns=["account", "amount"]), "selector": "_operation_seq = 3"},
        id_="ledger",
        input_="movements",
    )
    folder.project(
        assign("amount", "amount * param.factor"),
        to_table("tb", columns=["account", "amount"], register_as_dataset="trial"),
        id_="tb",
        input_="closing",
        parameters={"factor": {"type": "integer", "default": 2}},
    )
    folder.project(to_table("report", columns=["account", "amount"]), id_="report", input_="trial")
    return folder


def run(spark: SparkSession, folder: Folder, text: str) -> ScenarioResult:
    file = folder.root / "tests" / "scenarios" / "case.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("name: case\n" + textwrap.dedent(text), encoding="utf-8")
    return run_scenario_file(spark, file)


def test_a_dataset_by_id_needs_only_the_columns_that_matter(spark: SparkSession, close: Folder) -> None:
    found = run(
        spark,
        close,
        """
        period: "2026-01"
        datasets:
          - dataset: {id: movements}
            rows: [{account: cash, amount: 1.50}, {account: cash, amount: 2}, {account: bank, amount: 0}]
          - {dataset: {id: closing}, rows: [{account: bank, amount: 7, _period: "2025-12"}]}
        project: {id: ledger}
        expect:
          rows: [{account: cash, amount: 3.50}, {account: bank, amount: 7}]
          counts: {zeros: 1, opening: 1, totals: 2, 4: 2}
        """,
    )
    assert list(failure_lines(found)) == []


def test_periods_run_in_order_and_read_what_the_ones_before_wrote(spark: SparkSession, close: Folder) -> None:
    found = run(
        spark,
        close,
        """
        periods: ["2026-01", "2026-02", "2026-03"]
        datasets:
          - dataset: {id: movements}
            rows:
              - {account: cash, amount: 1, _period: "2026-01"}
              - {account: cash, amount: 10, _period: "2026-02"}
              - {account: bank, amount: 5, _period: "2026-03"}
        project: {id: ledger}
        expect:
          rows:
            - {account: cash, amount: 1, _period: "2026-01"}
            - {account: cash, amount: 11, _period: "2026-02"}
            - {account: cash, amount: 11, _period: "2026-03"}
            - {account: bank, amount: 5, _period: "2026-03"}
          counts: {opening: 2}
        """,
    )
    assert list(failure_lines(found)) == []


def test_a_chain_reads_what_it_wrote_by_place_and_by_registration(spark: SparkSession, close: Folder) -> None:
    found = run(
        spark,
        close,
        """
        periods: ["2026-01", "2026-02"]
        parameters: {factor: 3}
        datasets:
          - dataset: {id: movements}
            rows: [{account: cash, amount: 1, _period: "2026-01"}, {account: cash, amount: 10, _period: "2026-02"}]
        build: [ledger, tb, report]
        expect:
          outputs:
            closing: [{account: cash, amount: 1}, {account: cash, amount: 11}]
            tb.tb: [{amount: 3}, {amount: 33}]
            report: [{amount: 3, _period: "2026-01"}, {amount: 33, _period: "2026-02"}]
          counts: {tb.1: 2}
        """,
    )
    assert list(failure_lines(found)) == []


def test_what_is_wrong_says_where_and_what_was_meant(spark: SparkSession, close: Folder) -> None:
    rows = 'datasets: [{dataset: {id: movements}, rows: [{account: cash, amount: 1, _period: "2026-01"}]}]'
    for text, problem in (
        ('period: "2026-01"\ndatasets: [{dataset: {id: movement}, rows: []}]\nproject: {id: ledger}', "movement"),
        (f'period: "2026-01"\n{rows}\nproject: {{id: legder}}', "legder"),
        (f'period: "2026-01"\n{rows}\nbuild: [tb]', "closing is read"),
        (f"{rows}\nproject: {{id: ledger}}", "either period or periods"),
    ):
        found = run(spark, close, f"{text}\nexpect: {{rows: []}}")
        assert isinstance(found.error, DaybookError)
        assert found.error.code == "MODEL_070"
        assert problem in str(found.error.parameters["problem"])
    found = run(spark, close, f'period: "2026-01"\n{rows}\nproject: {{id: ledger}}\nexpect: {{counts: {{zeros: 4}}}}')
    assert list(failure_lines(found)) == ["operation zeros: expected 4 rows, but it was 0"]


def test_a_registered_dataset_is_named_by_its_id(spark: SparkSession, close: Folder) -> None:
    result = run(
        spark,
        close,
        """
        period: "2026-01"
        datasets:
          - dataset: {id: trial}
            rows: [{account: A, amount: 3}]
        project: {id: report}
        expect: {rows: [{account: A, amount: 3}]}
        """,
    )
    assert result.is_passed, "\n".join(failure_lines(result))


RATES: list[dict[str, Any]] = [{"name": "currency", "type": "string"}, {"name": "rate", "type": "decimal(9,2)"}]


@pytest.mark.parametrize("engine", ["spark", "quick", "both"])
def test_the_as_of_rule_of_a_dataset_holds_as_in_a_run(spark: SparkSession, tmp_path: Path, engine: EngineName) -> None:
    folder = Folder.new(tmp_path / "w", no_session)
    folder.dataset("rates", RATES, {"path": "rates.csv"}, temporal_mode="bitemporal", as_of="end")
    folder.project(to_table("out", columns=["currency", "rate"]), id_="read", input_="rates")
    file = folder.root / "case.yaml"
    file.write_text(
        textwrap.dedent(
            """
            name: The rate at the end of the month, without an end of validity
            period: "2026-01"
            datasets:
              - dataset: {id: rates}
                rows:
                  - {currency: USD, rate: 0.90, valid_from: 2025-12-01, valid_to: 2026-01-15}
                  - {currency: USD, rate: 0.80, valid_from: 2026-01-15}
            project: {id: read}
            expect: {rows: [{currency: USD, rate: 0.80}]}
            """
        ),
        encoding="utf-8",
    )
    result = run_scenario_file(spark, file, engine=engine)
    assert result.is_passed, "\n".join(failure_lines(result))


def test_rows_that_say_no_period_are_of_the_scenarios(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "case.yaml"
    file.write_text(
        textwrap.dedent(
            """
            name: case
            period: "2026-01"
            datasets:
              - dataset:
                  id: sales
                  main_table:
                    {name: sales, temporal_mode: period, columns: [{name: amount, type: integer}]}
                rows: [{amount: 1}]
            project:
              id: p
              operations: [{type: output, arguments: {destination: out.csv, columns: [amount, _period]}}]
            expect: {rows: [{amount: 1, _period: "2026-01"}]}
            """
        ),
        encoding="utf-8",
    )
    result = run_scenario_file(spark, file, engine="both")
    assert result.is_passed, "\n".join(failure_lines(result))
