"""What a node of a few rows costs in a session that is up: a build of small projects, month after month.

Run it as `python -m benchmarks.small_nodes [PROJECTS] [MONTHS] [--engine]`. The first month warms Java up and does not
count. Aim: half a second a node; on a busy machine the processor time of Python and Java says more than the clock. With
`--engine`, each month is a `daybook build` that a warm engine computes, through Spark Connect.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
from deltalake import DeltaTable
from py4j.clientserver import ClientServerConnection
from sqlalchemy import Engine, event

import daybook
from benchmarks.figures import record
from daybook.engine.java.session import start_session, stop_session
from daybook.model.settings import EngineSettings
from daybook.workspace.lifecycle import activate_projects
from daybook.workspace.maintenance import engine_status
from daybook.workspace.open_workspace import open_workspace
from tests.workspaces import Folder, assign, no_session, to_table

COLUMNS = [{"name": "account", "type": "string"}, {"name": "amount", "type": "decimal(18,2)"}]
CHAIN = 5
AIM = 0.5


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("projects", type=int, nargs="?", default=10)
    parser.add_argument("months", type=int, nargs="?", default=8)
    parser.add_argument("--engine", action="store_true", help="a command for each month, computed by a warm engine")
    wanted = parser.parse_args(arguments)
    return (by_engine if wanted.engine else in_session)(wanted.projects, wanted.months)


def by_engine(projects: int, months: int) -> int:
    computed: list[float] = []
    with tempfile.TemporaryDirectory(prefix="daybook-bench-") as folder:
        root = define(Path(folder) / "w", projects, months)
        daybook_program = [sys.executable, "-m", "daybook", "--workspace", str(root)]
        subprocess.run([*daybook_program, "engine", "start"], check=True, capture_output=True)
        try:
            (engine,) = engine_status(open_workspace(root))
            keeper = psutil.Process(engine.pid)
            for month in range(1, months + 1):
                began, before = time.perf_counter(), processor_seconds_below(keeper)
                command = [*daybook_program, "build", "--period", f"2026-{month:02}", "--jobs", "1"]
                subprocess.run(command, check=True, capture_output=True)
                seconds = time.perf_counter() - began
                computed.append((processor_seconds_below(keeper) - before) / projects)
                print(
                    f"2026-{month:02}: {seconds / projects:.2f} s a node; processor, engine and command: "
                    f"{computed[-1]:.2f} s; load {os.getloadavg()[0]:.0f}",
                    flush=True,
                )
        finally:
            subprocess.run([*daybook_program, "engine", "stop"], capture_output=True, check=False)
    return report("processor time of a small node on a warm engine", computed[1:])


def report(name: str, computed: list[float]) -> int:
    record(name, computed)
    median = statistics.median(computed)
    print(f"median {median:.2f} s of processor time a node{'' if median <= AIM else '  OVER THE AIM'}")
    return 0 if median <= AIM else 1


def processor_seconds_below(process: psutil.Process) -> float:
    """Of a process, those that it started, and those of them that have ended."""
    times = [running.cpu_times() for running in (process, *process.children(recursive=True))]
    return sum(time.user + time.system + time.children_user + time.children_system for time in times)


def in_session(projects: int, months: int) -> int:
    spark = start_session(EngineSettings(), app_name="small-nodes")
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()
    (java,) = (process for process in psutil.Process().children(recursive=True) if "java" in process.name())
    computed: list[float] = []
    try:
        with tempfile.TemporaryDirectory(prefix="daybook-bench-") as folder:
            root = define(Path(folder) / "w", projects, months)
            with daybook.Workspace(root, spark=spark) as workspace, counted() as counts:
                for month in range(1, months + 1):
                    jobs = scheduler.numTotalJobs()
                    counts.clear()
                    began, python, of_java = time.perf_counter(), time.process_time(), processor_seconds(java)
                    result = workspace.build(period=f"2026-{month:02}", jobs=1)
                    seconds, python = time.perf_counter() - began, time.process_time() - python
                    of_java, nodes = processor_seconds(java) - of_java, result.count("ran")
                    said = ", ".join(f"{count / nodes:.1f} {name}" for name, count in counts.items())
                    print(
                        f"2026-{month:02}: {seconds / nodes:.2f} s a node; processor: Python {python / nodes:.2f}, "
                        f"Java {of_java / nodes:.2f} s; {(scheduler.numTotalJobs() - jobs) / nodes:.1f} Spark jobs, "
                        f"{said}; load {os.getloadavg()[0]:.0f}",
                        flush=True,
                    )
                    computed.append((python + of_java) / nodes)
    finally:
        stop_session(spark)
    return report("processor time of a small node", computed[1:])


def define(root: Path, projects: int, months: int) -> Path:
    """Chains of projects: each has a file per month and a computed column, and appends what the one before wrote."""
    folder = Folder.new(root, no_session)
    for number in range(projects):
        for month in range(1, months + 1):
            folder.write_csv(f"data/s{number}/2026-{month:02}.csv", [{"account": "a", "amount": "1.00"}])
        location = {"path": f"data/s{number}/{{{{identifier}}}}.csv"}
        folder.dataset(f"s{number}", COLUMNS, location, temporal_mode="period")
        operations = [assign("doubled", "amount * 2")]
        if number % CHAIN:
            operations.append({"type": "append", "arguments": {"source": {"dataset_id": f"d{number - 1}"}}})
        output = to_table(f"t{number}", columns=["account", "amount"], register_as_dataset=f"d{number}")
        folder.project(*operations, output, id_=f"p{number:03}", input_=f"s{number}")
    activate_projects(open_workspace(root))
    return root


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """How often the store, Java and the logs of tables are asked."""
    counts: Counter[str] = Counter()
    open_table, send = DeltaTable.__init__, ClientServerConnection.send_command

    def count_open(table: DeltaTable, *arguments: Any, **options: Any) -> None:
        counts["opened logs"] += 1
        open_table(table, *arguments, **options)

    def count_call(connection: ClientServerConnection, *arguments: Any, **options: Any) -> Any:
        counts["calls to Java"] += 1
        return send(connection, *arguments, **options)

    event.listen(Engine, "before_cursor_execute", lambda *_: counts.update(["statements"]))
    event.listen(Engine, "begin", lambda *_: counts.update(["transactions"]))
    with (
        patch.object(DeltaTable, "__init__", count_open),
        patch.object(ClientServerConnection, "send_command", count_call),
    ):
        yield counts


def processor_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
