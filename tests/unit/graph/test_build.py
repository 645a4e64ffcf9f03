"""What a build does about other builds, and about periods that nobody wrote; nodes are recorded without Spark."""

import signal
import threading
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from daybook.errors import DaybookError
from daybook.graph.build import BuildResult, build
from daybook.graph.build_listener import BuildListener
from daybook.graph.build_plan import BuildRequest
from daybook.graph.close import read_close
from daybook.resolve.project_files import CheckedFiles
from daybook.runs.attempt.prepare import PreparedRun
from daybook.runs.attempt.run_request import RunRequest
from daybook.runs.environment import RunEnvironment
from daybook.workspace.close import close_status, plan_close_build
from daybook.workspace.lifecycle import activate_projects
from daybook.workspace.open_workspace import open_workspace
from tests.prepared_runs import prepare_runs
from tests.recorded_runs import record_run
from tests.workspaces import Folder, assign, no_session, to_table

SPAN = "2026-01..2026-02"


@pytest.fixture
def chain(tmp_path: Path) -> Folder:
    folder = Folder.new(tmp_path / "w", no_session)
    folder.project(assign("x", "1"), to_table(register_as_dataset="booked"), id_="maker")
    folder.project(to_table("copy"), id_="reader", input_="booked")
    activate_projects(open_workspace(folder.root))
    return folder


