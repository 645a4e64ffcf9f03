"""`gc` applies the retention and nothing else; `doctor` finds and removes what dead runs left."""

import datetime
import os
from dataclasses import replace
from pathlib import Path

import pytest

from daybook.io.registry import writer_for
from daybook.model.settings import RetentionSettings
from daybook.runs.attempt.run_request import RunRequest
from daybook.runs.attempt.start import start_run
from daybook.runs.doctor import examine_runs
from daybook.runs.garbage import CollectedGarbage, collect_garbage
from daybook.runs.leftovers import find_workspace_leftovers, remove_workspace_leftovers
from daybook.runs.live_runs import fail_abandoned_runs
from daybook.store.process import ProcessIdentity, current_process
from tests.prepared_runs import prepare_runs
from tests.workspaces import ORDERS, Folder, to_path, to_table

DAY = datetime.timedelta(days=1)


def swept(
    folder: Folder, retention: RetentionSettings, *, after: datetime.timedelta, is_dry_run: bool = False
) -> CollectedGarbage:
    """What `gc` does when it is called that much later."""
    with folder.around() as around:
        later = replace(around, clock=lambda: datetime.datetime.now(datetime.UTC) + after)
        return collect_garbage(later, retention, is_dry_run=is_dry_run)


def age(folder: Folder, days: int) -> None:
    """Everything on disk was written that long ago."""
    then = (datetime.datetime.now(datetime.UTC) - days * DAY).timestamp()
    for path in folder.root.rglob("*"):
        os.utime(path, (then, then))


def write_often(folder: Folder, times: int) -> list[str]:
    runs = []
    for number in range(times):
        folder.write_csv("data/orders.csv", [{**row, "amount": f"{number}.00"} for row in ORDERS])
        runs.append(folder.run("2026-01").run_id)
    return runs


def data_files(folder: Folder) -> set[str]:
    return {path.name for path in folder.root.glob("lake/result/daybook-*/**/*.parquet")}


def test_old_versions_lose_their_files_and_kept_ones_stay_readable(folder: Folder) -> None:
    folder.project(to_table(register_as_dataset="booked"))
    runs = write_often(folder, 3)
    folder.project(to_table("then"), id_="pinned", input={"dataset_id": "booked", "dataset_version": 1})
    folder.run("2026-01", "pinned")
    age(folder, 10)
    # Nothing goes before its time.
    before = data_files(folder)
    early = swept(folder, RetentionSettings(runs="90d", versions=24), after=datetime.timedelta())
    assert (early.runs, early.versions, early.landings, early.files) == ((), (), (), ())
    assert data_files(folder) == before
    shown = swept(folder, RetentionSettings(runs="90d", versions=1), after=100 * DAY, is_dry_run=True)
    assert len(folder.all_runs()) == 4
    found = swept(folder, RetentionSettings(runs="90d", versions=1), after=100 * DAY)
    assert found == shown
    # The last writer of a slice stays known; so does whoever reads what is pinned.
    assert set(found.runs) == set(runs[:2])
    assert [(each.dataset_id, each.version) for each in found.versions] == [("booked", 2)]
    assert found.bytes > 0
    assert folder.table(version=0)[0]["amount"] == 0
    assert folder.table()[0]["amount"] == 2
    with pytest.raises(Exception, match=r"(?i)not found|no such file"):
        folder.table(version=1)
    assert folder.replay(runs[2]).is_same
    folder.run("2026-01", "pinned")


def test_landed_inputs_go_with_the_last_run_that_read_them(folder: Folder) -> None:
    folder.project(to_path("out/x.csv"))
    write_often(folder, 2)
    landed = folder.root / ".daybook/landing/files"
    assert len(list(landed.iterdir())) == 2
    age(folder, 10)
    assert len(swept(folder, RetentionSettings(runs="90d", versions=1), after=100 * DAY).landings) == 2
    assert list(landed.iterdir()) == []


def begun(folder: Folder, monkeypatch: pytest.MonkeyPatch, process: ProcessIdentity) -> str:
    """A run that staged and then went no further, in that process."""
    workspace = folder.load()
    with folder.around(workspace) as around:
        monkeypatch.setattr("daybook.runs.attempt.start.current_process", lambda: process)
        (prepared,) = prepare_runs(workspace, around, RunRequest("p", "2026-01"))
        start_run(around.store, prepared)
        planned = prepared.outputs[0]
        df = folder.session().range(3).selectExpr("cast(id as string) order_id", "'x' region", "id amount")
        writer_for(planned.target.format).stage(df.select(*(c.name for c in planned.target.columns)), planned.target)
        Path(around.state, "staging", f"{prepared.snapshot.run_id}.1").mkdir(parents=True)
        return prepared.snapshot.run_id


def litter(folder: Folder) -> set[str]:
    workspace = folder.load()
    with folder.around(workspace) as around:
        return {each.run_id for each in find_workspace_leftovers(workspace, around.store)}


def test_litter_of_a_dead_run_is_found_and_removed(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = ["order_id", "region", "amount"]
    folder.project(to_path("elsewhere/deep/x.csv", columns=columns))
    dead = begun(folder, monkeypatch, replace(current_process(), started="before"))
    assert len(folder.staged()) == 2
    assert litter(folder) == {dead}
    workspace = folder.load()
    with folder.around(workspace) as around:
        assert fail_abandoned_runs(around.store) == (dead,)
        remove_workspace_leftovers(workspace, find_workspace_leftovers(workspace, around.store))
    assert folder.staged() == []
    assert litter(folder) == set()
    assert folder.last_run().status == "failed"
    assert folder.retry(dead).status == "completed"


def test_the_doctor_reports_and_then_fixes(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.project(to_path("elsewhere/x.csv", columns=["order_id", "region", "amount"]))
    folder.datasource("away", "postgresql", host="/nowhere", database="d", user="u")
    dead = begun(folder, monkeypatch, replace(current_process(), started="before"))
    found = {each.subject: each for each in examine_runs(folder.load(), is_fixing=False)}
    assert [found[subject].state for subject in ("Runs", "Left behind")] == ["warning", "warning"]
    assert dead in found["Runs"].detail
    tuple(examine_runs(folder.load(), is_fixing=True))
    assert [each.state for each in examine_runs(folder.load(), is_fixing=False)] == ["ok"]
    assert folder.staged() == []


def test_what_runs_of_others_stage_is_left_alone(folder: Folder) -> None:
    folder.project(to_table())
    folder.run()
    other = folder.root / "lake/.daybook-20260101-000000-abcdef.1.01234567"
    other.mkdir()
    assert litter(folder) == set()


def test_what_a_living_run_stages_is_no_litter(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.project(to_path("elsewhere/x.csv", columns=["order_id", "region", "amount"]))
    begun(folder, monkeypatch, current_process())
    assert litter(folder) == set()
    with folder.around() as around:
        assert fail_abandoned_runs(around.store) == ()
