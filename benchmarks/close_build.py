"""Ten small projects built together against ten `daybook run` after each other; aim: at most half of the time.

Run it as `python -m benchmarks.close_build [PROJECTS] [ROUNDS]`. Both include the start of Python, Java and Spark.
Rounds are interleaved, so that what else the machine does falls on both; each starts with workspaces of its own.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.figures import record
from daybook.workspace.lifecycle import activate_projects
from daybook.workspace.open_workspace import open_workspace
from tests.workspaces import Folder, assign, to_table

LIMIT = 0.5
CHAIN = 5


def main(projects: int = 10, rounds: int = 5) -> int:
    names = [f"p{number}" for number in range(projects)]
    shares, is_cheaper = [], True
    singles: list[float] = []
    builds: list[float] = []
    for number in range(rounds):
        with tempfile.TemporaryDirectory(prefix="daybook-bench-") as folder:
            runs, built = make(Path(folder) / "runs", projects), make(Path(folder) / "build", projects)
            together = measure(built, "build")
            one_by_one = sum((measure(runs, "run", name) for name in names), Measured())
        singles.append(one_by_one.seconds)
        builds.append(together.seconds)
        shares.append(together.seconds / one_by_one.seconds)
        is_cheaper = is_cheaper and together.processor < one_by_one.processor
        print(f"round {number + 1}: {projects} times daybook run: {one_by_one}", flush=True)
        print(f"         one daybook build:       {together}  {shares[-1]:.0%} of the time", flush=True)
    record(f"{projects} times daybook run", singles)
    record(f"one daybook build of {projects} projects", builds)
    is_met = median(shares) <= LIMIT and is_cheaper
    print(f"median {median(shares):.0%} of the time{'' if is_met else '  OVER THE LIMIT'}")
    return 0 if is_met else 1


class Measured:
    def __init__(self, seconds: float = 0.0, processor: float = 0.0) -> None:
        self.seconds, self.processor = seconds, processor

    def __add__(self, other: "Measured") -> "Measured":
        return Measured(self.seconds + other.seconds, self.processor + other.processor)

    def __str__(self) -> str:
        return f"{self.seconds:6.1f} s, {self.processor:6.1f} s of processor time"


def make(root: Path, projects: int) -> Path:
    """Two chains of projects, each reading what the one before it registered."""
    if root.exists():
        return root
    folder = Folder.for_commands(root)
    for number in range(projects):
        input_ = f"d{number - 1}" if number % CHAIN else "orders"
        output = to_table(f"t{number}", register_as_dataset=f"d{number}")
        folder.project(assign(f"c{number}", "amount * 2"), output, id_=f"p{number}", input_=input_)
    activate_projects(open_workspace(root))
    return root


def measure(root: Path, *command: str) -> Measured:
    before = _children_seconds()
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "daybook", "--quiet", "--workspace", str(root), *command, "--period", "2026-01"],
        check=True,
        capture_output=True,
        env={**os.environ, "DAYBOOK_COMMAND_SERVER": "off"},
    )
    return Measured(time.perf_counter() - began, _children_seconds() - before)


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
