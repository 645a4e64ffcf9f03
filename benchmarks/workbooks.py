"""A workbook of 500,000 rows and 20 columns, written from staged rows and read again, in bounded memory.

python -m benchmarks.workbooks [--rows 500000]
"""

import argparse
import datetime
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from daybook.io.bindings import checked_options
from daybook.io.formats.xlsx.format import WorkbookWriter, XlsxRows
from daybook.io.target import FileTarget, OutputColumn, SliceOwner
from daybook.model.dataset import ColumnDef, Dataset, MainTable
from daybook.model.definition import DatasetVersion
from daybook.model.types import DATE, INTEGER, STRING, ColumnType, DecimalType
from daybook.resolve.location import Location

_T = TypeVar("_T")

PART_ROWS = 50_000
# All that writing and reading may add to what the process holds before.
MOST_MEGABYTES = 400
TYPES: tuple[ColumnType, ...] = (*(STRING,) * 5, *(DATE,) * 3, *(INTEGER,) * 4, *(DecimalType(18, 2),) * 8)
COLUMNS = tuple(OutputColumn(f"c{number:02}", type_) for number, type_ in enumerate(TYPES))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=500_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory(prefix="daybook-bench-") as name:
        folder = Path(name)
        file = folder / "large.xlsx"
        write_parts(folder / "parts", rows)
        before = peak_megabytes()
        measured(f"write {rows:,} x {len(COLUMNS)}", lambda: write(folder / "parts", file))
        print(f"{'size of the file':<28} {file.stat().st_size / 2**20:8.0f} MiB")
        found = measured(f"read {rows:,} x {len(COLUMNS)}", lambda: count_rows(file))
        added = peak_megabytes() - before
    print(f"{'memory added':<28} {added:8.0f} MiB (at most {MOST_MEGABYTES})")
    return int(found != rows or added > MOST_MEGABYTES)


def write_parts(folder: Path, rows: int) -> None:
    """What Spark stages: texts, dates, whole numbers and amounts, no two rows alike."""
    folder.mkdir()
    first = datetime.date(2026, 1, 1)
    for part, start in enumerate(range(0, rows, PART_ROWS)):
        numbers = np.arange(start, min(start + PART_ROWS, rows))
        arrays = []
        for index, column in enumerate(COLUMNS):
            values = numbers * 37 + index
            if column.type == STRING:
                arrays.append(pa.array([f"text {value % 9973}" for value in values]))
            elif column.type == DATE:
                arrays.append(pa.array(np.datetime64(first, "D") + values % 365, pa.date32()))
            elif column.type == INTEGER:
                arrays.append(pa.array(values, pa.int64()))
            else:
                arrays.append(pa.array(values % 10_000_000).cast(pa.decimal128(19, 0)).cast(pa.decimal128(18, 2)))
        table = pa.table(arrays, names=[column.name for column in COLUMNS])
        pq.write_table(table, folder / f"part-{part:05}.parquet")


def write(parts: Path, file: Path) -> None:
    target = FileTarget(
        location=Location("xlsx", uri=str(file)),
        mode="replace",
        columns=COLUMNS,
        run_id="bench",
        operation_seq=1,
        owner=SliceOwner("bench", "output"),
    )
    WorkbookWriter().complete_parts(parts, file, target, checked_options("xlsx", {}, is_output=True))


def count_rows(file: Path) -> int:
    columns = tuple(ColumnDef(name=column.name, type=column.type) for column in COLUMNS)
    version = DatasetVersion(Dataset(id="d", name="d", main_table=MainTable(name="d", columns=columns)), 1)
    source = XlsxRows(str(file), Location("xlsx", uri=str(file)), version)
    return sum(batch.rows for batch in source.batches())


def measured(label: str, work: Callable[[], _T]) -> _T:
    began, cpu = time.monotonic(), time.process_time()
    done = work()
    print(f"{label:<28} {time.monotonic() - began:8.1f} s, {time.process_time() - cpu:.1f} s of one core", flush=True)
    return done


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
