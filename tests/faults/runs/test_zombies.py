"""A process that lost its run cannot commit, and does no harm to whoever took the run over."""

import datetime
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import pytest

from daybook.errors import DaybookError
from daybook.runs.attempt.lease import LeaseKeeper
from daybook.runs.run_result import RunFailedError, RunResult
from daybook.store.process import current_process
from tests.faults.runs.conftest import NewWorkspace
from tests.faults.runs.dying import dying_at
from tests.faults.runs.every_format import NEW, OLD, ONE_OF_A_KIND, held, staged_in_databases, write_orders
from tests.workspaces import Folder


def lose_lease(folder: Folder) -> None:
    """Another process starts a run, since the lease seems to have run out."""
    with folder.around() as around, around.store.write() as transaction:
        later = transaction.now() + datetime.timedelta(minutes=1)
        transaction.runs.start("later", "p", 1, "2026-01", "{}", process=current_process(), now=later)


def test_a_lost_lease_refuses_the_commit(workspace: NewWorkspace) -> None:
    folder = workspace(ONE_OF_A_KIND)
    write_orders(folder, "new", NEW)
    with (
        dying_at("after write", ONE_OF_A_KIND[-1], lambda: lose_lease(folder)),
        pytest.raises(RunFailedError) as failed,
    ):
        folder.run()
    assert failed.value.error.code == "STORE_013"
    assert held(folder, ONE_OF_A_KIND) == {format_: Counter(old=OLD) for format_ in ONE_OF_A_KIND}
    run = next(run for run in folder.all_runs() if run.id == failed.value.run_id)
    assert run.status == "failed"


@pytest.mark.parametrize("point", ["after write", "before commit"])
def test_a_zombie_leaves_its_successor_alone(workspace: NewWorkspace, point: str) -> None:
    """The retry runs to its end while the zombie stands still in the middle of its commits."""
    formats = ONE_OF_A_KIND if point == "after write" else ("delta",)
    folder = workspace(formats)
    write_orders(folder, "new", NEW)
    successors: list[RunResult] = []
    stood: list[bool] = []

    def stand_still() -> None:
        # The successor passes the same point.
        if not stood:
            stood.append(True)
            # A thread of its own, since jobs have the tags of the thread that starts them.
            with patch("daybook.store.database.runs._is_abandoned", lambda *_: True), ThreadPoolExecutor(1) as thread:
                successors.append(thread.submit(folder.retry, folder.last_run().id).result())

    with (
        # The zombie notices at once that it has lost the run, and stops its jobs while the successor's run.
        patch.dict(LeaseKeeper.__init__.__kwdefaults__, interval=0.1),
        # Other places hold a lock by then, so that the successor waits instead.
        dying_at(point, formats[-1], stand_still),  # type: ignore[arg-type]
        pytest.raises(RunFailedError) as failed,
    ):
        folder.run()
    assert successors
    assert failed.value.error.code in ("STORE_013", "OUTPUT_006")
    assert held(folder, formats) == {each: Counter(new=NEW) for each in formats}
    assert folder.last_run().status == "completed"
    assert folder.dataset_versions("booked") == (1, 2)
    assert staged_in_databases(folder) == []


def test_two_runs_of_one_project_and_period(workspace: NewWorkspace) -> None:
    folder = workspace(("delta",))
    refused: list[str] = []

    def run_again() -> None:
        with pytest.raises(DaybookError) as found:
            folder.run()
        refused.append(found.value.code)

    with dying_at("after write", "delta", run_again):
        folder.run()
    assert refused == ["STORE_012"]
