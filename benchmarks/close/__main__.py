"""Daybook beside PySpark by hand, the literal way, DuckDB and Polars: `python -m benchmarks.close --help`."""

import argparse
import json
import math
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from benchmarks import meter
from benchmarks.close import by_duckdb, by_hand, by_polars, literally
from benchmarks.close.comparing import differences
from benchmarks.close.data import make_ledger
from benchmarks.close.workspace import write_workspace
from benchmarks.figures import record
from benchmarks.meter import Reading
from daybook.cli.app import collect_seldom
from daybook.definitions.loading import load_workspace
from daybook.engine.java.connect import is_connect
from daybook.engine.java.session import start_session, stop_session
from daybook.model.settings import EngineSettings
from daybook.runs.attempt.run_request import RunRequest
from daybook.runs.environment import open_run_environment
from daybook.workspace.lifecycle import apply_changes
from daybook.workspace.open_workspace import open_workspace
from tests.workspaces import run_files

Contender = Callable[[Path], None]

HAND_AIM = 1.05
_MOST_MILLIONS = 1000
_WARM_UPS = 6


def contenders(spark: SparkSession, ledger: Path, names: list[str]) -> dict[str, Contender]:
    def daybook(out: Path) -> None:
        workspace = load_workspace(out.parent / f"{out.name}-workspace")
        with open_run_environment(workspace, lambda: spark) as around:
            run_files(workspace, around, RunRequest("close", "2026"))

    every: dict[str, Contender] = {
        "daybook": daybook,
        "by hand": lambda out: by_hand.close(spark, ledger, out),
        "literally": lambda out: literally.close(spark, ledger, out),
        "duckdb": lambda out: by_duckdb.close(ledger, out, os.cpu_count() or 2),
        "polars": lambda out: by_polars.close(ledger, out),
    }
    return {name: every[name] for name in names}


def warm_up(spark: SparkSession, options: argparse.Namespace, scratch: Path) -> None:
    """Java compiles its code in the first minute; whoever comes first must not pay for all."""
    ledger = options.data / "ledger-48000"
    make_ledger(ledger, 48_000)
    for name, contender in contenders(spark, ledger, options.only).items():
        for round_ in range(options.warm_ups):
            measure(name, contender, scratch, ledger, -1 - round_)


def measure(name: str, contender: Contender, scratch: Path, ledger: Path, round_: int) -> tuple[Reading, Path]:
    out = scratch / f"{name.replace(' ', '-')}-{round_}"
    if name == "daybook":
        # A close is not the first thing that happens in a workspace: its store is there, with its definitions.
        apply_changes(open_workspace(write_workspace(scratch / f"{out.name}-workspace", ledger)))
    else:
        out.mkdir()
    # A commit waits for the disk: not for what the program before it wrote.
    os.sync()
    taken = meter.measure(lambda: contender(out))
    return taken, scratch / f"{out.name}-workspace" / "out" if name == "daybook" else out


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=float, nargs="+", default=[1.0], help="millions of journal lines, one or more")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sessions", type=int, default=1, help="Java processes, each with all rounds")
    parser.add_argument("--warm-ups", type=int, default=_WARM_UPS, help="rounds before the first that counts")
    parser.add_argument("--only", nargs="*", default=["daybook", "by hand", "literally", "duckdb", "polars"])
    parser.add_argument("--memory", default="4g", help="Spark's driver memory")
    parser.add_argument("--remote", help="a Spark Connect server, or local[2] for one of our own")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "daybook-close")
    options = parser.parse_args(arguments)
    if max(options.lines) > _MOST_MILLIONS:
        parser.error(f"--lines counts millions: {max(options.lines):g} million lines do not fit this machine")
    # As in the process of a command; else one run in five waits for a collection of all that the process holds.
    collect_seldom()
    settings = EngineSettings(remote=options.remote, conf={"spark.driver.memory": options.memory})
    times: dict[float, dict[str, list[Reading]]] = {}
    memory: dict[float, float | None] = {}
    for session in range(options.sessions):
        spark = start_session(settings, app_name="close", workload="long")
        with tempfile.TemporaryDirectory(prefix="daybook-close-", dir=_made(options.data)) as folder:
            warm_up(spark, options, Path(folder))
            for millions in options.lines:
                taken = compare(spark, options, round(millions * 1_000_000), Path(folder, f"{millions:g}"))
                if taken is None:
                    return 1
                print(f"session {session + 1}: {ratio_of_session(taken)}", flush=True)
                for name, readings in taken.items():
                    times.setdefault(millions, {}).setdefault(name, []).extend(readings)
                memory[millions] = held_memory(spark)
        stop_session(spark)
    missed = max(report(millions, taken, memory[millions]) for millions, taken in times.items())
    best = {
        millions: min((each.wall for each in taken.get("daybook", ())), default=0.0)
        for millions, taken in times.items()
    }
    if len(best) > 1 and all(best.values()):
        (small, first), *_, (large, last) = sorted(best.items())
        power = growth(small, first, large, last)
        print(f"\nfrom {small:g} to {large:g} million lines time grows with the power {power:.2f}")
    return missed


