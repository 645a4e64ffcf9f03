"""A bridge with four causes against the five runs that somebody would make by hand, and a diff against one run.

python -m benchmarks.bridge [--rows 1000000] [--rounds 5] [--joins 0] [--file]

Every round makes the five runs (each with one cause more), the bridge and the diff, one after the other, so that a busy
machine is busy for all of them. `--joins` puts so many lookups before the operations that changed; with `--file` the
output is a CSV file, which keeps no versions. The aim: a bridge with k causes costs no more than k + 1 runs.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.figures import record
from benchmarks.meter import Reading, measure
from daybook import Workspace

CURRENCIES = ("EUR", "USD", "GBP", "CHF", "JPY")
PERIOD = "2026-01"


@dataclass(frozen=True)
class State:
    """What is taken from the second run: which files, and what the two operations that changed say."""

    journal: str
    rates: str
    rounding: int
    factor: str


STATES = (
    State("before", "before", 2, "1.00"),
    State("after", "before", 2, "1.00"),
    State("after", "after", 2, "1.00"),
    State("after", "after", 1, "1.00"),
    State("after", "after", 1, "1.01"),
)
CAUSES = len(STATES) - 1


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--joins", type=int, default=0)
    parser.add_argument("--file", action="store_true")
    given = parser.parse_args()
    readings: dict[str, list[Reading]] = {}
    with tempfile.TemporaryDirectory(prefix="daybook-bench-") as name:
        root = Path(name)
        write_data(root / "before", given.rows, late=0, dollar="0.9000")
        write_data(root / "after", given.rows, late=100, dollar="0.9500")
        write_definitions(root, STATES[0], given)
        with Workspace(root) as workspace:
            # The first run pays for the start of Spark, the first bridge and diff for compiling.
            workspace.run("close", PERIOD)
            for number in range(given.rounds + 1):
                one = one_round(workspace, root, given)
                print(
                    f"round {number}: {', '.join(f'{label} {each.processor:.1f} s' for label, each in one.items())}",
                    flush=True,
                )
                for label, reading in one.items() if number else ():
                    readings.setdefault(label, []).append(reading)
    for label, found in readings.items():
        wall, processor = (
            median(values) for values in zip(*((each.wall, each.processor) for each in found), strict=True)
        )
        print(f"{label:<24} {wall:8.1f} s   {processor:8.1f} s of processors")
        record(f"bridge, {given.rows:,} rows: {label}", [each.wall for each in found])
    shares = [
        bridge.processor / by_hand.processor
        for bridge, by_hand in zip(readings["bridge"], readings["by hand"], strict=True)
    ]
    print(
        f"the bridge takes {median(shares):.2f} of what {CAUSES + 1} runs take: {', '.join(f'{s:.2f}' for s in shares)}"
    )
    return int(median(shares) > 1)


def one_round(workspace: Workspace, root: Path, given: argparse.Namespace) -> dict[str, Reading]:
    runs: list[str] = []
    by_hand = Reading(0.0, 0.0)
    last = by_hand
    for state in STATES:
        write_definitions(root, state, given)
        last = measure(lambda: runs.append(workspace.run("close", PERIOD).id))
        by_hand = Reading(by_hand.wall + last.wall, by_hand.processor + last.processor)
    found: list[Any] = []
    bridged = measure(lambda: found.append(workspace.bridge(runs[0], runs[-1], measure="total")))
    compared = measure(lambda: workspace.diff(runs[0], runs[-1], rows=0, key=["line"]))
    result = found[0].result
    assert len(result.causes) == CAUSES, [cause.label for cause in result.causes]
    assert not result.residual
    print(f"{given.rows:,} rows, {CAUSES} causes, {result.computations} computations", flush=True)
    return {"one run": last, "by hand": by_hand, "bridge": bridged, "diff of all rows": compared}


def write_definitions(root: Path, state: State, given: argparse.Namespace) -> None:
    journal = [("line", "string"), ("account", "string"), ("currency", "string"), ("amount", "decimal(18,2)")]
    dataset("journal", journal, ["line"], root, state.journal)
    dataset("rates", [("currency", "string"), ("rate", "decimal(10,4)")], ["currency"], root, state.rates)
    dataset("names", [("currency", "string"), ("rate", "decimal(10,4)")], ["currency"], root, "before", "rates")
    (root / "daybook.yaml").write_text("name: bench\n")
    write(root, "lake", {"datasource": {"id": "lake", "name": "lake", "type": "delta", "options": {"path": "lake"}}})
    lookups = [
        update(
            number + 1,
            f"lookup{number}",
            f"name{number}",
            f"n{number}.rate",
            [{"alias": f"n{number}", "dataset_id": "names", "on": f"n{number}.currency = currency"}],
        )
        for number in range(given.joins)
    ]
    used = "".join(f" + 0 * name{number}" for number in range(given.joins))
    rates = [{"alias": "rates", "dataset_id": "rates", "on": "rates.currency = currency"}]
    destination = {"location": "out/totals.csv"} if given.file else {"datasource_id": "lake", "table": "totals"}
    totals = {"group_by": ["account"], "aggregations": [{"column": "total", "expression": "SUM(eur)"}]}
    operations = [
        *lookups,
        update(100, "convert", "eur", f"ROUND(amount * rates.rate, {state.rounding})", rates),
        update(200, "scale", "eur", f"eur * {state.factor}{used}"),
        update(300, "label", "kind", 'CONCAT(account, "-", currency)'),
        update(400, "size", "size", 'IF(ABS(eur) > 500, "large", "small")'),
        {"id": "totals", "seq": 500, "type": "aggregate", "arguments": totals},
        {"id": "out", "seq": 600, "type": "output", "arguments": {"destination": destination}},
    ]
    project = {"id": "close", "name": "close", "input": {"dataset_id": "journal"}, "operations": operations}
    write(root, "close", {"project": project})


def update(seq: int, id_: str, column: str, expression: str, joins: list[Any] | None = None) -> dict[str, Any]:
    assignment = {"column": column, "expression": expression}
    if column == "eur":
        assignment["type"] = "decimal(18,4)"
    return {"id": id_, "seq": seq, "type": "update", "arguments": {"joins": joins or [], "assignments": [assignment]}}


def dataset(
    name: str, columns: list[tuple[str, str]], key: list[str], root: Path, folder: str, file: str | None = None
) -> None:
    table = {
        "name": name,
        "columns": [{"name": column, "type": type_} for column, type_ in columns],
        "location": {"path": f"{folder}/{file or name}.parquet"},
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
