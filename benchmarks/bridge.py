"""A bridge with four causes against the five runs that somebody would make by hand, and a diff of the same two runs.

python -m benchmarks.bridge [--rows 1000000]

The aim: a bridge with k causes costs no more than k + 1 runs of the project.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.meter import Reading, measure
from daybook import Workspace

CURRENCIES = ("EUR", "USD", "GBP", "CHF", "JPY")
PERIOD = "2026-01"
CAUSES = 4


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory(prefix="daybook-bench-") as name:
        root = Path(name)
        write_definitions(root, "before", rounding=2, factor="1.00")
        write_data(root / "before", rows, late=0, dollar="0.9000")
        with Workspace(root) as workspace:
            # The first run pays for the start of Spark and for reading the files once.
            first = workspace.run("close", PERIOD).id
            one = measure(lambda: workspace.run("close", PERIOD))
            write_definitions(root, "after", rounding=1, factor="1.01")
            write_data(root / "after", rows, late=100, dollar="0.9500")
            second = workspace.run("close", PERIOD).id
            two = measure(lambda: workspace.run("close", PERIOD))
            compared = measure(lambda: workspace.diff(first, second, rows=0, key=["line"]))
            found: list[Any] = []
            bridged = measure(lambda: found.append(workspace.bridge(first, second, measure="total")))
    result = found[0].result
    assert len(result.causes) == CAUSES, [cause.label for cause in result.causes]
    assert not result.residual
    by_hand = Reading((CAUSES + 1) * (one.wall + two.wall) / 2, (CAUSES + 1) * (one.processor + two.processor) / 2)
    print(f"{rows:,} rows, {CAUSES} causes, {result.computations} computations")
    for label, reading in (("one run", one), ("diff, all rows", compared), ("bridge", bridged), ("by hand", by_hand)):
        print(f"{label:<16} {reading.wall:8.1f} s   {reading.processor:8.1f} s of processors")
    print(f"the bridge takes {bridged.processor / by_hand.processor:.2f} of what five runs take")
    return int(bridged.processor > by_hand.processor)


def write_definitions(root: Path, state: str, *, rounding: int, factor: str) -> None:
    journal = [("line", "string"), ("account", "string"), ("currency", "string"), ("amount", "decimal(18,2)")]
    dataset("journal", journal, ["line"], root, state)
    dataset("rates", [("currency", "string"), ("rate", "decimal(10,4)")], ["currency"], root, state)
    (root / "daybook.yaml").write_text("name: bench\n")
    write(root, "lake", {"datasource": {"id": "lake", "name": "lake", "type": "delta", "options": {"path": "lake"}}})
    converted = f"ROUND(amount * rates.rate, {rounding})"
    operations = [
        update(
            10,
            "convert",
            "eur",
            converted,
            [{"alias": "rates", "dataset_id": "rates", "on": "rates.currency = currency"}],
        ),
        update(20, "scale", "eur", f"eur * {factor}"),
        update(30, "label", "kind", 'CONCAT(account, "-", currency)'),
        update(40, "size", "size", 'IF(ABS(eur) > 500, "large", "small")'),
        {
            "id": "totals",
            "seq": 50,
            "type": "aggregate",
            "arguments": {
                "group_by": ["account"],
                "aggregations": [{"column": "total", "expression": "SUM(eur)"}],
            },
        },
        {
            "id": "out",
            "seq": 60,
            "type": "output",
            "arguments": {"destination": {"datasource_id": "lake", "table": "totals"}},
        },
    ]
    write(
        root,
        "close",
        {"project": {"id": "close", "name": "close", "input": {"dataset_id": "journal"}, "operations": operations}},
    )


def update(seq: int, id_: str, column: str, expression: str, joins: list[Any] | None = None) -> dict[str, Any]:
    assignment = {"column": column, "expression": expression}
    if column == "eur":
        assignment["type"] = "decimal(18,4)"
    return {"id": id_, "seq": seq, "type": "update", "arguments": {"joins": joins or [], "assignments": [assignment]}}


def dataset(name: str, columns: list[tuple[str, str]], key: list[str], root: Path, state: str) -> None:
    table = {
        "name": name,
        "columns": [{"name": column, "type": type_} for column, type_ in columns],
        "location": {"path": f"{state}/{name}.parquet"},
    }
    write(root, name, {"dataset": {"id": name, "name": name, "natural_key_columns": key, "main_table": table}})


def write(root: Path, name: str, definition: dict[str, Any]) -> None:
    (root / f"{name}.json").write_text(json.dumps(definition))


def write_data(folder: Path, rows: int, *, late: int, dollar: str) -> None:
    """Journal lines that are the same in both states but for the late ones, in files of their own."""
    numbers = np.arange(rows + late)
    folder.mkdir()
    journal = pa.table(
        {
            "line": pa.array([f"J-{number}" for number in numbers]),
            "account": pa.array([f"{4000 + number % 50}" for number in numbers]),
            "currency": pa.array([CURRENCIES[number % len(CURRENCIES)] for number in numbers]),
            "amount": pa.array((numbers * 37) % 100_000).cast(pa.decimal128(19, 0)).cast(pa.decimal128(18, 2)),
        }
    )
    pq.write_table(journal, folder / "journal.parquet")
    rates = {"EUR": "1.0000", "USD": dollar, "GBP": "1.1500", "CHF": "1.0500", "JPY": "0.0060"}
    values = pa.array(list(rates.values())).cast(pa.decimal128(10, 4))
    pq.write_table(pa.table({"currency": pa.array(list(rates)), "rate": values}), folder / "rates.parquet")


if __name__ == "__main__":
    sys.exit(main())
