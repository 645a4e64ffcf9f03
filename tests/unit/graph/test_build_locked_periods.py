"""A locked period is used as it is: its nodes make nothing stale, wait for nothing and are never run."""

from pathlib import Path

import pytest

from daybook.graph.build import BuildResult, build
from daybook.graph.build_listener import BuildListener
from daybook.graph.build_plan import BuildRequest
from daybook.resolve.project_files import CheckedFiles
from daybook.workspace.close import close_status, plan_close_build
from daybook.workspace.lifecycle import activate_projects, apply_changes
from daybook.workspace.open_workspace import open_workspace
from daybook.workspace.periods import lock_period
from tests.recorded_runs import record_run
from tests.workspaces import COLUMNS, Folder, assign, no_session, to_table

MONTHS = "2026-01..2026-02"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    made = Folder.new(tmp_path / "w", no_session)
    made.write_csv("data/2026-01.csv", [{"order_id": "a", "region": "EMEA", "amount": "1.00"}])
    made.write_csv("data/2026-02.csv", [{"order_id": "a", "region": "EMEA", "amount": "1.00"}])
    made.dataset("orders", COLUMNS, {"path": "data/{{identifier}}.csv"}, temporal_mode="period")
    made.dataset("booked", COLUMNS, {"datasource_id": "lake", "table": "booked"}, temporal_mode="period")
    made.project(to_table("booked", columns=["order_id", "region", "amount"]), id_="maker")
    made.project(to_table("copy"), id_="reader", input_="booked")
    activate_projects(open_workspace(made.root))
    monkeypatch.setattr("daybook.graph.build.execute_run", record_run)
    assert built(made).count("ran") == 4
    return made


def built(folder: Folder, period: str = MONTHS, *, keep_going: bool = False) -> BuildResult:
    workspace = folder.load()
    with folder.around(workspace) as around:
        return build(CheckedFiles(workspace), around, BuildRequest(period, keep_going=keep_going), BuildListener())


def lock(folder: Folder, period: str) -> None:
    lock_period(open_workspace(folder.root), period)


def states(folder: Folder) -> dict[str, str]:
    return {status.node.name: status.state for status in close_status(open_workspace(folder.root), period=MONTHS).nodes}


def test_what_reads_a_locked_stale_node_is_fresh(folder: Folder) -> None:
    """The maker of January alone is locked, its reader is fresh."""
    lock(folder, "2026-01")
    folder.write_csv("data/2026-01.csv", [{"order_id": "later", "region": "EMEA", "amount": "2.00"}])
    assert states(folder) == {
        "maker@2026-01": "unknown",
        "reader@2026-01": "fresh",
        "maker@2026-02": "fresh",
        "reader@2026-02": "fresh",
    }
    planned = plan_close_build(open_workspace(folder.root), BuildRequest(MONTHS))
    assert planned.will_run == {}
    results = {result.node.name: result.result for result in built(folder).nodes}
    assert results == {
        "maker@2026-01": "locked",
        "reader@2026-01": "fresh",
        "maker@2026-02": "fresh",
        "reader@2026-02": "fresh",
    }


def test_a_later_month_that_reads_a_locked_stale_month_is_fresh_everywhere(folder: Folder) -> None:
    folder.define("dataset", {"id": "before", "view": {"of": "booked", "window": "previous", "missing": "empty"}})
    folder.project(to_table("opening"), id_="opens", input_="before")
    activate_projects(open_workspace(folder.root))
    assert built(folder).count("ran") == 2
    lock(folder, "2026-01")
    folder.write_csv("data/2026-01.csv", [{"order_id": "later", "region": "EMEA", "amount": "2.00"}])
    assert states(folder)["opens@2026-02"] == "fresh"
    planned = plan_close_build(open_workspace(folder.root), BuildRequest(MONTHS))
    assert planned.will_run == {}
    results = {result.node.name: result.result for result in built(folder).nodes}
    assert (results["maker@2026-01"], results["opens@2026-02"]) == ("locked", "fresh")


def test_locked_nodes_of_projects_in_conflict_are_locked(folder: Folder) -> None:
    """A column that an active project uses is lost; the month that is locked does not wait for anything."""
    folder.project(assign("amount", "amount * 2"), to_table("copy"), id_="reader", input_="booked")
    activate_projects(open_workspace(folder.root))
    assert built(folder).is_ok
    lock(folder, "2026-01")
    lost = [column for column in COLUMNS if column["name"] != "amount"]
    folder.dataset("booked", lost, {"datasource_id": "lake", "table": "booked"}, temporal_mode="period")
    apply_changes(open_workspace(folder.root))
    for keep_going in (True, False):
        result = built(folder, keep_going=keep_going)
        outcomes = {each.node.name: each.result for each in result.nodes}
        assert {outcomes["maker@2026-01"], outcomes["reader@2026-01"]} <= {"locked", "fresh"}
        assert outcomes["reader@2026-01"] == "locked"
        assert outcomes["reader@2026-02"] in ("failed", "blocked")


def test_a_locked_node_waits_for_no_node_that_failed(folder: Folder) -> None:
    columns = ["order_id", "region", "amount"]
    folder.project(to_table("booked", columns=columns), id_="maker", level="quarter")
    activate_projects(open_workspace(folder.root))
    lock(folder, "2026-01")
    # Edited and not activated, so that a build reports it as failed.
    folder.project(assign("amount", "0"), to_table("booked", columns=columns), id_="maker", level="quarter")
    result = built(folder, "2026-Q1")
    assert {each.node.name: each.result for each in result.nodes} == {
        "maker@2026-Q1": "failed",
        "reader@2026-01": "fresh",
        "reader@2026-02": "blocked",
        "reader@2026-03": "blocked",
    }
    assert [each.node.name for each in result.nodes if each.is_failure] == [
        "maker@2026-Q1",
        "reader@2026-02",
        "reader@2026-03",
    ]
    assert result.problems[1:] == ("maker 2026-Q1: 2 nodes wait for it",)
