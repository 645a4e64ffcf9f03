"""Pages of a run's output of ten million rows without Spark: first screen, deep page, filter, order, totals.

python -m benchmarks.numbers [--rows 10000000] [--files 8]
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import psutil
import pyarrow as pa

import daybook
from benchmarks.figures import record
from benchmarks.meter import measure
from tests.workspaces import Folder, no_session, to_table
from tests.written_runs import write_run

COLUMNS = [
    {"name": "line_id", "type": "string"},
    {"name": "account", "type": "string"},
    {"name": "cost_centre", "type": "string"},
    {"name": "booked", "type": "date"},
    {"name": "quantity", "type": "integer"},
    {"name": "amount", "type": "decimal(18,2)"},
    {"name": "amount_eur", "type": "decimal(38,2)"},
]
ROUNDS = 5


def table(rows: int) -> pa.Table:
    random = np.random.default_rng(1)
    cents = random.integers(-(10**9), 10**9, rows)
    wide = np.empty(2 * rows, "<i8")
    wide[0::2], wide[1::2] = cents, np.where(cents < 0, -1, 0)
    buffer = pa.py_buffer(wide)
    return pa.table(
        {
            "line_id": pa.array(np.arange(rows)).cast(pa.string()),
            "account": pa.array(random.integers(1000, 1500, rows)).cast(pa.string()),
            "cost_centre": pa.array(random.integers(0, 40, rows)).cast(pa.string()),
            "booked": pa.array(random.integers(20_000, 20_031, rows).astype("int32")).cast(pa.date32()),
            "quantity": pa.array(random.integers(0, 100, rows)),
            "amount": pa.Array.from_buffers(pa.decimal128(18, 2), rows, [None, buffer]),
            "amount_eur": pa.Array.from_buffers(pa.decimal128(38, 2), rows, [None, buffer]),
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--files", type=int, default=8)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Folder.new(Path(place), no_session)
        folder.dataset("lines", COLUMNS, {"path": "data/lines.csv"})
        folder.project(to_table(columns=[column["name"] for column in COLUMNS]), input_="lines")
        run_id = write_run(folder, {1: table(arguments.rows)}, files=arguments.files)
        workspace = daybook.Workspace(folder.root)
        middle, one = arguments.rows // 2, [("line_id", "=", str(arguments.rows // 3))]
        cases: dict[str, Callable[[], object]] = {
            "first screen": lambda: workspace.numbers(run_id, totals=False),
            "a page in the middle": lambda: workspace.numbers(run_id, offset=middle, totals=False),
            "filter: one row": lambda: workspace.numbers(run_id, where=one, totals=False),
            "filter: one account": lambda: workspace.numbers(run_id, where=[("account", "=", "1234")], totals=False),
            "order by an amount": lambda: workspace.numbers(run_id, sort=["-amount"], totals=False),
            "totals of three columns": lambda: workspace.numbers(run_id, limit=1),
            "all rows as CSV": lambda: sum(map(len, workspace.numbers_csv(run_id).pieces)),
        }
        print(f"{arguments.rows:,} rows in {arguments.files} files, median of {ROUNDS}")
        for name, case in cases.items():
            found = [measure(case) for _ in range(1 if "CSV" in name else ROUNDS)]
            wall, processor = median(each.wall for each in found), median(each.processor for each in found)
            record(f"numbers, {arguments.rows:,} rows: {name}", [each.wall for each in found])
            memory = psutil.Process().memory_info().rss / 1e6
            print(f"{name:<26} {wall:7.3f} s   processor {processor:7.3f} s   {memory:7.0f} MB in use")


if __name__ == "__main__":
    main()
