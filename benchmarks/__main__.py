"""All benchmarks in turn: `python -m benchmarks [--full]`; what they print is also kept below `benchmarks/results`."""

import datetime
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import TextIO

from benchmarks.figures import FIGURES_VARIABLE, comparison, last_figures, read_figures

RESULTS = Path("benchmarks/results")

# Module, its arguments for a quick look (None: not then), its arguments at full size.
BENCHMARKS: tuple[tuple[str, tuple[str, ...] | None, tuple[str, ...]], ...] = (
    ("close", ("--lines", "1"), ("--lines", "1", "5")),
    ("close", None, ("--lines", "5", "20", "50", "--only", "daybook", "by hand", "duckdb", "polars")),
    ("close", None, ("--lines", "1", "5", "--only", "daybook", "by hand", "--remote", "local[2]")),
    ("close.other_tools", None, ("--lines", "1")),
    ("cold_start", ("5",), ("9",)),
    ("warm_engine", ("5",), ("9",)),
    ("bridge", ("--rows", "200000"), ()),
    ("close_build", (), ()),
    ("close_status", ("20",), ()),
    ("engine_growth", ("chain", "aggregates", "outputs", "--rows", "50000"), ()),
    ("engine_pipeline", ("--rows", "1000000"), ()),
    ("expression", (), ()),
    ("load_workspace", (), ()),
    ("numbers", ("--rows", "1000000"), ()),
    ("page_readers", ("--rounds", "1"), ()),
    ("page_start", (), ("9",)),
    ("store", ("1000", "10000"), ()),
    ("write_delta", (), ()),
    ("write_postgres", (), ()),
    ("workbooks", ("--rows", "50000"), ()),
    ("append_latency", ("--rounds", "3"), ()),
    ("driver_limits", ("--files", "100", "1000"), ()),
)


def main(arguments: list[str]) -> int:
    is_full = "--full" in arguments
    failed = []
    RESULTS.mkdir(exist_ok=True)
    now = datetime.datetime.now(datetime.UTC)
    kept = RESULTS / f"{now:%Y-%m-%d-%H%M}-{'full' if is_full else 'quick'}.txt"
    figures = kept.with_suffix(".figures.jsonl")
    os.environ[FIGURES_VARIABLE] = str(figures.absolute())
    with kept.open("w") as file:
        say(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}", file)
        for name, quick, full in BENCHMARKS:
            chosen = full if is_full else quick
            if chosen is None:
                continue
            say(f"\n== {' '.join((name, *chosen))}", file)
            failed += [] if is_met([sys.executable, "-m", f"benchmarks.{name}", *chosen], file) else [name]
        if figures.exists():
            say("\n== figures in seconds, against the last recorded run", file)
            for line in comparison(last_figures(RESULTS, figures), read_figures(figures)):
                say(line, file)
        if failed:
            say(f"\nmissed their aim: {', '.join(failed)}", file)
    print(f"kept in {kept}")
    return 1 if failed else 0


def is_met(command: list[str], file: TextIO) -> bool:
    """Whether a benchmark met its aim; what it says is passed on and kept."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            say(line.rstrip("\n"), file)
    return process.returncode == 0


def say(line: str, file: TextIO) -> None:
    print(line, flush=True)
    print(line, file=file, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
