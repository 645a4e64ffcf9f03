"""All benchmarks in turn: `python -m benchmarks [--full]`."""

import subprocess
import sys

# Module, its arguments for a quick look (None: not then), its arguments at full size.
BENCHMARKS: tuple[tuple[str, tuple[str, ...] | None, tuple[str, ...]], ...] = (
    ("close", ("--lines", "1"), ("--lines", "1", "5")),
    ("close", None, ("--lines", "5", "20", "50", "--rounds", "2", "--only", "daybook", "by hand", "duckdb", "polars")),
    ("close", None, ("--lines", "1", "5", "--only", "daybook", "by hand", "--remote", "local[2]")),
    ("cold_start", ("3",), ("9",)),
    ("engine_growth", ("chain", "aggregates", "outputs", "--rows", "50000"), ()),
    ("engine_pipeline", ("--rows", "1000000"), ()),
    ("expression", (), ()),
    ("load_workspace", (), ()),
    ("store", ("1000", "10000"), ()),
    ("write_delta", (), ()),
    ("write_postgres", (), ()),
    ("append_latency", ("--rounds", "3"), ()),
    ("driver_limits", ("--files", "100", "1000"), ()),
)


def main(arguments: list[str]) -> int:
    is_full = "--full" in arguments
    failed = []
    for name, quick, full in BENCHMARKS:
        chosen = full if is_full else quick
        if chosen is None:
            continue
        print(f"\n== {' '.join((name, *chosen))}", flush=True)
        outcome = subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *chosen], check=False)
        failed += [name] if outcome.returncode else []
    if failed:
        print(f"\nmissed their aim: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
