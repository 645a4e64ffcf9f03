"""Lineage of the seeds' annotated example and of the demo, against files that were written by hand."""

import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from daybook.demo.workspace_files import write_workspace
from daybook.plan.lineage import ColumnInput
from daybook.workspace.lineage import LineageOutput, LineageResult, trace_columns
from daybook.workspace.open_workspace import open_workspace

HERE = Path(__file__).parent
SEEDS = HERE.parent / "seeds"
CUSTOMERS = "d5e6f7g8-0000-0000-0000-000000000010"

SEED_DATASETS = f"""
dataset:
  id: orders
  name: Orders
  main_table:
    name: orders
    temporal_mode: period
    location: {{path: data/orders.csv}}
    columns:
      - {{name: order_id, type: string}}
      - {{name: customer_id, type: string}}
      - {{name: region, type: string}}
      - {{name: status, type: string}}
      - {{name: amount, type: "decimal(18,2)"}}
---
dataset:
  id: {CUSTOMERS}
  name: Customers
  main_table:
    name: customers
    location: {{path: data/customers.csv}}
    columns:
      - {{name: id, type: string}}
      - {{name: tier, type: string}}
---
datasource: {{id: ds-warehouse, name: Warehouse, type: delta, options: {{path: warehouse}}}}
"""

# The lines below a heading such as `120 actual`.
Lines = dict[str, list[str]]


def written(name: str) -> Lines:
    found: Lines = {}
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            found[list(found)[-1]].append(line.strip())
        elif line and not line.startswith("#"):
            found[line] = []
    return found


def told(output: LineageOutput) -> Iterator[tuple[str, list[str]]]:
    yield f"{output.seq} every column", [_line(each) for each in output.rows.inputs]
    for column in output.columns:
        yield f"{output.seq} {column.column}", [_line(each) for each in output.own_inputs(column)]


def _line(each: ColumnInput) -> str:
    name = f"{each.dataset_id.replace(CUSTOMERS, 'customers')}.{each.column}"
    return " ".join([each.how, name, *map(str, each.operations)])


def output_of(result: LineageResult, seq: int) -> Lines:
    return dict(told(next(output for output in result.outputs if output.seq == seq)))


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "close"
    write_workspace("close", folder)
    return folder


def test_the_annotated_example_of_the_seeds(tmp_path: Path) -> None:
    operations = (SEEDS / "operation-entity.operations.yaml").read_text(encoding="utf-8")
    (tmp_path / "daybook.yaml").write_text("name: seeds\n")
    (tmp_path / "datasets.yaml").write_text(SEED_DATASETS)
    project = "project:\n  id: p\n  name: P\n  input: {dataset_id: orders}\n"
    project += "  selectors: {active_orders: 'orders.status = \"active\"'}\n  operations:\n"
    (tmp_path / "p.yaml").write_text(project + textwrap.indent(operations, "  "))
    result = trace_columns(open_workspace(tmp_path), "p")
    assert output_of(result, 5) == written("seed.txt")


def test_the_close_of_the_demo(demo: Path) -> None:
    assert output_of(trace_columns(open_workspace(demo), "close"), 120) == written("demo-close.txt")


def test_the_management_summary_of_the_demo(demo: Path) -> None:
    result = trace_columns(open_workspace(demo), "management-summary")
    assert output_of(result, 50) == written("demo-summary.txt")


def test_the_management_summary_down_to_the_ledger(demo: Path) -> None:
    result = trace_columns(open_workspace(demo), "management-summary", ["budget"], to_start=True)
    assert output_of(result, 50) == written("demo-summary-from-start.txt")
