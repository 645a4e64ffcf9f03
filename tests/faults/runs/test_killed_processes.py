"""SIGKILL of the whole process at named points and at random moments, with readers watching all the while."""

import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from tests.faults.runs.children import child
from tests.faults.runs.conftest import NewWorkspace
from tests.faults.runs.every_format import FORMATS, NEW, readers, write_orders
from tests.faults.runs.test_deaths import NEW_ROWS, OLD_ROWS, check_completed
from tests.workspaces import Folder


@contextmanager
def watched(folder: Folder) -> Iterator[None]:
    """Whoever reads meanwhile finds the old rows or the new: no mixture, never nothing."""
    anomalies: list[tuple[str, object]] = []
    looks = Counter[str]()
    ended = threading.Event()

    def watch() -> None:
        while not ended.is_set():
            for name, look in readers(folder).items():
                try:
                    found = look()
                except FileNotFoundError:
                    # The folder was exchanged between listing it and opening a file: a reader looks again.
                    continue
                except (psycopg.OperationalError, OSError) as error:
                    anomalies.append((name, error))
                    continue
                looks[name] += 1
                if found not in (OLD_ROWS, NEW_ROWS):
                    anomalies.append((name, found))
            ended.wait(0.05)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    assert anomalies == []
    assert set(looks) == set(FORMATS)


def complete(folder: Folder) -> None:
    """What is left to do after a process died: a retry, or nothing when it had ended."""
    run = folder.last_run()
    result = folder.retry(run.id)
    check_completed(folder, result, FORMATS)


@pytest.mark.parametrize(
    ("point", "format_"),
    [
        pytest.param("before write", "delta", marks=pytest.mark.slow),
        pytest.param("after write", "csv", marks=pytest.mark.slow),
        pytest.param("before commit", "json", marks=pytest.mark.slow),
        ("after commit", "parquet"),
    ],
)
def test_named_points(
    workspace: NewWorkspace, is_long: bool, request: pytest.FixtureRequest, point: str, format_: str
) -> None:
    if not is_long and request.node.get_closest_marker("slow"):
        pytest.skip("part of the long campaign")
    folder = workspace()
    write_orders(folder, "new", NEW)
    with child(folder) as process, watched(folder):
        process.tell(f"die {point} {format_}")
        process.tell("run")
        assert process.wait() == -signal.SIGKILL
    complete(folder)


# A process that is killed at a named moment is in every test run.
@pytest.mark.slow
def test_random_moments(workspace: NewWorkspace, is_long: bool) -> None:
    chance = random.Random(11)
    for _ in range(40 if is_long else 1):
        folder = workspace()
        write_orders(folder, "new", NEW)
        with child(folder) as process, watched(folder):
            process.tell("run")
            (run_id,) = process.wait_for("begun")
            time.sleep(chance.uniform(0, 8))
            process.send(signal.SIGKILL)
            process.wait()
        run = next(run for run in folder.all_runs() if run.id == run_id)
        if run.status != "completed":
            complete(folder)
