"""What following two measures through ten operations costs: the same run with and without `measures`, in turn.

python -m benchmarks.measures [--rows 5000000] [--rounds 5]

Five million lines from Parquet to Delta, through the whole product. The aim is at most 1.05 times the run without. The
aim goes by processor time, which does not depend on what else the machine does; the clock is shown beside it.
"""

import argparse
import itertools
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

import daybook
from benchmarks.figures import record
from benchmarks.meter import Reading, measure

AIM = 1.05

OPERATIONS = """
  - {type: update, selector: region = "EMEA", arguments: {assignments: [{column: rate, expression: "0.93"}]}}
  - {type: update, selector: region <> "EMEA", arguments: {assignments: [{column: rate, expression: "1.07"}]}}
  - {type: update, arguments: {assignments: [{column: euro, expression: "ROUND(amount * rate, 2)"}]}}
  - type: update
    selector: status = "active"
    arguments:
      joins: [{alias: c, dataset_id: customers, on: customer_id = c.id}]
      assignments: [{column: tier, expression: c.tier}]
  - {type: update, selector: tier = "gold", arguments: {assignments: [{column: amount, expression: "amount * 0.9"}]}}
  - {type: delete, selector: amount = 0}
  - {type: update, arguments: {assignments: [{column: year, expression: YEAR(day)}]}}
  - {type: check, arguments: {condition: quantity >= 0}}
  - type: aggregate
    arguments:
      group_by: [region, tier]
      aggregations: [{column: amount, expression: SUM(amount)}, {column: euro, expression: SUM(euro)}]
  - type: output
    arguments: {destination: {datasource_id: lake, table: TABLE}}
"""

DEFINITIONS = """
datasource: {id: lake, type: delta, options: {path: lake}}
---
dataset:
  id: orders
  main_table:
    name: orders
    temporal_mode: period
    location: {path: data/orders, format: parquet}
    columns:
      - {name: order_id, type: string, nullable: false}
      - {name: customer_id, type: string}
      - {name: region, type: string}
      - {name: status, type: string}
      - {name: amount, type: "decimal(18,2)"}
      - {name: quantity, type: integer}
      - {name: day, type: date}
---
dataset:
  id: customers
  main_table:
    name: customers
    location: {path: data/customers, format: parquet}
    columns: [{name: id, type: string, nullable: false}, {name: tier, type: string}]
"""
KINDS = {"plain": "", "measured": "  measures: [amount, euro]\n"}


def make_workspace(folder: Path, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    (folder / "daybook.yaml").write_text("name: benchmark\nengine: {master: 'local[2]'}\n")
    projects = [
        f"---\nproject:\n  id: {kind}\n  input: {{dataset_id: orders}}\n{head}  operations:"
        + OPERATIONS.replace("TABLE", kind)
        for kind, head in KINDS.items()
    ]
    (folder / "definitions.yaml").write_text(DEFINITIONS + "".join(projects))
    (folder / "data/orders").mkdir(parents=True)
    (folder / "data/customers").mkdir()
    step = 500_000
    for number, first in enumerate(range(0, rows, step)):
        ids = pa.array(range(first, min(first + step, rows)), pa.int64())
        text = ids.cast(pa.string())
        regions = pa.array(["EMEA", "AMER", "APAC"])
        cents = pc.subtract(pc.multiply(ids, 31), pc.multiply(pc.divide(pc.multiply(ids, 31), 1_000_003), 1_000_003))
        rest = {size: pc.subtract(ids, pc.multiply(pc.divide(ids, size), size)) for size in (3, 5, 13, 31, 100_000)}
        table = pa.table(
            {
                "order_id": pc.binary_join_element_wise("O", text, "-"),
                "customer_id": pc.binary_join_element_wise("C", rest[100_000].cast(pa.string()), "-"),
                "region": regions.take(rest[3]),
                "status": pc.if_else(pc.less(rest[5], 4), "active", "closed"),
                "amount": pc.multiply(cents.cast(pa.decimal128(19, 0)), pa.scalar("0.01").cast(pa.decimal128(2, 2))),
                "quantity": rest[13],
                "day": pc.add(rest[31], 20_454).cast(pa.int32()).cast(pa.date32()),
                "_period": pa.array(["2026-01"] * len(ids)),
            }
        )
        amount = table.column("amount").cast(pa.decimal128(18, 2))
        table = table.set_column(table.schema.get_field_index("amount"), "amount", amount)
        pq.write_table(table, folder / f"data/orders/{number:04d}.parquet")
    numbers = range(100_000)
    customers = {"id": [f"C-{n}" for n in numbers], "tier": ["gold" if n % 4 == 0 else "standard" for n in numbers]}
    pq.write_table(pa.table(customers), folder / "data/customers/0.parquet")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="daybook-measures-"))
    try:
        make_workspace(folder, arguments.rows)
        readings: dict[str, list[Reading]] = {kind: [] for kind in KINDS}
        with daybook.Workspace(folder) as workspace:
            for round_, kind in itertools.product(range(arguments.rounds + 1), KINDS):
                reading = measure(lambda kind=kind: workspace.run(kind, "2026-01"))  # type: ignore[misc]
                if round_:
                    readings[kind].append(reading)
                    print(f"{kind:<10} {reading.processor:7.2f} s of processor time, {reading.wall:7.2f} s")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for kind, own in readings.items():
        record(f"measures, {kind}", [one.processor for one in own])
    medians = {kind: median(one.processor for one in own) for kind, own in readings.items()}
    walls = {kind: median(one.wall for one in own) for kind, own in readings.items()}
    ratio, clock = (figures["measured"] / figures["plain"] for figures in (medians, walls))
    print(
        f"{arguments.rows:,} lines: {ratio:.3f} times the processor time without measures (aim {AIM}), "
        f"{clock:.3f} times by the clock"
    )
    return int(ratio > AIM)


if __name__ == "__main__":
    sys.exit(main())
