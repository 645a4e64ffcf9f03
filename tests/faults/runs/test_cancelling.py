"""Ctrl-C, SIGTERM and `daybook cancel` end a run in order: nothing half-written, nothing left behind."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from tests.faults.runs.children import Child, child
from tests.faults.runs.conftest import NewWorkspace
from tests.faults.runs.every_format import FORMATS, NEW, OLD, held, staged_in_databases, write_orders
from tests.workspaces import Folder


def cancel_by_command(folder: Folder, run_id: str) -> None:
    command = [sys.executable, "-m", "daybook", "--workspace", str(folder.root), "cancel", run_id]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(["src", *sys.path])}
    subprocess.run(command, check=True, env=environment, capture_output=True)


WAYS: tuple[Callable[[Child, Folder, str], None], ...] = (
    lambda process, folder, run_id: process.send(signal.SIGINT),
    lambda process, folder, run_id: process.send(signal.SIGTERM),
    lambda process, folder, run_id: cancel_by_command(folder, run_id),
)


@pytest.fixture(scope="module")
def shared(workspace: NewWorkspace) -> Iterator[tuple[Folder, Child]]:
    """A workspace and a process that runs it and survives what stops its runs."""
    folder = workspace()
    with child(folder) as process:
        yield folder, process


@pytest.fixture
def running(shared: tuple[Folder, Child]) -> Iterator[tuple[Folder, Child]]:
    """Old rows are written, new ones are waiting."""
    folder, process = shared
    write_orders(folder, "old", OLD)
    folder.run()
    write_orders(folder, "new", NEW)
    yield folder, process
    process.tell("finite")


def test_a_run_ends_in_order(running: tuple[Folder, Child]) -> None:
    """One process, stopped three times while Spark works on something endless; a retry completes the last run."""
    folder, process = running
    process.tell("endless csv")
    for stop in WAYS:
        process.tell("run")
        (run_id,) = process.wait_for("begun")
        process.wait_for("stage", "writing", "out/result.csv")
        process.wait_for("tasks")
        stop(process, folder, run_id)
        check_cancelled(process, folder, run_id)
    folder.retry(folder.last_run().id)
    assert held(folder) == {each: Counter(new=NEW) for each in FORMATS}


def test_at_random_moments(running: tuple[Folder, Child], is_long: bool) -> None:
    """Signals that meet the process wherever it is: in Python, in the store, in the middle of a word to Spark."""
    folder, process = running
    chance = random.Random(5)
    process.tell("endless postgresql")
    for _ in range(200 if is_long else 2):
        process.tell("run")
        (run_id,) = process.wait_for("begun")
        process.wait_for("stage", "reading")
        time.sleep(chance.choice((0, chance.uniform(0, 0.3), chance.uniform(0, 2))))
        process.send(chance.choice((signal.SIGINT, signal.SIGTERM)))
        check_cancelled(process, folder, run_id)
    process.tell("finite")
    process.tell("run")
    assert process.wait_for("ended") == ["completed"]
    assert held(folder) == {each: Counter(new=NEW) for each in FORMATS}


def check_cancelled(process: Child, folder: Folder, run_id: str) -> None:
    assert process.wait_for("ended") == ["cancelled", "RUN_004"]
    run = folder.last_run()
    assert (run.id, run.status) == (run_id, "cancelled")
    assert all(rows in (Counter(old=OLD), Counter(new=NEW)) for rows in held(folder).values())
    assert folder.staged() == []
    assert staged_in_databases(folder) == []
