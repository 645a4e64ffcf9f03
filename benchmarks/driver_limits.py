"""What the driver does alone, whatever the size of the cluster: commits of many files, and landing text.

python -m benchmarks.driver_limits [--files 100 1000 5000] [--rows 200000]

The figures behind docs/scaling.md: time per file of a commit and size of its log, rows a second of landing. No Spark.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from daybook.io.bindings import Binding
from daybook.io.column_types import arrow_type
from daybook.io.formats.csv.format import CsvRows
from daybook.io.formats.delta.table import data_files, open_table
from daybook.io.formats.delta.writer import DeltaWriter
from daybook.io.landing.area import LandingArea, LandingSink
from daybook.io.landing.batches import ImpliedColumns
from daybook.io.target import FileTarget, OutputColumn, SliceOwner
from daybook.io.writer import StagedOutput, staged_parquet_files
from daybook.model.dataset import ColumnDef, Dataset, MainTable
from daybook.model.definition import DatasetVersion
from daybook.model.types import DATE, INTEGER, STRING, ColumnType, DecimalType
from daybook.resolve.location import Location

COLUMNS: dict[str, ColumnType] = {
    **{f"text_{number}": STRING for number in range(10)},
    **{f"amount_{number}": DecimalType(18, 2) for number in range(6)},
    **{f"count_{number}": INTEGER for number in range(3)},
    "day": DATE,
}
VERSION = DatasetVersion(
    Dataset(
        id="d",
        name="d",
        main_table=MainTable(name="d", columns=tuple(ColumnDef(name=n, type=t) for n, t in COLUMNS.items())),
    ),
    1,
    "active",
)


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock and of the processor, which a busy machine does not change."""
    process = psutil.Process()
    before, began = process.cpu_times(), time.perf_counter()
    action()
    wall, after = time.perf_counter() - began, process.cpu_times()
    return wall, after.user + after.system - before.user - before.system


def measure_commit(count: int, folder: Path) -> None:
    columns = tuple(OutputColumn(name, type_) for name, type_ in COLUMNS.items())
    target = FileTarget(
        location=Location("delta", uri=str(folder / "t")),
        mode="replace",
        columns=columns,
        run_id="019b76da-0000-7000-8000-000000000000",
        operation_seq=1,
        owner=SliceOwner("p", "o"),
    )
    place = folder / "t" / target.new_attempt_name()
    place.mkdir(parents=True)
    schema = pa.schema([(name, arrow_type(type_)) for name, type_ in COLUMNS.items()])
    values = {field.name: pa.array([None], field.type) for field in schema}
    one = pa.table(values, schema=schema)
    for number in range(count):
        pq.write_table(one, place / f"part-{number:05d}-0a1b2c3d-c000.snappy.parquet")
    found: list[StagedOutput] = []

    def list_and_count() -> None:
        files = staged_parquet_files(str(place))
        found.append(StagedOutput(str(place), sum(file.rows for file in files), files=files))

    footers = timed(list_and_count)
    commit = timed(lambda: DeltaWriter().commit(found[0], target))
    log = sum(file.stat().st_size for file in (folder / "t" / "_delta_log").glob("*.json"))

    def open_again() -> None:
        table = open_table(str(folder / "t"))
        assert table is not None
        assert len(data_files(table, str(folder / "t"))) == count

    opened = timed(open_again)
    times = "".join(f"{wall:>9.2f}{processor:>7.2f}" for wall, processor in (footers, commit, opened))
    print(f"{count:>8,}{times}{log / count:>12,.0f}", flush=True)


def measure_landing(rows: int, folder: Path) -> None:
    path = folder / "rows.csv"
    with path.open("w", encoding="utf-8") as stream:
        stream.write(",".join(COLUMNS) + "\n")
        for n in range(rows):
            texts = ",".join(f"value {n * 7 % 1000 + k}" for k in range(10))
            amounts = ",".join(f"{n % 100_000}.{k}5" for k in range(6))
            stream.write(f"{texts},{amounts},{n},{n % 7},{n % 11},2026-01-{n % 28 + 1:02d}\n")
    location = Location(format="csv", uri=str(path))
    area = LandingArea(str(folder / "landing"), "run")
    bindings = tuple(Binding(name, name, type_) for name, type_ in COLUMNS.items())

    def land() -> None:
        sink = LandingSink(area, area.new_attempt("files/key"), bindings, limit=1)
        for batch in CsvRows(str(path), location, VERSION, ImpliedColumns({}, frozenset())).batches():
            sink.add(batch)
        sink.close()

    wall, processor = timed(land)
    size = path.stat().st_size / 1e6
    print(f"landing {rows:,} rows of {len(COLUMNS)} columns, {size:.0f} MB of CSV: {wall:.1f} s by the clock, ", end="")
    print(f"{processor:.1f} s of processor; {rows / processor:,.0f} rows or {size / processor:.0f} MB a second of it")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.driver_limits")
    parser.add_argument("--files", type=int, nargs="+", default=[100, 1_000, 5_000])
    parser.add_argument("--rows", type=int, default=200_000)
    chosen = parser.parse_args(arguments)
    print("seconds by the clock and of the processor; bytes of log a file")
    print(f"{'files':>8}{'footers':>9}{'cpu':>7}{'commit':>9}{'cpu':>7}{'reopen':>9}{'cpu':>7}{'log/file':>12}")
    for count in chosen.files:
        with tempfile.TemporaryDirectory() as folder:
            measure_commit(count, Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        measure_landing(chosen.rows, Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
