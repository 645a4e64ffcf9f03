"""What a warm engine leaves of a small run: commands beside the same computation inside a session that is up.

In turn, each round: `daybook run` with a warm engine, `daybook run` cold, a bare PySpark script cold, and inside one
process with a warm session the same rows by hand and by `Workspace.run`. The run with the warm engine is to take at
most one second more than the computation by hand in the warm session. `daybook explain` of the demo's number with the
warm engine is to take at most two seconds.

Commands begin when the engine has warmed itself up, or with `--at-once` as soon as it has started. What was computed
before the first command is nothing but its warm-up.

Run it as `python -m benchmarks.warm_engine [ROUNDS] [--only run | explain] [--at-once]`. On two busy cores a round of
`run` takes a minute, making the demo for `explain` two.
"""

import argparse
import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import daybook
from benchmarks.cold_start import run_command, write_inputs
from benchmarks.figures import record
from daybook.engine.java.session import start_session, stop_session
from daybook.model.settings import EngineSettings
from daybook.workspace.maintenance import engine_status
from daybook.workspace.open_workspace import open_workspace

RUN_AIM = 1.0
EXPLAIN_AIM = 2.0
_DAYBOOK = [sys.executable, "-m", "daybook"]
_RUN = [*_DAYBOOK, "run", "discount", "--period", "2026-01"]
# The operation whose rows are the demo's headline.
_PROJECT, _HEADLINE = "close", "110"
# Rounds that warm up a session of this process; an engine warms itself up.
_WARMING = 3
_WARM_UP_SECONDS = 600

Contenders = Mapping[str, Callable[[], float]]


def main(arguments: list[str]) -> int:
    """0 when the aims are reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int, nargs="?", default=5)
    parser.add_argument("--only", choices=("run", "explain"))
    parser.add_argument("--at-once", action="store_true", help="do not wait until the engine has warmed itself up")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="daybook-bench-") as folder:
        parts = {"run": _measure_run, "explain": _measure_explain}
        chosen = [part for name, part in parts.items() if options.only in (None, name)]
        return max([part(Path(folder), options.rounds, at_once=options.at_once) for part in chosen])


def _measure_run(folder: Path, rounds: int, *, at_once: bool) -> int:
    warm, cold, notebook = (folder / name for name in ("warm", "cold", "notebook"))
    for root in (warm, cold, notebook):
        write_inputs(root, "name: small\n", output_format="delta")
        with daybook.Workspace(root) as workspace:
            workspace.apply()
            workspace.activate("discount")
    spark = start_session(EngineSettings(), app_name="notebook")
    try:
        with _engine(warm, at_once=at_once), daybook.Workspace(notebook, spark=spark) as workspace:
            seconds = _in_turn(
                rounds,
                {
                    "run, warm engine": lambda: run_command(_RUN, warm, is_cold=False),
                    "status, warm engine": lambda: run_command([*_DAYBOOK, "status"], warm, is_cold=False),
                    "by hand, warm session": lambda: _timed(lambda: _by_hand(spark, notebook)),
                    "Workspace.run, warm session": lambda: _timed(lambda: workspace.run("discount", "2026-01")),
                    "run, cold": lambda: run_command(_RUN, cold),
                    "bare script, cold": lambda: run_command([sys.executable, "bare.py"], cold),
                },
            )
    finally:
        stop_session(spark)
    over = statistics.median(seconds["run, warm engine"]) - statistics.median(seconds["by hand, warm session"])
    print(f"run over the computation: {over:.2f} s, {_verdict(over, RUN_AIM)}")
    return 0 if over <= RUN_AIM else 1


def _measure_explain(folder: Path, rounds: int, *, at_once: bool) -> int:
    demo = folder / "demo"
    print(f"the demo is made in {run_command([*_DAYBOOK, 'demo', str(demo)], folder):.0f} s", flush=True)
    with daybook.Workspace(demo) as closed:
        headline = closed.runs(project=_PROJECT, status="completed").runs[0].id
    explain = [*_DAYBOOK, "explain", headline, _HEADLINE]
    with _engine(demo, at_once=at_once):
        seconds = _in_turn(rounds, {"explain, warm engine": lambda: run_command(explain, demo, is_cold=False)})
    explained = statistics.median(seconds["explain, warm engine"])
    print(f"explain: {explained:.2f} s, {_verdict(explained, EXPLAIN_AIM)}")
    return 0 if explained <= EXPLAIN_AIM else 1


@contextlib.contextmanager
def _engine(root: Path, *, at_once: bool) -> Iterator[None]:
    """A warm engine for a workspace."""
    print(f"the engine is started in {run_command([*_DAYBOOK, 'engine', 'start'], root):.1f} s", flush=True)
    try:
        if not at_once:
            _wait_for_warm_up(root)
        yield
    finally:
        subprocess.run([*_DAYBOOK, "engine", "stop"], cwd=root, capture_output=True, check=False)


def _wait_for_warm_up(root: Path) -> None:
    """Says what the warm-up took."""
    began = time.perf_counter()
    (state,) = engine_status(open_workspace(root))
    (java,) = (process for process in psutil.Process(state.pid).children() if "java" in process.name())
    before = _processor_seconds(java)
    while state.warm_up is None or not state.warm_up.is_over:
        if time.perf_counter() - began > _WARM_UP_SECONDS:
            raise SystemExit("the engine has not warmed itself up in time")
        time.sleep(0.2)
        (state,) = engine_status(open_workspace(root))
    took, computed = time.perf_counter() - began, _processor_seconds(java) - before
    rounds = f"{state.warm_up.rounds} of {state.warm_up.wanted} rounds"
    print(f"the engine has warmed itself up in {took:.1f} s, {computed:.1f} s of Java's processor time, {rounds}")


def _processor_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _in_turn(rounds: int, contenders: Contenders) -> dict[str, list[float]]:
    """The seconds of every contender, after a few rounds that warm up the session of this process."""
    for _ in range(_WARMING):
        for name, contender in contenders.items():
            if "warm session" in name:
                print(f"  warming up: {name} {contender():.2f} s", flush=True)
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for round_ in range(rounds):
        for name, contender in contenders.items():
            seconds[name].append(contender())
            print(f"  round {round_ + 1}: {name} {seconds[name][-1]:.2f} s", flush=True)
    for name, times in seconds.items():
        record(f"small: {name}", times)
        best, median, worst = min(times), statistics.median(times), max(times)
        print(f"{name:28} best {best:6.2f} s   median {median:6.2f} s   worst {worst:6.2f} s")
    return seconds


def _by_hand(spark: SparkSession, root: Path) -> None:
    """Reads, computes and writes the rows; files only, since a plain session has no Delta."""
    schema = "order_id string, customer string, amount decimal(18,2), status string"
    orders = spark.read.option("header", True).schema(schema).csv(str(root / "orders.csv"))
    lowered = f.round(f.col("amount") * 0.9, 2).cast("decimal(18,2)")
    done = orders.withColumn("amount", f.when(f.col("status") == "active", lowered).otherwise(f.col("amount")))
    done.write.mode("overwrite").parquet(str(root / "by-hand"))


def _timed(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def _verdict(seconds: float, aim: float) -> str:
    return f"{'within' if seconds <= aim else 'OVER'} the aim of {aim} s"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
