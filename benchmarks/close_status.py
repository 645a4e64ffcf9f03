"""How long `daybook status` takes on 50 projects of 12 periods; aim: less than two seconds, Python's start included.

Run it as `python -m benchmarks.close_status [PROJECTS] [--profile]`. The runs are recorded without Spark: chains of ten
projects that read what the one before them wrote, each with a file of its own per period.
"""

import argparse
import cProfile
import os
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.figures import record
from daybook.runs.attempt.run_request import RunRequest
from daybook.workspace.close import close_status
from daybook.workspace.lifecycle import activate_projects
from daybook.workspace.open_workspace import open_workspace
from tests.prepared_runs import prepare_runs
from tests.recorded_runs import record_run
from tests.workspaces import Folder, no_session, to_table

COLUMNS = [{"name": "account", "type": "string"}, {"name": "amount", "type": "decimal(18,2)"}]
MONTHS = tuple(f"2026-{month:02}" for month in range(1, 13))
SPAN = f"{MONTHS[0]}..{MONTHS[-1]}"
CHAIN = 10
LIMIT_SECONDS = 2.0
REPEATS = 5


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("projects", type=int, nargs="?", default=50)
    parser.add_argument("--profile", action="store_true")
    wanted = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="daybook-bench-") as folder:
        began = time.perf_counter()
        root = make_close(Path(folder) / "w", wanted.projects)
        print(f"{wanted.projects} projects, {len(MONTHS)} periods, recorded in {time.perf_counter() - began:.0f} s")
        if wanted.profile:
            profile = cProfile.Profile()
            profile.runcall(close_status, open_workspace(root), period=SPAN)
            pstats.Stats(profile).sort_stats("cumulative").print_stats(45)
        timed, used = zip(*(_seconds_of_command(root) for _ in range(REPEATS)), strict=True)
        found = close_status(open_workspace(root), period=SPAN)
        assert {each.state for each in found.nodes} == {"fresh"}
        assert len(found.nodes) == wanted.projects * len(MONTHS)
    record(f"status of {wanted.projects} projects", timed)
    # The fastest of a few: the others tell what else the machine does.
    mark = "" if min(timed) < LIMIT_SECONDS else "  OVER THE LIMIT"
    print(f"daybook status: best {min(timed):.2f} s, worst {max(timed):.2f} s of {REPEATS}{mark}")
    print(f"processor time: best {min(used):.2f} s, worst {max(used):.2f} s")
    return 0 if min(timed) < LIMIT_SECONDS else 1


def make_close(root: Path, projects: int) -> Path:
    folder = Folder.new(root, no_session)
    for number in range(projects):
        for month in MONTHS:
            folder.write_csv(f"data/s{number}/{month}.csv", [{"account": "a", "amount": "1.00"}])
        location = {"path": f"data/s{number}/{{{{identifier}}}}.csv"}
        folder.dataset(f"s{number}", COLUMNS, location, temporal_mode="period")
        table = {"datasource_id": "lake", "table": f"t{number}"}
        folder.dataset(f"d{number}", COLUMNS, table, temporal_mode="period")
        view = {"of": f"d{number}", "window": "previous", "missing": "empty"}
        folder.define("dataset", {"id": f"v{number}", "view": view})
        read = [f"v{number}"] + ([f"d{number - 1}"] if number % CHAIN else [])
        appends = [{"type": "append", "arguments": {"source": {"dataset_id": each}}} for each in read]
        output = to_table(f"t{number}", columns=["account", "amount"])
        folder.project(*appends, output, id_=f"p{number:02}", input_=f"s{number}")
    activate_projects(open_workspace(root))
    workspace = folder.load()
    with folder.around(workspace) as around:
        for number in range(projects):
            for prepared in prepare_runs(workspace, around, RunRequest(f"p{number:02}", SPAN)):
                record_run(around, prepared)
    return root


def _seconds_of_command(root: Path) -> tuple[float, float]:
    """By the clock, and of processor time, which says more on a busy machine."""
    command = [sys.executable, "-m", "daybook", "--workspace", str(root), "status", "--period", SPAN, "--json"]
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env={**os.environ})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - began, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
