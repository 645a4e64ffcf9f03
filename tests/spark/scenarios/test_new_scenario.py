"""A scenario from rows of a run: small, and every operation has something to do."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from daybook.errors import DaybookError
from daybook.scenarios.load_scenario import load_scenario
from daybook.scenarios.new_scenario import NewScenario, write_new_scenario
from daybook.scenarios.report import failure_lines
from daybook.scenarios.run_scenarios import run_scenario_file
from tests.workspaces import Folder, to_table

COLUMNS: list[dict[str, Any]] = [
    {"name": "order_id", "type": "string", "nullable": False},
    {"name": "region", "type": "string"},
    {"name": "amount", "type": "decimal(18,2)"},
    {"name": "text", "type": "string", "nullable": False},
]
RATES: list[dict[str, Any]] = [{"name": "area", "type": "string"}, {"name": "rate", "type": "decimal(5,2)"}]
BUDGET: list[dict[str, Any]] = [{"name": "region", "type": "string"}, {"name": "amount", "type": "decimal(18,2)"}]


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path) -> Folder:
    """Forty orders, of which one is void and only those of two regions together come above the limit."""
    made = Folder.new(tmp_path / "w", lambda: spark)
    orders = [
        {"order_id": f"O-{number:02}", "region": ("EMEA", "APAC")[number % 2], "amount": "10.00", "text": "x"}
        for number in range(40)
    ]
    orders[7]["amount"] = "0.00"
    made.write_csv("data/orders.csv", [{**row, "_period": "2026-01"} for row in orders])
    made.dataset("orders", COLUMNS, {"path": "data/orders.csv"}, temporal_mode="period")
    made.write_csv("data/rates.csv", [{"area": area, "rate": "2.00"} for area in ("EMEA", "APAC", "LATAM")])
    made.dataset("rates", RATES, {"path": "data/rates.csv"})
    made.write_csv("data/budget.csv", [{"region": "EMEA", "amount": f"{number}.00"} for number in range(9)])
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


def write(folder: Folder, run_id: str, file: Path | None = None) -> NewScenario:
    workspace = folder.load()
    with folder.around(workspace) as around:
        return write_new_scenario(around, workspace, run_id, file)


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