def test_every_node_is_run_once(chain: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = threading.Barrier(2, timeout=60)
    results: list[BuildResult] = []

    def slowly(environment: RunEnvironment, prepared: PreparedRun) -> Any:
        return record_run(environment, prepared, lambda: time.sleep(0.3))

    def build_once() -> None:
        workspace = chain.load()
        with chain.around(workspace) as around:
            begin.wait()
            results.append(build(CheckedFiles(workspace), around, BuildRequest(SPAN), BuildListener()))

    monkeypatch.setattr("daybook.graph.build.execute_run", slowly)
    threads = [threading.Thread(target=build_once) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert [result.is_ok for result in results] == [True, True]
    ran = Counter(each.node.name for result in results for each in result.nodes if each.result == "ran")
    assert ran == {f"{project}@{month}": 1 for project in ("maker", "reader") for month in ("2026-01", "2026-02")}
    assert {run.status for run in chain.all_runs()} == {"completed"}
    assert len(chain.all_runs()) == 4


@pytest.mark.parametrize("role", ["input", "append"])
def test_a_period_that_never_ran_blocks_who_needs_it(chain: Folder, monkeypatch: pytest.MonkeyPatch, role: str) -> None:
    columns = [{"name": "order_id", "type": "string"}]
    location = {"datasource_id": "lake", "table": "made"}
    chain.dataset("made", columns, location, temporal_mode="period")
    chain.define("dataset", {"id": "before", "view": {"of": "made", "window": "previous"}})
    chain.project(to_table("made", columns=["order_id"]), id_="makes")
    append = {"type": "append", "arguments": {"source": {"dataset_id": "before"}}}
    operations = [append, to_table("looks")] if role == "append" else [to_table("looks")]
    chain.project(*operations, id_="looks", input_="orders" if role == "append" else "before")
    activate_projects(open_workspace(chain.root))
    monkeypatch.setattr("daybook.graph.build.execute_run", record_run)
    workspace = chain.load()
    with chain.around(workspace) as around:
        result = build(
            CheckedFiles(workspace), around, BuildRequest(SPAN, ("looks",), keep_going=True), BuildListener()
        )
    found = {each.node.name: (each.result, each.reason) for each in result.nodes}
    assert found["looks@2026-01"][0] == "blocked"
    assert "2025-12" in (found["looks@2026-01"][1] or "")
    assert {found[name][0] for name in ("makes@2026-01", "looks@2026-02")} == {"ran"}


def test_a_build_of_what_is_fresh_looks_once(chain: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daybook.graph.build.execute_run", record_run)
    looks: list[object] = []

    def looking(*arguments: Any, **options: Any) -> Any:
        looks.append(arguments)
        return read_close(*arguments, **options)

    workspace = chain.load()
    with chain.around(workspace) as around:
        assert build(CheckedFiles(workspace), around, BuildRequest(SPAN), BuildListener()).count("ran") == 4
        monkeypatch.setattr("daybook.graph.build.read_close", looking)
        assert build(CheckedFiles(workspace), around, BuildRequest(SPAN), BuildListener()).count("fresh") == 4
    assert len(looks) == 1


def test_another_month_of_a_registered_table_without_versions_makes_nothing_stale(
    chain: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daybook.graph.build.execute_run", record_run)
    workspace = chain.load()
    with chain.around(workspace) as around:
        for month in ("2026-01", "2026-02"):
            assert build(CheckedFiles(workspace), around, BuildRequest(month), BuildListener()).count("ran") == 2
        assert build(CheckedFiles(workspace), around, BuildRequest(SPAN), BuildListener()).count("fresh") == 4


def test_a_node_that_somebody_ran_meanwhile_is_not_run_again(chain: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = chain.load()
    others: list[str] = []

    def run_elsewhere_first(environment: RunEnvironment, prepared: PreparedRun) -> Any:
        if not others:
            with chain.around(workspace) as other:
                (same,) = prepare_runs(workspace, other, RunRequest("maker", "2026-01"))
                others.append(record_run(other, same).run_id)
        return record_run(environment, prepared)

    monkeypatch.setattr("daybook.graph.build.execute_run", run_elsewhere_first)
    with chain.around(workspace) as around:
        result = build(CheckedFiles(workspace), around, BuildRequest("2026-01"), BuildListener())
    assert [(each.node.name, each.result) for each in result.nodes] == [
        ("maker@2026-01", "fresh"),
        ("reader@2026-01", "ran"),
    ]
    assert [each.run for each in result.nodes][:1] == others


def test_a_workspace_without_active_projects_says_how_to_activate_them(tmp_path: Path) -> None:
    folder = Folder.new(tmp_path / "w", no_session)
    folder.project(to_table("copy"), id_="reader")
    workspace = open_workspace(folder.root)
    planned = plan_close_build(workspace, BuildRequest("2026-01"))
    assert (planned.nodes, [each.code for each in planned.notices]) == ((), ["RUN_090"])
    for period in (None, "2026-01"):
        assert [each.code for each in close_status(workspace, period=period).notices] == ["RUN_090"]
    activate_projects(workspace)
    assert plan_close_build(workspace, BuildRequest("2026-01")).notices == ()
    assert close_status(workspace).notices == ()


def test_a_signal_that_another_thread_gets_cancels_the_build_at_once(
    chain: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux may give Ctrl-C to any thread; Python handles it in the main thread, which has to wake for that."""
    cancelled = threading.Event()
    waited: list[bool] = []

    def interrupted(environment: RunEnvironment, prepared: PreparedRun) -> Any:
        environment.on_attempt(SimpleNamespace(cancel=cancelled.set))  # type: ignore[arg-type]
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        waited.append(cancelled.wait(10))
        raise DaybookError("RUN_015", project="maker")

    monkeypatch.setattr("daybook.graph.build.execute_run", interrupted)
    workspace = chain.load()
    with chain.around(workspace) as around:
        result = build(CheckedFiles(workspace), around, BuildRequest("2026-01"), BuildListener())
    assert waited == [True]
    assert result.is_cancelled
    assert {each.node.project: each.result for each in result.nodes} == {"maker": "failed", "reader": "blocked"}


def test_parameters_of_a_project_that_is_not_built_are_refused(chain: Folder) -> None:
    workspace = open_workspace(chain.root)
    request = BuildRequest("2026-01", projects=("maker",), parameters={"reader": {"rate": "1"}})
    with pytest.raises(DaybookError) as caught:
        plan_close_build(workspace, request)
    assert (caught.value.code, caught.value.parameters["project"]) == ("RUN_051", "reader")


def test_a_build_needs_at_least_one_job(chain: Folder) -> None:
    with pytest.raises(DaybookError) as caught:
        plan_close_build(open_workspace(chain.root), BuildRequest("2026-01", jobs=0))
    assert caught.value.code == "RUN_040"
