"""A build that is killed or interrupted: building again leaves nothing doubled and nothing out."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest
from pyspark.sql import SparkSession

from daybook.runs.doctor import examine_runs
from tests.faults.runs.children import Child
from tests.spark.graph.test_build import MONTHS, build_close_folder, built, by_hand, closing, ran
from tests.workspaces import Folder

SPAN = f"{MONTHS[0]}..{MONTHS[-1]}"
PROJECTS = ("roll", "report", "list")


@pytest.fixture
def close(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Folder:
    conf = {"spark.sql.shuffle.partitions": 2, "spark.driver.memory": "1g"}
    root = tmp_path_factory.mktemp("close") / "w"
    folder = Folder.new(root, lambda: spark, engine={"master": "local[2]", "conf": conf})
    return build_close_folder(folder)


@contextmanager
def child(folder: Folder, *what: str) -> Iterator[Child]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.faults.graph.build_child", str(folder.root), SPAN, *what],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        try:
            yield Child(process)
        finally:
            process.kill()


def check_complete(folder: Folder) -> None:
    """Every balance is there once and is right, every list is written, and nothing is left to do."""
    rows = [(row["_run_period"], row["account"]) for row in folder.table("closing")]
    assert len(rows) == len(set(rows)) == len(by_hand())
    assert closing(folder) == by_hand()
    assert len(folder.table("report")) == len(by_hand())
    for month in MONTHS:
        assert len(folder.csv_rows(f"out/{month}.csv")) == 2
    assert folder.staged() == []
    again = built(folder, SPAN)
    assert (ran(again), again.count("fresh")) == (set(), len(PROJECTS) * len(MONTHS))


@pytest.mark.parametrize("commit", [pytest.param(1, marks=pytest.mark.slow), 5])
def test_a_build_that_is_killed_is_completed_by_the_next(close: Folder, commit: int) -> None:
    with child(close, "die", str(commit)) as process:
        (java,) = (psutil.Process(int(number)) for number in process.wait_for("ready"))
        (run_id,) = process.wait_for("dying")
        assert process.wait() == -signal.SIGKILL
    # Java writes until it notices.
    java.wait(60)
    # Only what had not been recorded is run, the node that died among it.
    done = {(run.project_id, run.period) for run in close.all_runs() if run.status == "completed"}
    again = built(close, SPAN)
    assert again.is_ok
    assert ran(again) == {f"{project}@{month}" for project in PROJECTS for month in MONTHS} - {
        f"{project}@{month}" for project, month in done
    }
    assert {run.status for run in close.all_runs() if run.id == run_id} == {"failed"}
    # Another node may have been writing when the process died; `daybook doctor --fix` removes what it left.
    tuple(examine_runs(close.load(), is_fixing=True))
    check_complete(close)


# tests/e2e interrupts a build of the program itself and completes it.
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_ends_in_order(close: Folder, number: signal.Signals) -> None:
    with child(close, "endless", "report") as process:
        process.wait_for("stage", f"report@{MONTHS[0]}", "writing")
        process.send(number)
        assert process.wait_for("finished", f"report@{MONTHS[0]}")[0] == "failed"
        assert process.wait_for("ended") == ["cancelled"]
        assert process.wait() == 0
    statuses = {run.status for run in close.all_runs()}
    assert "running" not in statuses
    assert "cancelled" in statuses
    assert built(close, SPAN).is_ok
    check_complete(close)