def ratio_of_session(times: dict[str, list[Reading]]) -> str:
    """Java compiles a little differently in every process, and one program may gain more from it than another."""
    if not {"daybook", "by hand"} <= times.keys():
        return "nothing to compare with"
    return f"daybook takes {statistics.median(ratios_by_round(times, 'by hand')['daybook']):.2f} of by hand"


def ratios_by_round(times: dict[str, list[Reading]], base: str) -> dict[str, list[float]]:
    """Whatever slows the machine down slows all programs of a round."""
    return {
        name: [own.wall / other.wall for own, other in zip(taken, times[base], strict=True)]
        for name, taken in times.items()
    }


def growth(small: float, first: float, large: float, last: float) -> float:
    return math.log(last / first) / math.log(large / small)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def compare(
    spark: SparkSession, options: argparse.Namespace, lines: int, scratch: Path
) -> dict[str, list[Reading]] | None:
    """The seconds of every contender, if all gave the same rows."""
    ledger = options.data / f"ledger-{lines}"
    make_ledger(ledger, lines)
    scratch.mkdir()
    times: dict[str, list[Reading]] = {name: [] for name in options.only}
    first: dict[str, Path] = {}
    for round_ in range(options.rounds):
        every = list(contenders(spark, ledger, options.only).items())
        # In turn, whoever begins: the first finds Java with the most to compile and collect.
        begin = round_ % len(every)
        for name, contender in every[begin:] + every[:begin]:
            taken, out = measure(name, contender, scratch, ledger, round_)
            times[name].append(taken)
            print(
                f"  {lines / 1e6:g} million lines, round {round_ + 1}: {name} {taken.wall:.2f} s,"
                f" {taken.processor:.2f} s of the processor",
                flush=True,
            )
            if round_ == 0:
                first[name] = out
            else:
                shutil.rmtree(out)
    reference = first.pop(options.only[0])
    disagreements = [line for out in first.values() for line in differences(reference, out)]
    for line in disagreements:
        print(f"DIFFERENT {line}")
    return None if disagreements else times


def held_memory(spark: SparkSession) -> float | None:
    """Megabytes that Java holds on to after a collection; unknown through Connect."""
    bridge: Any = getattr(spark, "_jvm", None) if not is_connect(spark) else None
    if bridge is None:
        return None
    bridge.java.lang.System.gc()
    java = bridge.java.lang.Runtime.getRuntime()
    return float(java.totalMemory() - java.freeMemory()) / 1e6


def report(millions: float, times: dict[str, list[Reading]], memory: float | None) -> int:
    """Best, spread and ratio to the program written by hand, by the clock and by the processor; the same as JSON."""
    walls = {name: [each.wall for each in taken] for name, taken in times.items()}
    processor = {name: statistics.median(each.processor for each in taken) for name, taken in times.items()}
    base = "by hand" if "by hand" in times else next(iter(times))
    ratios = ratios_by_round(times, base)
    print(f"\n{millions:g} million lines; every contender gave the same rows")
    print(
        f"{'':12}{'best s':>9}{'median s':>10}{'worst s':>9}{f'of {base}, by round':>24}{'processor s':>13}{'of it':>8}"
    )
    for name, taken in walls.items():
        best, median, worst = min(taken), statistics.median(taken), max(taken)
        by_round = f"{statistics.median(ratios[name]):.2f} ({min(ratios[name]):.2f} to {max(ratios[name]):.2f})"
        print(
            f"{name:12}{best:9.2f}{median:10.2f}{worst:9.2f}{by_round:>24}"
            f"{processor[name]:13.2f}{processor[name] / processor[base]:8.2f}"
        )
        record(f"close, {millions:g} million lines: {name}", taken)
    if memory is not None:
        print(f"Java holds {memory:.0f} MB afterwards")
    results = Path("benchmarks/results")
    results.mkdir(exist_ok=True)
    entry = {"millions": millions, "seconds": walls, "processor_seconds": processor, "held_megabytes": memory}
    with (results / "close.jsonl").open("a") as file:
        file.write(json.dumps(entry) + "\n")
    if {"daybook", "by hand"} <= walls.keys() and (missed := statistics.median(ratios["daybook"])) > HAND_AIM:
        print(f"missed: daybook against by hand: {missed:.3f}, aim {HAND_AIM}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
