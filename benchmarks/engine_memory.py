"""What a warm engine keeps of the machine's memory after a close of a million lines.

In each round commands compute the close, the engine is left alone for fifteen seconds, in which it keeps its memory, a
command computes the close, the engine is left alone for a minute, and the next command computes it again. A minute
after the last command the engine is to have less than 1.2 GB resident, and the next command is to take at most 1.3
times as long as the one after the short pause: a pause alone costs time, since the machine does something else.

Run it as `python -m benchmarks.engine_memory [ROUNDS] [--lines 1000000] [--commands 3]`.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.close.data import make_ledger
from benchmarks.close.workspace import write_workspace
from benchmarks.cold_start import run_command
from benchmarks.figures import record
from daybook.workspace.lifecycle import apply_changes
from daybook.workspace.maintenance import engine_status
from daybook.workspace.open_workspace import open_workspace

MEMORY_AIM = 1.2e9
RATIO_AIM = 1.3
_PAUSE_SECONDS = 15
_IDLE_SECONDS = 60
_WARM_UP_SECONDS = 900
_DAYBOOK = [sys.executable, "-m", "daybook"]
_RUN = [*_DAYBOOK, "run", "close", "--period", "2026"]


@dataclass(frozen=True)
class Engine:
    """The Java process of the engine."""

    java: psutil.Process

    def resident(self) -> float:
        return float(self.java.memory_info().rss)

    def processor(self) -> float:
        times = self.java.cpu_times()
        return float(times.user + times.system)


@dataclass(frozen=True)
class Reading:
    """Seconds by the clock and of Java's processor time."""

    seconds: float
    processor: float

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s (Java computes {self.processor:.1f} s)"


def main(arguments: list[str]) -> int:
    """0 when the aims are reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int, nargs="?", default=3)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--commands", type=int, default=3)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="daybook-bench-") as folder:
        ledger = Path(folder, "ledger")
        make_ledger(ledger, options.lines)
        root = write_workspace(Path(folder, "close"), ledger)
        apply_changes(open_workspace(root))
        subprocess.run([*_DAYBOOK, "engine", "start"], cwd=root, check=True)
        try:
            return measure(root, options.rounds, options.commands)
        finally:
            subprocess.run([*_DAYBOOK, "engine", "stop", "--force"], cwd=root, check=False)


def measure(root: Path, rounds: int, commands: int) -> int:
    engine = find_engine(root)
    print(f"after the warm-up: {engine.resident() / 1e6:.0f} MB", flush=True)
    for _ in range(commands):
        run_close(root, engine)
    kept: list[float] = []
    ratios: list[float] = []
    for number in range(rounds):
        row = [run_close(root, engine) for _ in range(commands)]
        time.sleep(_PAUSE_SECONDS)
        paused = run_close(root, engine)
        busy = engine.resident()
        time.sleep(_IDLE_SECONDS)
        kept.append(engine.resident())
        after = run_close(root, engine)
        ratios.append(after.seconds / paused.seconds)
        usual = Reading(
            statistics.median(reading.seconds for reading in row),
            statistics.median(reading.processor for reading in row),
        )
        print(
            f"round {number + 1}: {busy / 1e6:.0f} MB after the last command, {kept[-1] / 1e6:.0f} MB a minute later; "
            f"the close takes {usual} in a row, {paused} after a pause, {after} after a minute "
            f"({ratios[-1]:.2f} times)",
            flush=True,
        )
    record("memory of an idle engine, MB", [size / 1e6 for size in kept])
    record("the close after a minute, times", ratios)
    is_met = max(kept) <= MEMORY_AIM and statistics.median(ratios) <= RATIO_AIM
    print(f"{max(kept) / 1e6:.0f} MB, {statistics.median(ratios):.2f} times{'' if is_met else '  OVER THE LIMIT'}")
    return 0 if is_met else 1


def find_engine(root: Path) -> Engine:
    """The engine after its warm-up."""
    deadline = time.monotonic() + _WARM_UP_SECONDS
    while True:
        (state,) = [state for state in engine_status(open_workspace(root)) if state.is_fit]
        if (state.warm_up is not None and state.warm_up.is_over) or time.monotonic() > deadline:
            (java,) = (child for child in psutil.Process(state.pid).children() if "java" in child.name())
            return Engine(java)
        time.sleep(1)


def run_close(root: Path, engine: Engine) -> Reading:
    before = engine.processor()
    seconds = run_command(_RUN, root, is_cold=False)
    return Reading(seconds, engine.processor() - before)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
