"""Ten small projects built together against ten `daybook run` after each other; aim: at most half of the time.

Run it as `python -m benchmarks.close_build [PROJECTS]`. Both include the start of Python, Java and Spark.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from daybook.workspace.lifecycle import activate_projects
from daybook.workspace.open_workspace import open_workspace
from tests.workspaces import Folder, assign, to_table

LIMIT = 0.5
CHAIN = 5


def main(projects: int = 10) -> int:
    with tempfile.TemporaryDirectory(prefix="daybook-bench-") as folder:
        names = [f"p{number}" for number in range(projects)]
        one_by_one = sum((measure(make(Path(folder) / "runs", projects), "run", name) for name in names), Measured())
        together = measure(make(Path(folder) / "build", projects), "build")
    print(f"{projects} times daybook run: {one_by_one}")
    print(f"one daybook build:       {together}")
    share = together.seconds / one_by_one.seconds
    is_met = share <= LIMIT and together.processor < one_by_one.processor
    print(f"{share:.0%} of the time{'' if is_met else '  OVER THE LIMIT'}")
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
        env={**os.environ},
    )
    return Measured(time.perf_counter() - began, _children_seconds() - before)


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
