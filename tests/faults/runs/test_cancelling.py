"""Ctrl-C, SIGTERM and `daybook cancel` end a run in order: nothing half-written, nothing left behind."""

import os
import signal
import subprocess
import sys
from collections import Counter

from tests.faults.runs.children import child
from tests.faults.runs.conftest import NewWorkspace
from tests.faults.runs.every_format import FORMATS, NEW, OLD, held, staged_in_databases, write_orders
from tests.workspaces import Folder


def cancel_by_command(folder: Folder, run_id: str) -> None:
    command = [sys.executable, "-m", "daybook", "--workspace", str(folder.root), "cancel", run_id]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(["src", *sys.path])}
    subprocess.run(command, check=True, env=environment, capture_output=True)


def test_a_run_ends_in_order(workspace: NewWorkspace) -> None:
    """One process, interrupted three times; a retry then completes the last run."""
    folder = workspace()
    write_orders(folder, "new", NEW)
    with child(folder) as process:
        for way in (signal.SIGINT, signal.SIGTERM, "cancel"):
            if way == "cancel":
                process.tell("pause csv")
            process.tell("run")
            (run_id,) = process.wait_for("begun")
            process.wait_for("stage", "writing")
            if isinstance(way, signal.Signals):
                process.send(way)
            else:
                cancel_by_command(folder, run_id)
            assert process.wait_for("ended") == ["cancelled", "RUN_004"], way
            run = folder.last_run()
            assert (run.id, run.status) == (run_id, "cancelled")
            assert all(rows in (Counter(old=OLD), Counter(new=NEW)) for rows in held(folder).values())
            assert folder.staged() == []
            assert staged_in_databases(folder) == []
    folder.retry(folder.last_run().id)
    assert held(folder) == {each: Counter(new=NEW) for each in FORMATS}
