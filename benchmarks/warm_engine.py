"""What a warm engine leaves of a small run: commands beside the same computation inside a session that is up.

In turn, each round: `daybook run` with a warm engine, `daybook run` cold, a bare PySpark script cold, and inside one
process with a warm session the same rows by hand and by `Workspace.run`. The run with the warm engine is to take at
most one second more than the computation by hand in the warm session. `daybook explain` of the demo's number with the
warm engine is to take at most two seconds.

Run it as `python -m benchmarks.warm_engine [ROUNDS]`.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import daybook
from benchmarks.cold_start import run_command, write_inputs
from benchmarks.figures import record
from daybook.engine.java.session import start_session, stop_session
from daybook.model.settings import EngineSettings

RUN_AIM = 1.0
EXPLAIN_AIM = 2.0
_DAYBOOK = [sys.executable, "-m", "daybook"]
_RUN = [*_DAYBOOK, "run", "discount", "--period", "2026-01"]
# The operation whose rows are the demo's headline.
_PROJECT, _HEADLINE = "close", "110"
_WARMING = 3


def main(rounds: int = 5) -> int:
    """0 when the aims are reached."""
    with tempfile.TemporaryDirectory(prefix="daybook-bench-") as folder:
        warm, cold, notebook, demo = (Path(folder, name) for name in ("warm", "cold", "notebook", "demo"))
        for root in (warm, cold, notebook):
            write_inputs(root, "name: small\n", output_format="delta")
            for preparation in (["apply"], ["activate", "discount"]):
                run_command([*_DAYBOOK, *preparation], root)
        run_command([*_DAYBOOK, "demo", str(demo)], Path(folder))
        for root in (warm, demo):
            run_command([*_DAYBOOK, "engine", "start"], root)
        spark = start_session(EngineSettings(), app_name="notebook")
        try:
            seconds = _measure(rounds, warm, cold, notebook, demo, spark)
        finally:
            stop_session(spark)
            for root in (warm, demo):
                subprocess.run([*_DAYBOOK, "engine", "stop"], cwd=root, capture_output=True, check=False)
    for name, times in seconds.items():
        record(f"small: {name}", times)
        print(
            f"{name:28} best {min(times):6.2f} s   median {statistics.median(times):6.2f} s   worst {max(times):6.2f} s"
        )
    over = statistics.median(seconds["run, warm engine"]) - statistics.median(seconds["by hand, warm session"])
    explained = statistics.median(seconds["explain, warm engine"])
    print(f"run over the computation: {over:.2f} s, {_verdict(over, RUN_AIM)}")
    print(f"explain: {explained:.2f} s, {_verdict(explained, EXPLAIN_AIM)}")
    return 0 if over <= RUN_AIM and explained <= EXPLAIN_AIM else 1


def _measure(
    rounds: int, warm: Path, cold: Path, notebook: Path, demo: Path, spark: SparkSession
) -> dict[str, list[float]]:
    with daybook.Workspace(demo) as closed:
        headline = closed.runs(project=_PROJECT, status="completed").runs[0].id
    explain = [*_DAYBOOK, "explain", headline, _HEADLINE]
    with daybook.Workspace(notebook, spark=spark) as workspace:
        contenders: dict[str, Callable[[], float]] = {
            "run, warm engine": lambda: run_command(_RUN, warm, is_cold=False),
            "status, warm engine": lambda: run_command([*_DAYBOOK, "status"], warm, is_cold=False),
            "explain, warm engine": lambda: run_command(explain, demo, is_cold=False),
            "by hand, warm session": lambda: _timed(lambda: _by_hand(spark, notebook)),
            "Workspace.run, warm session": lambda: _timed(lambda: workspace.run("discount", "2026-01")),
            "run, cold": lambda: run_command(_RUN, cold),
            "bare script, cold": lambda: run_command([sys.executable, "bare.py"], cold),
        }
        for _ in range(_WARMING):
            for name, contender in contenders.items():
                if "warm" in name:
                    contender()
        seconds: dict[str, list[float]] = {name: [] for name in contenders}
        for _ in range(rounds):
            for name, contender in contenders.items():
                seconds[name].append(contender())
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
    sys.exit(main(*(int(argument) for argument in sys.argv[1:2])))
