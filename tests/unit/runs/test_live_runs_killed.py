"""SIGKILL in the middle of `daybook gc`, and clocks that are set forward: nothing that is needed is removed."""

import datetime
from pathlib import Path

import pytest

from daybook.runs.attempt.run_request import RunRequest
from daybook.runs.attempt.start import start_run
from daybook.runs.garbage import collect_garbage
from daybook.runs.live_runs import live_runs
from daybook.store import open_store
from daybook.store.database.connection import find_damage
from tests.dying import collect_garbage as collect_in_process
from tests.forked import forked
from tests.prepared_runs import prepare_runs
from tests.recorded_runs import record_run
from tests.workspaces import Folder, no_session, to_path

STORE = "sqlite:///.daybook/store.db"
IN_A_YEAR = datetime.timedelta(days=365)
NEVER = 10_000


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Three runs that wrote no slices, each with rows that it landed, and a landing that no run refers to."""
    folder = Folder.new(tmp_path / "w", no_session)
    folder.project(to_path("out/{{identifier}}.csv"))
    workspace = folder.load()
    with folder.around(workspace) as environment:
        for prepared in prepare_runs(workspace, environment, RunRequest("p", "2026-01..2026-03")):
            landing(folder, record_run(environment, prepared).run_id).mkdir(parents=True)
    (folder.root / ".daybook" / "landing" / "files" / "unused").mkdir(parents=True)
    return folder


def landing(folder: Folder, run_id: str) -> Path:
    return folder.root / ".daybook" / "landing" / "runs" / run_id


def run_ids(folder: Folder) -> frozenset[str]:
    with open_store(STORE, root=folder.root) as store, store.read() as transaction:
        return frozenset(transaction.retention.run_tokens())


# The statements, or the removals of folders, before which a process is killed.
MOMENTS = [
    pytest.param([(number, NEVER) for number in range(1, NEVER, 12)], id="statements"),
    pytest.param([(NEVER, number) for number in range(1, NEVER)], id="removals"),
]


@pytest.mark.parametrize("moments", MOMENTS)
def test_a_killed_collection_keeps_what_runs_need_and_the_next_one_removes_the_rest(
    folder: Folder, moments: list[tuple[int, int]]
) -> None:
    now = datetime.datetime.now(datetime.UTC) + IN_A_YEAR
    killed = 0
    for number, removal in moments:
        process = forked(collect_in_process, folder.root, now, number, removal)
        is_done = process.answer() == "done"
        process.wait()
        assert find_damage(folder.root / ".daybook" / "store.db") is None
        assert all(landing(folder, run_id).is_dir() for run_id in run_ids(folder))
        if is_done:
            break
        killed += 1
    assert killed >= 2
    assert run_ids(folder) == frozenset()
    assert [path for path in (folder.root / ".daybook" / "landing").glob("*/*") if path.is_dir()] == []


def test_a_run_whose_lease_is_over_because_the_clock_was_set_forward_is_live(folder: Folder) -> None:
    """Its process exists, so what it has landed stays, until it says that it has ended."""
    workspace = folder.load()
    with folder.around(workspace) as environment:
        (prepared,) = prepare_runs(workspace, environment, RunRequest("p", "2026-04"))
        lease = start_run(environment.store, prepared)
        with environment.store.write() as transaction:
            # Two hours before the time that the clock now shows.
            before = transaction.now() - datetime.timedelta(hours=2)
            transaction.runs.heartbeat(lease, now=before)
            assert [run.id for run in transaction.runs.abandoned(now=transaction.now())] == [lease.run_id]
        assert [run.id for run in live_runs(environment.store)] == [lease.run_id]
        landing(folder, lease.run_id).mkdir(parents=True)
        collected = collect_garbage(environment, workspace.settings.retention)
        assert collected.landings == ()
        assert landing(folder, lease.run_id).is_dir()


def test_the_last_run_is_the_last_one_even_if_the_clock_was_set_back(folder: Folder) -> None:
    folder.apply()
    folder.activate()
    workspace = folder.load()
    with folder.around(workspace) as environment:
        for _ in range(2):
            (prepared,) = prepare_runs(workspace, environment, RunRequest("p", "2026-01"))
            again = record_run(environment, prepared).run_id
        with environment.store.write() as transaction:
            # As if the clock had shown an earlier year when the run was created.
            earlier = transaction.now() - IN_A_YEAR
            transaction._connection.exec_driver_sql(
                "UPDATE run SET created_at = ?, started_at = ? WHERE id = ?", (earlier.isoformat(),) * 2 + (again,)
            )
        with environment.store.read() as transaction:
            assert transaction.runs.id_of("p@2026-01") == again
            runs = transaction.close.runs()["p", "2026-01"]
            assert runs.completed is not None
            assert (runs.latest.id, runs.completed.id) == (again, again)
