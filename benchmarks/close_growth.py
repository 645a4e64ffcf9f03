"""What commands on a close cost while it grows: 10, 100 and 1,000 projects of 12 periods, in chains and in fans.

Run it as `python -m benchmarks.close_growth [PROJECTS…] [--shape chain | fan] [--steps STEP…] [--first PROJECTS]`.
Each step is a process of its own, in which nodes are recorded instead of computed by Spark: what is left is what
Daybook does for each node. With `--first`, builds are of that many projects, and compared is what lies between nodes:
so a node of a close of 1,000 projects can be measured without 12,000 runs. With `--copied`, the runs of more than 100
projects are those of 100, copied: for what looks at a close that has run. `command` is `daybook status` as a process.
Aims: at 1,000 projects at most 1.3 times the processor time of 100 projects for each node, and `status` within five
seconds and 1 GB.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sqlalchemy import Engine, event

from benchmarks.copied_close import copy_close
from benchmarks.figures import record
from daybook.graph.build import build
from daybook.graph.build_listener import BuildListener
from daybook.graph.build_plan import BuildRequest
from daybook.resolve.project_files import CheckedFiles
from daybook.runs.attempt.prepare import PreparedRun
from daybook.runs.environment import RunEnvironment
from daybook.workspace.close import close_graph, close_status, plan_close_build
from daybook.workspace.lifecycle import activate_projects
from daybook.workspace.open_workspace import open_workspace
from daybook.workspace.validate import validate_definitions
from tests.page import client as page_client
from tests.recorded_runs import record_run
from tests.workspaces import Folder, no_session, to_table

COLUMNS = [{"name": "account", "type": "string"}, {"name": "amount", "type": "decimal(18,2)"}]
MONTHS = tuple(f"2026-{month:02}" for month in range(1, 13))
SPAN = f"{MONTHS[0]}..{MONTHS[-1]}"
# Of these projects one reads the other, or all read the first and the last reads all.
GROUP = 10
STEPS = ("validate", "activate", "build", "status", "command", "page", "graph", "dry-run", "rebuild")
_COPIED = 100
STATUS_SECONDS, STATUS_BYTES = 5.0, 1_000_000_000
PAGE_SECONDS = 2.0
GROWTH = 1.3


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a step: by the clock, of the processor, statements and transactions of the store, the largest memory."""

    seconds: float
    processor: float
    statements: int
    transactions: int
    peak_bytes: int
    # Of the processor, between two nodes of a build that runs them.
    between_nodes: float | None = None
    # Of the processor, for later requests to a page.
    later: dict[str, float] | None = None


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("projects", type=int, nargs="*", default=[10, 100, 1000])
    parser.add_argument("--shape", choices=("chain", "fan"), default="chain")
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=STEPS)
    parser.add_argument("--first", type=int, help="build only the first of the projects")
    parser.add_argument("--copied", action="store_true", help="copy the runs of 100 projects instead of recording all")
    parser.add_argument("--limit", type=int, default=900, help="seconds after which a step is given up")
    # A step in a process of its own.
    parser.add_argument("--step", choices=STEPS)
    parser.add_argument("--root", type=Path)
    wanted = parser.parse_args(arguments)
    if wanted.step is not None:
        print(json.dumps(asdict(measure(wanted.step, wanted.root, wanted.first))))
        return 0
    costs: dict[tuple[str, int], Cost] = {}
    for projects in wanted.projects:
        with tempfile.TemporaryDirectory(prefix="daybook-bench-") as folder:
            root = define_close(Path(folder) / "w", projects, wanted.shape)
            print(f"\n{projects} projects in {wanted.shape}s, {len(MONTHS)} periods; {load()}", flush=True)
            is_copied = wanted.copied and projects > _COPIED
            if is_copied:
                copy_close(recorded_close(Path(folder) / "small", wanted.shape), root, _COPIED, projects // _COPIED)
            for step in wanted.steps:
                if is_copied and step in ("activate", "build"):
                    continue
                cost = measure_apart(step, root, wanted.limit, wanted.first)
                if cost is None:
                    print(f"  {step:9} not done within {wanted.limit} s", flush=True)
                    break
                costs[step, projects] = cost
                print(f"  {step:9} {described(cost, step, projects)}", flush=True)
                record(f"{step} of {projects} projects", [cost.processor])
    return 0 if all(list(report(costs))) else 1


def load() -> str:
    return f"load {os.getloadavg()[0]:.0f}"


def recorded_close(root: Path, shape: str) -> Path:
    """A close of 100 projects that has run."""
    define_close(root, _COPIED, shape)
    for step in ("activate", "build"):
        act(step, root)
    return root


def report(costs: dict[tuple[str, int], Cost]) -> Any:
    """Whether each aim is met that was measured."""
    for step in STEPS:
        small, large = costs.get((step, 100)), costs.get((step, 1000))
        if small is not None and large is not None:
            ratio = large.processor / 1000 / (small.processor / 100)
            if large.between_nodes and small.between_nodes:
                ratio = large.between_nodes / small.between_nodes
            print(f"{step}: {ratio:.2f} times the processor time of 100 projects for each node")
            yield ratio <= GROWTH
    for step, seconds in (("command", STATUS_SECONDS), ("page", PAGE_SECONDS)):
        cost = costs.get((step, 1000))
        if cost is not None:
            yield cost.processor <= seconds and cost.peak_bytes <= STATUS_BYTES


def described(cost: Cost, step: str, projects: int) -> str:
    if cost.later is not None:
        later = ", ".join(f"{name} {seconds:.2f}" for name, seconds in cost.later.items())
        first = f"{cost.seconds:7.1f} s, {cost.processor:7.1f} s of processor time"
        return f"{first}, {later}; {cost.peak_bytes / 1e6:5.0f} MB"
    if cost.between_nodes is not None:
        return (
            f"{cost.seconds:7.1f} s, {cost.processor:7.1f} s of processor time, {cost.between_nodes * 1000:6.1f} ms "
            f"between nodes; {cost.peak_bytes / 1e6:5.0f} MB"
        )
    nodes = projects if step in ("validate", "activate") else projects * len(MONTHS)
    unit = "project" if step in ("validate", "activate") else "node"
    return (
        f"{cost.seconds:7.1f} s, {cost.processor:7.1f} s of processor time, {cost.processor / nodes * 1000:6.1f} ms "
        f"a {unit}; {cost.statements / nodes:5.1f} statements, {cost.transactions / nodes:4.1f} transactions a {unit}; "
        f"{cost.peak_bytes / 1e6:5.0f} MB"
    )


def measure_apart(step: str, root: Path, limit: int, first: int | None) -> Cost | None:
    command = [sys.executable, "-m", "benchmarks.close_growth", "--step", step, "--root", str(root)]
    command += ["--first", str(first)] if first is not None else []
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    return Cost(**json.loads(done.stdout.splitlines()[-1]))


def measure(step: str, root: Path, first: int | None) -> Cost:
    counts = {"statements": 0, "transactions": 0}

    def count_statement(*_: Any) -> None:
        counts["statements"] += 1

    def count_transaction(*_: Any) -> None:
        counts["transactions"] += 1

    event.listen(Engine, "before_cursor_execute", count_statement)
    event.listen(Engine, "begin", count_transaction)
    began, before = time.perf_counter(), processor_time()
    later = None
    if step == "page":
        seconds, processor, later = open_page(root)
        between = None
    else:
        between = act(step, root, first)
        seconds, processor = time.perf_counter() - began, processor_time() - before
    peak = max(resource.getrusage(of).ru_maxrss for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) * 1024
    counted = counts["statements"], counts["transactions"]
    return Cost(round(seconds, 3), round(processor, 3), *counted, peak, between, later)


def processor_time() -> float:
    """Of this process, and of those that it waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def open_page(root: Path) -> tuple[float, float, dict[str, float]]:
    """The page of the close: the first time, again, what a search and a filter show, and after a run that ended."""
    folder = Folder(root, no_session)
    with page_client(folder) as reader:
        reader.get("/login")
        served = reader.app.state.loader.load().state.served  # type: ignore[attr-defined]

        def get(path: str) -> tuple[float, float]:
            began, before = time.perf_counter(), processor_time()
            assert reader.get(path).status_code == 200
            return time.perf_counter() - began, processor_time() - before

        first = get("/close")
        later = {
            "again": get("/close")[1],
            "a search": get("/close?search=p00")[1],
            "by state": get("/close?state=fresh")[1],
        }
        served.watch.number += 1
        later["after a run"] = get("/close")[1]
    return *first, {name: round(seconds, 2) for name, seconds in later.items()}


def act(step: str, root: Path, first: int | None = None) -> float | None:
    """The processor time between two nodes, of a build of the first projects."""
    workspace = open_workspace(root)
    match step:
        case "validate":
            assert validate_definitions(workspace=root).is_ok
        case "activate":
            activate_projects(workspace)
        case "status":
            close_status(workspace, period=SPAN)
        case "command":
            command = [sys.executable, "-m", "daybook", "--workspace", str(root), "status", "--period", SPAN, "--json"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        case "graph":
            close_graph(workspace, period=SPAN)
        case "dry-run":
            plan_close_build(workspace, BuildRequest(SPAN))
        case "build":
            return build_recorded(root, first)
        case _:
            Folder(root, no_session).write_csv("data/s0/2026-06.csv", [{"account": "late", "amount": "2.00"}])
            return build_recorded(root, first)
    return None


def build_recorded(root: Path, first: int | None) -> float | None:
    """A build whose nodes leave in the store what a run leaves there; the processor time between two of the first."""
    folder = Folder(root, no_session)
    names = () if first is None else tuple(f"p{number:04}" for number in range(first))
    ended: list[float] = []

    def record_node(environment: RunEnvironment, prepared: PreparedRun) -> Any:
        result = record_run(environment, prepared)
        ended.append(time.process_time())
        return result

    workspace = folder.load()
    with folder.around(workspace) as around, patch("daybook.graph.build.execute_run", record_node):
        result = build(CheckedFiles(workspace), around, BuildRequest(SPAN, names, jobs=1), BuildListener())
    assert result.is_ok, result.problems[:3]
    return (ended[-1] - ended[0]) / (len(ended) - 1) if first is not None and len(ended) > 1 else None


def define_close(root: Path, projects: int, shape: str) -> Path:
    folder = Folder.new(root, no_session)
    for number in range(projects):
        for month in MONTHS:
            folder.write_csv(f"data/s{number}/{month}.csv", [{"account": "a", "amount": "1.00"}])
        location = {"path": f"data/s{number}/{{{{identifier}}}}.csv"}
        folder.dataset(f"s{number}", COLUMNS, location, temporal_mode="period")
        appends = [
            {"type": "append", "arguments": {"source": {"dataset_id": f"d{maker}"}}} for maker in makers(number, shape)
        ]
        output = to_table(f"t{number}", columns=["account", "amount"], register_as_dataset=f"d{number}")
        folder.project(*appends, output, id_=f"p{number:04}", input_=f"s{number}")
    return root


def makers(number: int, shape: str) -> list[int]:
    first, position = number - number % GROUP, number % GROUP
    if position == 0:
        return []
    if shape == "chain":
        return [number - 1]
    return [first] if position < GROUP - 1 else list(range(first, number))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
