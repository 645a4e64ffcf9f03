"""Row ids: the same on any number of partitions, in every run, and never twice."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from daybook.engine.context import ORDINAL_COLUMN, ORIGIN_COLUMN, SourceFrame
from daybook.io.bindings import Binding
from daybook.io.data_files import DataFile
from daybook.io.formats.parquet.format import scan_parquet
from daybook.model.types import STRING
from daybook.plan.loads import INPUT_KEY
from tests.spark.engine.executed import World, budget, customer, order, source
from tests.unit.plan.planned import plan_of

UUID_7 = re.compile(r"019b76da-a800-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")

PROJECT = """
- type: update
  selector: "quantity > 10"
  arguments:
    joins: [{alias: c, dataset_id: customers, on: customer_id = c.id}]
    assignments: [{column: tier, expression: c.tier}, {column: amount, expression: amount * 1.05}]
- {type: delete, selector: quantity % 7 = 0}
- {type: append, arguments: {source: {dataset_id: budget}}}
- type: aggregate
  arguments:
    group_by: [region, tier]
    aggregations: [{column: total, expression: SUM(amount)}, {column: n, expression: COUNT(*)}]
- type: append
  arguments:
    source: {dataset_id: budget}
    aggregation: {group_by: [region], aggregations: [{column: amount, expression: AVG(amount)}]}
- type: aggregate
  arguments: {group_by: [status], aggregations: [{column: n, expression: COUNT(*)}]}
- {type: output, arguments: {destination: {location: out.csv}, include_deleted: true}}
"""
ORDERS = [
    order(f"O-{n}", customer_id=f"C-{n % 5}", region=[None, "EMEA", "US"][n % 3], amount=f"{n}.25", quantity=n)
    for n in range(60)
]
CUSTOMERS = [customer(f"C-{n}", ["gold", "std"][n % 2]) for n in range(4)]
BUDGETS = [budget(["EMEA", "US", None][n % 3], f"{n}.5", n) for n in range(9)]


def executed(world: World, partitions: int | None) -> list[tuple[tuple[str, Any], ...]]:
    rows = world.run(PROJECT, ORDERS, customers=CUSTOMERS, budgets=BUDGETS, partitions=partitions).rows
    return sorted((tuple(sorted(row.items())) for row in rows), key=str)


@pytest.fixture(scope="module")
def expected() -> list[list[tuple[tuple[str, Any], ...]]]:
    return []


@pytest.mark.parametrize("partitions", [1, 5, *(pytest.param(each, marks=pytest.mark.slow) for each in (2, 7, 16))])
def test_rows_and_ids_do_not_depend_on_partitions(
    world: World, expected: list[list[tuple[tuple[str, Any], ...]]], partitions: int
) -> None:
    found = executed(world, partitions)
    if not expected:
        expected.append(found)
    assert found == expected[0]
    ids = [dict(row)["_row_id"] for row in found]
    # 60 orders, 9 budgets, the groups (region, tier) that occur, 3 regions of budgets, one status.
    assert len(ids) == len(set(ids))
    assert all(UUID_7.fullmatch(row_id) for row_id in ids)


def test_output_rows_are_input_rows_and_added_rows(world: World) -> None:
    run = world.run(PROJECT, ORDERS, customers=CUSTOMERS, budgets=BUDGETS)
    added = {seq: count for seq, (_, count) in run.picked().items()}
    assert added[1] == added[2] == 0
    assert (added[3], added[5], added[6]) == (9, 3, 1)
    assert len(run.rows) == 60 + sum(added.values())
    assert run.picked()[2] == (sum(n % 7 == 0 for n in range(60)), 0)


CLASSIFY = (
    "- {type: update, selector: quantity > 1, arguments: {assignments: [{column: status, expression: '\"big\"'}]}}\n"
)
DROP = "- {type: delete, selector: quantity = 3}\n"
TOTALS = (
    "- {type: aggregate, selector: _operation_seq = 0, "
    "arguments: {group_by: [region], aggregations: [{column: total, expression: SUM(amount)}]}}\n"
)
JOIN = """
- type: update
  arguments:
    joins: [{alias: c, dataset_id: customers, on: CONDITION}]
    assignments: [{column: tier, expression: c.tier}]
"""
BY_KEY, BY_RANGE = JOIN.replace("CONDITION", "customer_id = c.id"), JOIN.replace("CONDITION", "customer_id < c.id")
SOME = "- {type: output, arguments: {columns: [order_id, region, amount], destination: {location: some.csv}}}\n"
ALL = "- {type: output, arguments: {destination: {location: all.csv}}}\n"


def scan_text(world: World, folder: Path, operations: str) -> str:
    """How Spark reads the input, a Parquet file, for the first output."""
    plan = plan_of(operations)
    load, *joins = plan.loads
    source(world.spark, load, ORDERS).rows.identified.drop(ORIGIN_COLUMN, ORDINAL_COLUMN).coalesce(1).write.parquet(
        str(folder)
    )
    bindings = [Binding(name, name, column_type) for name, column_type in {**load.types, "_period": STRING}.items()]
    files = [DataFile(str(file)) for file in folder.glob("*.parquet")]
    rows = scan_parquet(world.spark, files, bindings, frozenset(), str(folder))
    frames = {
        INPUT_KEY: SourceFrame(rows, frozenset({"_period"})),
        **{join.key: source(world.spark, join, CUSTOMERS) for join in joins},
    }
    with world.pipeline(plan, frames) as executing, contextlib.redirect_stdout(io.StringIO()) as shown:
        next(iter(executing.groups())).outputs[0].df.explain()
    return shown.getvalue()


@pytest.mark.parametrize("operations", [SOME, CLASSIFY + DROP + SOME, BY_KEY + TOTALS + SOME])
def test_where_a_row_stands_in_its_file_is_not_read_where_nothing_needs_its_id(
    world: World, tmp_path: Path, operations: str
) -> None:
    text = scan_text(world, tmp_path / "orders", operations)
    assert "FileScan parquet" in text
    assert "row_index" not in text
    assert "file_path" not in text


@pytest.mark.parametrize("operations", [ALL, BY_RANGE + SOME])
def test_where_a_row_stands_in_its_file_is_read_for_its_id(world: World, tmp_path: Path, operations: str) -> None:
    text = scan_text(world, tmp_path / "orders", operations)
    assert "row_index" in text
    assert "file_path" in text
