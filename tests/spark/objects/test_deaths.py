"""Runs and commits on an object store that die at every step: a retry completes them, once."""

import random
import signal
from typing import NoReturn
from unittest.mock import patch

import pytest

from daybook.errors import DaybookError, flatten
from daybook.io.registry import writer_for
from daybook.io.target import Target
from daybook.io.writer import StagedOutput
from daybook.runs.leftovers import find_workspace_leftovers, remove_workspace_leftovers
from daybook.runs.run_result import RunFailedError
from tests.faults.formats.commit_child import commit
from tests.faults.runs.children import child
from tests.faults.runs.dying import POINTS, Died, Point, as_if_dead, dying_at
from tests.forked import forked
from tests.object_proxy import Action, Fault, ObjectProxy
from tests.object_store import Bucket, hadoop_jars
from tests.spark.objects.by_hand import csv_target, delta_target, rows, stage_csv, stage_delta
from tests.spark.objects.folder import ObjectFolder
from tests.workspaces import to_path, to_table


def die() -> NoReturn:
    raise Died


def retry_dead(folder: ObjectFolder) -> None:
    """The process of the tests stands for one that is dead."""
    with patch("daybook.store.database.runs._is_abandoned", lambda *_: True):
        folder.retry(folder.last_run().id)


# The CSV file is the last output: once it is recorded, the run is complete.
DEATHS = [
    (point, format_) for point in POINTS for format_ in ("delta", "csv") if (point, format_) != (POINTS[-1], "csv")
]


@pytest.mark.parametrize(
    ("point", "format_"),
    [pytest.param(*death, marks=() if death[0] == "after commit" else pytest.mark.slow) for death in DEATHS],
)
def test_a_run_that_dies_is_completed_once(point: Point, format_: str, folder: ObjectFolder) -> None:
    folder.project(to_table(), to_path(f"{folder.bucket.uri}/out/orders.csv", columns=["order_id"]))
    with dying_at(point, format_, die), as_if_dead(), pytest.raises(Died):
        folder.run()
    retry_dead(folder)
    check_completed_once(folder)


# Each starts a Java process of its own.
@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_run_that_is_killed_with_its_java_is_completed_once(point: Point, folder: ObjectFolder) -> None:
    folder.reach(folder.bucket, engine={"master": "local[1]", "conf": {"spark.jars": ",".join(hadoop_jars())}})
    folder.project(to_table(), to_path(f"{folder.bucket.uri}/out/orders.csv", columns=["order_id"]))
    with child(folder) as process:
        process.tell(f"die {point} delta")
        process.tell("run")
        assert process.wait() == -signal.SIGKILL
    folder.retry(folder.last_run().id)
    check_completed_once(folder)


def check_written_once(folder: ObjectFolder) -> None:
    """Both outputs are there, the table by one commit."""
    assert folder.ids() == [("2026-01", "O-1"), ("2026-01", "O-2"), ("2026-01", "O-3")]
    log = folder.bucket.keys("lake/result/_delta_log/")
    assert [key for key in log if key.endswith(".json")] == ["lake/result/_delta_log/00000000000000000000.json"]
    assert sorted(folder.bucket.read("out/orders.csv").decode().split()) == ["O-1", "O-2", "O-3", "order_id"]


def check_completed_once(folder: ObjectFolder) -> None:
    """The same, and nothing is left over."""
    check_written_once(folder)
    workspace = folder.load()
    with folder.around(workspace) as around:
        assert find_workspace_leftovers(workspace, around.store) == ()


def test_what_a_dead_run_staged_is_found_and_removed(folder: ObjectFolder) -> None:
    folder.project(to_table(), to_path(f"{folder.bucket.uri}/out/orders.csv", columns=["order_id"]))
    with dying_at("after write", "csv", die), as_if_dead(), pytest.raises(Died):
        folder.run()
    workspace = folder.load()
    with patch("daybook.store.database.runs._is_abandoned", lambda *_: True), folder.around(workspace) as around:
        with patch("daybook.runs.live_runs.is_surely_running", lambda *_: False):
            litter = find_workspace_leftovers(workspace, around.store)
        assert {str(item.path).split("/")[3] for item in litter} >= {"lake", "out"}
        remove_workspace_leftovers(workspace, litter)
    assert [key for key in folder.bucket.keys("") if "/daybook-" in key or "/.daybook-" in key] == []


def kill(staged: StagedOutput, target: Target, point: str) -> None:
    child = forked(commit, staged, target, point)
    assert child.answer() == "ready"
    assert child.wait() == -signal.SIGKILL


@pytest.mark.parametrize("point", ["fence", "after"])
@pytest.mark.parametrize("format_", ["delta", "csv"])
def test_a_killed_commit_is_made_once(format_: str, point: str, bucket: Bucket) -> None:
    if format_ == "delta":
        target = delta_target(bucket, "now")
        staged = stage_delta(target, rows("2.00"))
    else:
        target = csv_target(bucket, "now")
        staged = stage_csv(target, "id,amount\n1,2.00\n", 1)
    kill(staged, target, point)
    writer = writer_for(format_)
    assert (writer.committed(target) is not None) == (point == "after")
    done = writer.commit(staged, target)
    assert done.is_repeat == (point == "after")
    assert writer.committed(target) is not None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_run_through_a_bad_network_is_completed_once(seed: int, folder: ObjectFolder, proxy: ObjectProxy) -> None:
    """Every tenth request is dropped, reset or refused, of whatever client and step."""
    folder.project(to_table(), to_path(f"{folder.bucket.uri}/out/orders.csv", columns=["order_id"]))
    folder.reach(folder.bucket.through(proxy.endpoint))
    numbers, disturbed = random.Random(seed), list[str]()
    actions: list[Action] = ["drop the answer", "reset", "500", "503", "slow down"]

    def fault_of(method: str, path: str) -> Fault | None:
        with proxy.lock:
            proxy.requests.append((method, path))
            if numbers.random() >= 0.1:
                return None
            disturbed.append(path)
            return Fault(numbers.choice(actions), method, "")

    codes: set[str] = set()
    with patch.object(proxy, "fault_of", fault_of):
        try:
            folder.run()
        except RunFailedError as failure:
            codes = {cause.code for cause in failure.error.causes or (failure.error,)}
        except DaybookError as refused:
            codes = {error.code for error in flatten(refused)}
    assert codes <= {"IO_012", "IO_026", "IO_073"}
    assert len(disturbed) > 3
    if not folder.all_runs():
        folder.run()
    elif folder.last_run().status != "completed":
        folder.retry(folder.last_run().id)
    check_written_once(folder)
