"""A scenario from rows of a run: small, and every operation has something to do."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from daybook.errors import DaybookError, Notice
from daybook.runs.run_listener import RunListener
from daybook.scenarios.load_scenario import load_scenario
from daybook.scenarios.new_scenario import NewScenario, write_new_scenario
from daybook.scenarios.run_scenarios import run_scenario_file
from daybook.scenarios.scenario_report import failure_lines
from daybook.scenarios.time_limit import TimeLimit
from tests.workspaces import Folder, assign, to_table

COLUMNS: list[dict[str, Any]] = [
    {"name": "order_id", "type": "string", "nullable": False},
    {"name": "region", "type": "string"},
    {"name": "amount", "type": "decimal(18,2)"},
    {"name": "text", "type": "string", "nullable": False},
]
RATES: list[dict[str, Any]] = [{"name": "area", "type": "string"}, {"name": "rate", "type": "decimal(5,2)"}]
COUNTED = {"column": "orders", "expression": "COUNT(*)"}
BUDGET: list[dict[str, Any]] = [{"name": "region", "type": "string"}, {"name": "amount", "type": "decimal(18,2)"}]


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path) -> Folder:
    """Eight orders, of which one is void and only those of two regions together come above the limit."""
    made = Folder.new(tmp_path / "w", lambda: spark)
    orders = [
        {"order_id": f"O-{number:02}", "region": ("EMEA", "APAC")[number % 2], "amount": "10.00", "text": "x"}
        for number in range(8)
    ]
    orders[7]["amount"] = "0.00"
    made.write_csv("data/orders.csv", [{**row, "_period": "2026-01"} for row in orders])
    made.dataset("orders", COLUMNS, {"path": "data/orders.csv"}, temporal_mode="period")
    made.write_csv("data/rates.csv", [{"area": area, "rate": "2.00"} for area in ("EMEA", "APAC", "LATAM")])
    made.dataset("rates", RATES, {"path": "data/rates.csv"})
    made.write_csv("data/budget.csv", [{"region": "EMEA", "amount": f"{number}.00"} for number in range(3)])
    made.dataset("budget", BUDGET, {"path": "data/budget.csv"})
    join = {"alias": "rates", "dataset_id": "rates", "on": "region = rates.area"}
    made.project(
        {"type": "delete", "selector": "amount = 0", "id": "void"},
        {
            "type": "update",
            "id": "convert",
            "arguments": {"joins": [join], "assignments": [{"column": "amount", "expression": "amount * rates.rate"}]},
        },
        {"type": "append", "id": "plan", "arguments": {"source": {"dataset_id": "budget"}}},
        {
            "type": "aggregate",
            "id": "totals",
            "selector": "_operation_seq < 3",
            "arguments": {
                "group_by": ["region"],
                "aggregations": [{"column": "total", "expression": "SUM(amount)"}],
            },
        },
        {
            "type": "update",
            "id": "large",
            "selector": "total > 45",
            "arguments": {"assignments": [{"column": "is_large", "expression": "TRUE"}]},
        },
        to_table(),
    )
    return made


# Longer than any test takes: what is found does not depend on the load of the machine.
LONG = 3600.0


class Hearing(RunListener):
    def __init__(self) -> None:
        self.stages: list[str] = []
        self.notices: list[Notice] = []

    def stage(self, text: str) -> None:
        self.stages.append(text)

    def notice(self, notice: Notice) -> None:
        self.notices.append(notice)


def write(
    folder: Folder,
    run_id: str,
    file: Path | None = None,
    *,
    within_seconds: float = LONG,
    listener: RunListener | None = None,
) -> NewScenario:
    workspace = folder.load()
    with folder.around(workspace) as environment:
        heard = replace(environment, listener=listener or RunListener())
        return write_new_scenario(heard, workspace, run_id, file, within_seconds=within_seconds)


def test_every_operation_has_something_to_do_and_no_row_can_be_left_out(spark: SparkSession, folder: Folder) -> None:
    run = folder.run()
    made = write(folder, run.run_id)
    assert made.file == folder.root / "tests" / "scenarios" / "p-2026-01.yaml"
    assert made.missed == ()
    scenario = load_scenario(made.file)
    rows = {each.version.dataset.id: len(each.rows) for each in scenario.datasets}
    # The void one, and three of one region: 3 * 10 * 2 is the first total above 45. One row of the budget.
    assert rows == {"orders": 4, "rates": 1, "budget": 1}
    assert list(failure_lines(run_scenario_file(spark, made.file))) == []
    assert scenario.frame.expect.counts == {"void": 1, "convert": 3, "plan": 1, "totals": 1, "large": 1, "op-6": 5}

    before = made.file.read_text()
    with pytest.raises(DaybookError) as caught:
        write(folder, run.run_id)
    assert caught.value.code == "MODEL_095"
    assert made.file.read_text() == before


@pytest.fixture
def large(spark: SparkSession, tmp_path: Path) -> Folder:
    """Six thousand orders of two months; what the operations look for is rare among them."""
    made = Folder.new(tmp_path / "large", lambda: spark)
    orders = [
        {
            "order_id": f"O-{number:04}",
            "region": f"R{number % 50}",
            "amount": "900.00" if number % 600 in (7, 8) else "1.00",
            "text": "void" if number == 4322 else "late" if number == 2222 else "x",
            "_period": "2026-01" if number % 2 else "2026-02",
        }
        for number in range(6000)
    ]
    made.write_csv("data/orders.csv", orders)
    made.dataset("orders", COLUMNS, {"path": "data/orders.csv"}, temporal_mode="period")
    made.define("dataset", {"id": "month-before", "view": {"of": "orders", "window": "previous"}})
    made.write_csv("data/rates.csv", [{"area": f"R{number}", "rate": "2.00"} for number in range(50)])
    made.dataset("rates", RATES, {"path": "data/rates.csv"})
    made.write_csv("data/budget.csv", [{"region": f"R{number % 50}", "amount": "3.00"} for number in range(2000)])
    made.dataset("budget", BUDGET, {"path": "data/budget.csv"})
    rate = {"alias": "rates", "dataset_id": "rates", "on": "region = rates.area"}
    total = {"column": "total", "expression": "SUM(amount)"}
    made.project(
        {"type": "delete", "selector": 'text = "void"', "id": "void"},
        assign("text", '"was late"', selector='text = "late"', id="late"),
        {
            "type": "update",
            "id": "convert",
            "arguments": {"joins": [rate], "assignments": [{"column": "amount", "expression": "amount * rates.rate"}]},
        },
        assign("text", '"never"', selector='region = "nowhere"', id="never"),
        {
            "type": "append",
            "id": "plan",
            "arguments": {
                "source": {"dataset_id": "budget"},
                "aggregation": {
                    "group_by": ["region"],
                    "aggregations": [{"column": "amount", "expression": "SUM(amount)"}],
                },
            },
        },
        {
            "type": "append",
            "id": "before",
            "arguments": {
                "source": {"dataset_id": "month-before"},
                "source_selector": "amount > 100",
                "columns": {"order_id": "order_id", "region": "region", "amount": "-amount"},
            },
        },
        assign("position", "ROW_NUMBER() OVER (region ORDER BY amount DESC)", selector="amount > 100", id="rank"),
        {"type": "aggregate", "id": "totals", "arguments": {"group_by": ["region"], "aggregations": [total]}},
        assign("is_large", "TRUE", selector="total > 5000", id="large"),
        to_table(),
    )
    return made


@pytest.mark.slow
def test_rare_rows_of_a_large_run_are_found_and_few_of_them_kept(spark: SparkSession, large: Folder) -> None:
    run = large.run("2026-02")
    made = write(large, run.run_id)
    # Nothing in the run was of that region. The total needs several of the ten large orders among 120.
    assert made.missed == ("never",)
    assert made.rows <= 12
    scenario = load_scenario(made.file)
    assert list(failure_lines(run_scenario_file(spark, made.file))) == []
    counts = scenario.frame.expect.counts or {}
    assert {name for name, count in counts.items() if not count} == {"never"}


def counted(rows: int) -> tuple[dict[str, Any], ...]:
    """Operations that only pass with that many rows."""
    return (
        {"type": "aggregate", "id": "all", "arguments": {"group_by": ["_period"], "aggregations": [COUNTED]}},
        {"type": "check", "selector": "_operation_seq > 0", "arguments": {"condition": f"orders = {rows}"}},
        to_table(),
    )


def test_a_check_that_needs_all_rows_of_a_group_gets_them(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daybook.scenarios.trials.MOST_TRIES", 3)
    folder.project(*counted(8))
    assert write(folder, folder.run().run_id).rows == 8


def test_where_no_few_rows_pass_a_check_that_is_said(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daybook.scenarios.new_scenario._MOST_ROWS", (2, 4))
    folder.project(*counted(8))
    heard = Hearing()
    with pytest.raises(DaybookError) as caught:
        write(folder, folder.run().run_id, listener=heard)
    assert (caught.value.code, [cause.code for cause in caught.value.causes]) == ("RUN_088", ["CHECK_020"])
    # Before anything was looked for, and once more when the first rows were too few.
    (warning,) = heard.notices
    assert (warning.code, warning.operation_seq) == ("RUN_092", 2)
    assert "up to 2 of a group" in heard.stages[0]
    assert any(stage.startswith("too few rows: Operation 2") for stage in heard.stages)


def test_when_there_is_no_time_left_nothing_is_written(folder: Folder) -> None:
    run = folder.run()
    with pytest.raises(DaybookError) as caught:
        write(folder, run.run_id, within_seconds=0)
    assert (caught.value.code, caught.value.parameters["limit"]) == ("RUN_091", "0 s")
    assert not (folder.root / "tests").exists()
    assert folder.staged() == []


def test_when_the_time_ends_the_rows_found_so_far_are_written(
    spark: SparkSession, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock jumps to the end of the limit when rows are left out for the first time."""
    now = [0.0]

    class Stopping(Hearing):
        def stage(self, text: str) -> None:
            super().stage(text)
            if text.startswith("leaving out"):
                now[0] = LONG

    monkeypatch.setattr("daybook.scenarios.new_scenario.TimeLimit", partial(TimeLimit, clock=lambda: now[0]))
    run = folder.run()
    made = write(folder, run.run_id, listener=Stopping())
    assert not made.is_reduced
    assert made.missed == ()
    assert list(failure_lines(run_scenario_file(spark, made.file))) == []


def test_jobs_that_run_when_the_limit_is_over_are_stopped(spark: SparkSession) -> None:
    limit = TimeLimit(0.0)
    with pytest.raises(Exception, match=r"(?i)cancel"), limit.stopping(spark):
        # Far longer than any test may take.
        spark.range(1 << 50).selectExpr("MAX(id * 7 % 11)").collect()
