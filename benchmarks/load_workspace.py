"""How long many definition files take to load and validate; the aim is 1,000 files in under 2 seconds.

Run it as `python -m benchmarks.load_workspace [FILES]`.
"""

import sys
import tempfile
import time
from pathlib import Path

from benchmarks.figures import record
from daybook.cli.app import main as command

_DATASET = """\
dataset:
  id: dataset-{number}
  name: Orders of unit {number}
  natural_key_columns: [order_id]
  main_table:
    name: orders
    temporal_mode: period
    columns:
      - {{name: order_id, type: string, nullable: false}}
      - {{name: customer_id, type: string}}
      - {{name: region, type: string}}
      - {{name: status, type: string}}
      - {{name: amount, type: "decimal(18,2)"}}
      - {{name: quantity, type: integer}}
      - {{name: booked_on, type: date}}
      - {{name: changed_at, type: timestamp}}
    location: {{datasource_id: lake, table: orders_{number}}}
"""
_PROJECT = """\
project:
  id: project-{number}
  name: Close of unit {number}
  input: {{dataset_id: dataset-{number}}}
  selectors:
    active_orders: 'orders.status = "active"'
  operations:
    - seq: 10
      name: Tag EMEA orders
      type: update
      selector: "orders.region = \\"EMEA\\""
      arguments:
        assignments:
          - column: _labels
            expression: "CONCAT(_labels, \\"{{region:EMEA}}\\")"
    - seq: 20
      name: Enrich
      type: update
      selector: "{{{{active_orders}}}}"
      arguments:
        joins:
          - alias: others
            dataset_id: dataset-0
            on: orders.customer_id = others.customer_id
        assignments:
          - {{column: tier, expression: others.region}}
          - column: discounted
            expression: 'IF(others.region = "EMEA", orders.amount * 0.9, orders.amount + {number})'
    - seq: 30
      type: aggregate
      arguments:
        group_by: [orders._period, orders.region]
        aggregations:
          - {{column: total, expression: SUM(orders.amount + {number})}}
          - {{column: order_count, expression: COUNT(orders.order_id)}}
    - seq: 40
      type: delete
      selector: orders.amount = {number}
    - seq: 50
      type: output
      arguments:
        destination: {{datasource_id: warehouse, table: processed_{number}}}
"""
_SOURCES = """\
datasource: {id: lake, type: parquet, options: {path: data/lake}}
---
datasource: {id: warehouse, type: delta, options: {path: data/warehouse}}
"""


def write_workspace(root: Path, files: int) -> None:
    """Half datasets, half projects of five operations, in folders of a hundred."""
    (root / "daybook.yaml").write_text("name: benchmark\n", encoding="utf-8")
    (root / "sources.yaml").write_text(_SOURCES, encoding="utf-8")
    for number in range(files // 2):
        folder = root / f"unit-{number // 100}"
        folder.mkdir(exist_ok=True)
        (folder / f"dataset-{number}.yaml").write_text(_DATASET.format(number=number), encoding="utf-8")
        (folder / f"project-{number}.yaml").write_text(_PROJECT.format(number=number), encoding="utf-8")


def main(files: int = 1000) -> int:
    """1 when the aim is missed; one round of `daybook validate`, since a command remembers nothing of earlier ones."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_workspace(root, files)
        start = time.process_time()
        exit_code = command(["--workspace", folder, "validate"])
        seconds = time.process_time() - start
    if exit_code:
        raise SystemExit("the benchmark's own workspace is wrong")
    record(f"{files} definition files validated", [seconds])
    aim = 2 * files / 1000
    print(f"{files} files in {seconds:.2f} s of CPU, {'within' if seconds < aim else 'OVER'} the aim of {aim:.1f} s")
    return int(seconds >= aim)


if __name__ == "__main__":
    sys.exit(main(*(int(argument) for argument in sys.argv[1:2])))
