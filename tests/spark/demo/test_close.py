"""The demonstration's close against the same close in plain Python."""

import csv
import datetime
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from daybook.demo.month_close import CLOSE_PROJECTS, DemoQuarter, build_quarter, read_headline, seal_month
from daybook.engine.java.connect import is_connect
from daybook.plan.steps import Schema
from daybook.runs.attempt.run_request import RunRequest
from daybook.runs.explain import selected_rows
from daybook.runs.explain.levels import ExplanationLevel
from daybook.runs.run_result import RunResult
from daybook.workspace.execution import run_project
from daybook.workspace.explain import explain_number
from daybook.workspace.open_workspace import open_workspace
from tests.close_by_hand import balances_by_hand, by_account_type, close_by_hand
from tests.office import convert, sheet_formulas, sheet_values, without_stored_values
from tests.spark.demo.conftest import PERIOD, ClosedDemo

pytestmark = pytest.mark.usefixtures("product_settings")


@pytest.fixture(scope="module")
def workspace(demo: ClosedDemo) -> Path:
    return demo.root


@pytest.fixture(scope="module")
def quarter(demo: ClosedDemo, product_settings: None) -> DemoQuarter:
    return build_quarter(demo.workspace, PERIOD)


def run_close(folder: Path, spark: SparkSession, wish: RunRequest) -> list[RunResult]:
    return list(run_project(open_workspace(folder, session=lambda: spark), wish).completed)


def warehouse_rows(folder: Path, period: str) -> dict[tuple[str, str], tuple[Decimal, Decimal, Decimal, int]]:
    rows = DeltaTable(folder / "warehouse" / "actual_vs_budget").to_pyarrow_table().to_pylist()
    found = {
        (row["account_type"], row["cost_centre"]): (
            row["actual"],
            row["budget"],
            row["variance"],
            int(row["journal_lines"]),
        )
        for row in rows
        if row["_run_period"] == period
    }
    assert len(found) == sum(row["_run_period"] == period for row in rows)
    return found


def by_hand(
    folder: Path, period: str, as_of: datetime.date | None = None
) -> dict[tuple[str, str], tuple[Decimal, Decimal, Decimal, int]]:
    table = close_by_hand(folder / "data", period, as_of)
    return {key: (cell.actual, cell.budget, cell.actual - cell.budget, cell.lines) for key, cell in table.items()}


def csv_rows(path: Path) -> Iterator[tuple[tuple[str, str], tuple[Decimal, Decimal, Decimal, int]]]:
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            amounts = (Decimal(row["actual"]), Decimal(row["budget"]), Decimal(row["variance"]))
            yield (row["account_type"], row["cost_centre"]), (*amounts, int(row["journal_lines"]))


def test_every_number_of_january_is_right(workspace: Path) -> None:
    expected = by_hand(workspace, "2026-01")
    assert len(expected) > 30
    assert ("Shared services", "CC-110") in expected
    assert warehouse_rows(workspace, "2026-01") == expected
    assert dict(csv_rows(workspace / "out" / "actual-vs-budget-2026-01.csv")) == expected


def test_the_headline_sums_up_by_account_type(workspace: Path) -> None:
    expected = by_account_type(close_by_hand(workspace / "data", "2026-01"))
    lines = read_headline(workspace, "2026-01")
    assert {line.account_type: (line.actual, line.budget) for line in lines} == {
        name: (cell.actual, cell.budget) for name, cell in expected.items()
    }
    assert all(line.variance == line.actual - line.budget for line in lines)
    assert [lines[0].account_type, lines[-1].account_type] == ["Revenue", "Operating result"]


def test_the_board_opens_a_workbook_that_computes_the_headline(workspace: Path, tmp_path: Path) -> None:
    written = workspace / "out" / "management-summary-2026-01.xlsx"
    emptied = without_stored_values(written, tmp_path / "board.xlsx")
    computed = sheet_values(convert(emptied, "xlsx", tmp_path), "Summary")
    expected = by_account_type(close_by_hand(workspace / "data", "2026-01"))
    found = {row["account_type"]: (row["actual"], row["budget"]) for row in computed}
    assert found == {name: (float(cell.actual), float(cell.budget)) for name, cell in expected.items()}
    assert len(sheet_formulas(written, "Summary")) == 2 * len(expected)


@pytest.mark.slow
@pytest.mark.usefixtures("quarter")
def test_february_keeps_january(workspace: Path) -> None:
    assert warehouse_rows(workspace, "2026-01") == by_hand(workspace, "2026-01")
    assert warehouse_rows(workspace, "2026-02") == by_hand(workspace, "2026-02")
    assert len(read_headline(workspace, "2026-01")) == len(read_headline(workspace, "2026-02")) == 9


