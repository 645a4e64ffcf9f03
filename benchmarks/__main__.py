"""All benchmarks in turn: `python -m benchmarks [--full | --try]`; what they print is kept in `benchmarks/results`.

`--try` shows that every part runs, with sizes that say nothing of speed. A run ends with a table of all figures, each
with its spread, against the last run of the same kind.
"""

import datetime
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Literal, TextIO

from benchmarks.figures import FIGURES_VARIABLE, comparison, last_figures, read_figures

RESULTS = Path("benchmarks/results")

Words = tuple[str, ...] | None

# Module, its arguments for a quick look (None: not then), at full size, and to see that it runs.
BENCHMARKS: tuple[tuple[str, Words, Words, Words], ...] = (
    ("close", ("--lines", "1"), ("--lines", "1", "5"), ("--lines", "0.05", "--rounds", "1", "--warm-ups", "1")),
    ("close", None, ("--lines", "5", "20", "50", "--only", "daybook", "by hand", "duckdb", "polars"), None),
    ("close", None, ("--lines", "1", "5", "--only", "daybook", "by hand", "--remote", "local[2]"), None),
    ("close.other_tools", None, ("--lines", "1"), ("--lines", "0.05", "--rounds", "1")),
    ("cold_start", ("5",), ("9",), ("1",)),
    ("warm_engine", ("5", "--only", "run"), ("9", "--only", "run"), ("1", "--only", "run")),
    ("warm_engine", ("5", "--only", "explain"), ("9", "--only", "explain"), None),
    ("engine_memory", ("1",), (), ("1", "--lines", "48000", "--commands", "1")),
    ("bridge", ("--rows", "200000"), (), ("--rows", "1000", "--rounds", "1")),
    ("close_build", ("4", "5"), ("10", "5"), ("2", "1")),
    ("close_growth", ("10", "100"), (), ("2",)),
    ("close_status", ("20",), (), ("2",)),
    ("small_nodes", ("10", "4"), (), ("2", "2")),
    ("engine_growth", ("chain", "aggregates", "outputs", "--rows", "50000"), (), ("outputs", "--rows", "1000")),
    ("engine_pipeline", ("--rows", "1000000"), (), ("--rows", "10000", "--rounds", "1")),
    ("expression", (), (), ()),
    ("impact", ("--rounds", "3"), (), ("--journals", "100", "--rounds", "1")),
    ("landing_through_session", None, (), None),
    ("lake", ("--lines", "1", "--rounds", "3"), (), ("--lines", "0.05", "--rounds", "1")),
    ("load_workspace", (), (), ("50",)),
    ("numbers", ("--rows", "1000000"), (), ("--rows", "10000")),
    ("page_readers", (), (), ("--readers", "3", "--rounds", "1")),
    ("page_start", (), ("9",), ("1",)),
    ("store", ("1000", "10000"), (), ("50", "100")),
    ("measures", ("--rows", "1000000"), (), ("--rows", "10000", "--rounds", "1")),
    ("write_delta", ("--rows", "1000000"), (), ("--rows", "10000", "--rounds", "1")),
    ("write_postgres", (), (), ()),
    ("workbooks", ("--rows", "50000"), (), ("--rows", "1000")),
    ("append_latency", ("--rounds", "5"), (), ("--rows", "1000", "--rounds", "1")),
    ("driver_limits", ("--files", "100", "1000"), (), ("--files", "10", "--rows", "1000")),
)


def main(arguments: list[str]) -> int:
    """1 when an aim is missed, 2 when a part did not run to its end; a trial has no aims."""
    kind = "full" if "--full" in arguments else "try" if "--try" in arguments else "quick"
    chosen = [word for word in arguments if not word.startswith("-")]
    outcomes: dict[str, list[str]] = {"missed": [], "broken": []}
    RESULTS.mkdir(exist_ok=True)
    now = datetime.datetime.now(datetime.UTC)
    kept = RESULTS / f"{now:%Y-%m-%d-%H%M}-{kind}.txt"
    figures = kept.with_suffix(".figures.jsonl")
    os.environ[FIGURES_VARIABLE] = str(figures.absolute())
    with kept.open("w") as file:
        say(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}", file)
        for name, *sizes in BENCHMARKS:
            words = sizes[("quick", "full", "try").index(kind)]
            if words is None or (chosen and name not in chosen):
                continue
            say(f"\n== {' '.join((name, *words))}", file)
            began = time.monotonic()
            outcome = execute([sys.executable, "-m", f"benchmarks.{name}", *words], file)
            say(f"{outcome}, {time.monotonic() - began:.0f} s", file)
            outcomes.setdefault(outcome, []).append(name)
        if figures.exists():
            say("\n== figures in seconds, against the last recorded run", file)
            for line in comparison(last_figures(RESULTS, figures), read_figures(figures)):
                say(line, file)
        for outcome, sentence in (("missed", "missed their aim"), ("broken", "did not run to their end")):
            if outcomes[outcome] and (outcome, kind) != ("missed", "try"):
                say(f"\n{sentence}: {', '.join(outcomes[outcome])}", file)
    print(f"kept in {kept}")
    return 2 if outcomes["broken"] else 1 if outcomes["missed"] and kind != "try" else 0


def execute(command: list[str], file: TextIO) -> Literal["done", "missed", "broken"]:
    """Run a benchmark and keep what it says; one that ends with a traceback is broken, not slow."""
    is_broken = False
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            say(line.rstrip("\n"), file)
            is_broken |= line.startswith("Traceback (most recent call last)")
    if process.returncode in (0, 1) and not (is_broken and process.returncode):
        return "done" if process.returncode == 0 else "missed"
    return "broken"


def say(line: str, file: TextIO) -> None:
    print(line, flush=True)
    print(line, file=file, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
