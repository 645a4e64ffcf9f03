"""Ctrl-C, SIGTERM and `daybook cancel` end a run in order: nothing half-written, nothing left behind."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.faults.runs.children import Child, child
from tests.faults.runs.conftest import NewWorkspace
from tests.faults.runs.every_format import FORMATS, NEW, OLD, ONE_OF_A_KIND, held, staged_in_databases, write_orders
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


@dataclass(frozen=True, slots=True)
class Running:
    """A workspace that writes some formats, and a process that runs it and survives what stops its runs."""

    folder: Folder
    process: Child
    formats: tuple[str, ...]

    def holds(self, mark: str, rows: int) -> bool:
        """Whether every place has these rows and no others."""
        return held(self.folder, self.formats) == {each: Counter({mark: rows}) for each in self.formats}


@pytest.fixture(scope="module")
def shared(workspace: NewWorkspace, is_long: bool) -> Iterator[Running]:
    formats = FORMATS if is_long else ONE_OF_A_KIND
    folder = workspace(formats)
    with child(folder) as process:
        yield Running(folder, process, formats)


@pytest.fixture
def running(shared: Running) -> Iterator[Running]:
    """Old rows are written, new ones are waiting."""
    if not shared.holds("old", OLD):
        write_orders(shared.folder, "old", OLD)
        shared.folder.run()
    write_orders(shared.folder, "new", NEW)
    yield shared
    shared.process.tell("finite")


def test_a_run_ends_in_order(running: Running) -> None:
    """One process, stopped three times while Spark works on something endless; a retry completes the last run."""
    folder, process = running.folder, running.process
    process.tell("endless csv")
    for stop in WAYS:
        process.tell("run")
        (run_id,) = process.wait_for("begun")
        process.wait_for("stage", "writing", "out/result.csv")
        process.wait_for("tasks")
        stop(process, folder, run_id)
        check_cancelled(running, run_id)
    folder.retry(folder.last_run().id)
    assert running.holds("new", NEW)


# A run that is stopped at named moments, by the same signals, is in every test run.
@pytest.mark.slow
def test_at_random_moments(running: Running, is_long: bool) -> None:
    """Signals that meet the process wherever it is: in Python, in the store, in the middle of a word to Spark."""
    process = running.process
    chance = random.Random(5)
    process.tell("endless postgresql")
    for _ in range(200 if is_long else 2):
        process.tell("run")
        (run_id,) = process.wait_for("begun")
        process.wait_for("stage", "reading")
        time.sleep(chance.choice((0, chance.uniform(0, 0.3), chance.uniform(0, 2))))
        process.send(chance.choice((signal.SIGINT, signal.SIGTERM)))
        check_cancelled(running, run_id)
    process.tell("finite")
    process.tell("run")
    assert process.wait_for("ended") == ["completed"]
    assert running.holds("new", NEW)


def check_cancelled(running: Running, run_id: str) -> None:
    assert running.process.wait_for("ended") == ["cancelled", "RUN_004"]
    run = running.folder.last_run()
    assert (run.id, run.status) == (run_id, "cancelled")
    rows = held(running.folder, running.formats).values()
    assert all(each in (Counter(old=OLD), Counter(new=NEW)) for each in rows)
    assert running.folder.staged() == []
    assert staged_in_databases(running.folder) == []