@pytest.mark.slow
def test_a_build_of_the_quarter_rolls_the_balances_forward(workspace: Path, quarter: DemoQuarter) -> None:
    months = ["2026-01", "2026-02", "2026-03"]
    assert quarter.build.is_ok
    rows = DeltaTable(workspace / "warehouse" / "balances").to_pyarrow_table().to_pylist()
    columns = ("opening", "movement", "balance", "last_year", "change")
    found = {(row["_run_period"], row["account_code"]): tuple(row[name] for name in columns) for row in rows}
    assert found == balances_by_hand(workspace / "data", months)
    assert len(found) == 9
    assert {each.node.name for each in quarter.status.nodes} == {
        f"{project}@{month}" for project in CLOSE_PROJECTS for month in months
    }
    assert {each.state for each in quarter.status.nodes} == {"fresh"}


def test_a_later_day_brings_the_corrected_rate_and_march_keeps_january(spark: SparkSession, workspace: Path) -> None:
    """The pound of March was corrected on the twelfth."""
    day = datetime.date(2026, 3, 31)
    expected = by_hand(workspace, "2026-03", day)
    assert expected != by_hand(workspace, "2026-03")
    run_close(workspace, spark, RunRequest("close", "2026-03", as_of=day))
    assert warehouse_rows(workspace, "2026-03") == expected
    assert warehouse_rows(workspace, "2026-01") == by_hand(workspace, "2026-01")


def test_operations_report_what_they_did(workspace: Path, demo: ClosedDemo) -> None:
    close = demo.done.runs[0]
    lines = pq.read_table(workspace / "data" / "ledger" / "2026-01.parquet").to_pylist()
    reversed_lines = [line for line in lines if line["status"] != "posted"]
    zeros = [line for line in lines if line["amount"] == 0 and line["status"] == "posted"]
    counts = {operation.seq: operation for operation in close.operations}
    assert counts[0].rows_added == len(lines)
    assert counts[10].rows_picked == counts[20].rows_picked == len(lines)
    assert counts[50].rows_deleted == len(reversed_lines) > 0
    assert counts[55].rows_deleted == len(zeros)
    assert counts[60].rows_added == counts[70].rows_picked == 8
    assert counts[80].rows_deleted == 1
    assert counts[120].rows_written == counts[130].rows_written == counts[110].rows_added
    assert close.notices == ()


def test_what_corrected_rates_move_is_bridged(workspace: Path, demo: ClosedDemo) -> None:
    found = demo.done.correction

    ends = (datetime.date(2026, 1, 1), datetime.date(2026, 1, 31))
    tables = [close_by_hand(workspace / "data", "2026-01", day) for day in ends]
    assert found is not None
    assert [found.before, found.after] == [sum(cell.actual for cell in table.values()) for table in tables]
    assert [cause.members[0].text for cause in found.causes] == ["as_of:exchange-rates"]
    assert not found.residual


def test_explaining_a_number_asks_three_small_questions(
    spark: SparkSession, demo: ClosedDemo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One for each operation on the way, with only the joins and operations that the number depends on."""
    if is_connect(spark):
        pytest.skip("a Connect server does not show its plans")
    queries: list[str] = []
    collect = selected_rows._collect_rows

    def noted(df: DataFrame, types: Schema) -> list[dict[str, Any]]:
        queries.append(df._jdf.queryExecution().analyzed().toString())
        return collect(df, types)

    monkeypatch.setattr(selected_rows, "_collect_rows", noted)
    keys = {"account_type": "Travel", "cost_centre": "CC-110"}
    found = explain_number(demo.workspace, demo.run, "110", keys, limit=20)
    assert found.first.summary_rows is not None
    (total,) = found.first.summary_rows.rows
    assert (total["actual"], total["budget"]) == by_hand(demo.root, PERIOD)["Travel", "CC-110"][:2]
    assert found.is_complete
    assert all(level.is_equal for level in (ExplanationLevel(1, (found.first,)), *found.levels))
    # Shared services are no travel, so the last level has neither their rows nor their two joins.
    assert sorted(each.count("Join ") for each in queries) == [0, 3, 5]
    nodes = sorted(len(each.splitlines()) for each in queries)
    assert nodes[-1] <= 80
    assert sum(nodes) <= 150


def test_the_sealed_month_is_the_same_in_its_tables_and_computed_again(demo: ClosedDemo, quarter: DemoQuarter) -> None:
    """By Spark when it is sealed, by plain Python from the tables, and by the second engine from the sources."""
    assert quarter.build.is_ok
    sealed = seal_month(demo.workspace, PERIOD)
    assert sealed.verification.problems == ()
    assert {(subject.data, subject.recomputed) for subject in sealed.verification.subjects} == {("same", "same")}
    assert {subject.name.partition("@")[0] for subject in sealed.verification.subjects} == set(CLOSE_PROJECTS)
