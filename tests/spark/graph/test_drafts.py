"""Chains before they are live: build of drafts, and runs that would read something out of date."""

import shutil

import pytest
import yaml
from deltalake import DeltaTable

from daybook.errors import DaybookError
from daybook.graph.build_plan import BuildRequest
from daybook.runs.attempt.run_request import RunRequest
from daybook.workspace.close import build_close, plan_close_build
from daybook.workspace.execution import run_project
from daybook.workspace.lifecycle import activate_projects
from daybook.workspace.open_workspace import OpenedWorkspace, open_workspace
from tests.workspaces import ORDERS, Folder, assign, to_table


@pytest.fixture
def chain(folder: Folder) -> Folder:
    (folder.root / "daybook.yaml").write_text(yaml.safe_dump({"name": "tests", "sandbox": "sandbox"}))
    folder.project(assign("mark", "1"), to_table(register_as_dataset="booked"), id_="maker")
    folder.project(to_table("middle", register_as_dataset="between"), id_="middle", input_="booked")
    folder.project(to_table("copy", columns=["order_id", "mark"]), id_="reader", input_="between")
    return folder


def opened(folder: Folder) -> OpenedWorkspace:
    return open_workspace(folder.root, session=folder.session)


def outcomes(folder: Folder) -> dict[str, str]:
    result = build_close(opened(folder), BuildRequest("2026-02", is_draft=True))
    return {each.node.project: each.result for each in result.nodes}


def would_run(folder: Folder, *, is_full: bool = False) -> list[str]:
    plan = plan_close_build(opened(folder), BuildRequest("2026-02", is_draft=True, is_full=is_full))
    return [node.project for node in plan.will_run]


def copied(folder: Folder) -> list[tuple[str, str, int]]:
    rows = DeltaTable(folder.root / "sandbox/lake/copy").to_pyarrow_table().to_pylist()
    return sorted((row["_run_period"], row["order_id"], row["mark"]) for row in rows)


def test_a_build_of_drafts_runs_the_chain_into_the_sandbox(chain: Folder) -> None:
    result = build_close(opened(chain), BuildRequest("2026-02", is_draft=True))
    assert [(each.node.name, each.result) for each in result.nodes] == [
        ("maker@2026-02", "ran"),
        ("middle@2026-02", "ran"),
        ("reader@2026-02", "ran"),
    ]
    assert copied(chain) == [("2026-02", "O-4", 1)]
    assert not (chain.root / "lake").exists()
    # The sandbox holds all of it now.
    assert would_run(chain) == []
    assert would_run(chain, is_full=True) == ["maker", "middle", "reader"]
    assert outcomes(chain) == {"maker": "fresh", "middle": "fresh", "reader": "fresh"}
    # Another definition of a draft is run, and what reads it.
    chain.project(to_table("copy", columns=["order_id", "mark", "region"]), id_="reader", input_="between")
    assert would_run(chain) == ["reader"]
    assert outcomes(chain) == {"maker": "fresh", "middle": "fresh", "reader": "failed"}
    shutil.rmtree(chain.root / "sandbox/lake/copy")
    assert outcomes(chain) == {"maker": "fresh", "middle": "fresh", "reader": "ran"}
    chain.project(to_table("copy", columns=["order_id", "mark"]), id_="reader", input_="between")
    shutil.rmtree(chain.root / "sandbox/lake/copy")
    shutil.rmtree(chain.root / "sandbox/lake/middle")
    assert would_run(chain) == ["middle", "reader"]
    chain.write_csv("data/orders.csv", [*ORDERS, {**ORDERS[0], "order_id": "O-9"}])
    assert outcomes(chain) == {"maker": "ran", "middle": "ran", "reader": "ran"}
    activate_projects(opened(chain))
    chain.project(assign("mark", "2"), to_table(register_as_dataset="booked"), id_="maker")
    planned = plan_close_build(opened(chain), BuildRequest("2026-02", ("reader",), is_draft=True))
    # What stands between a draft and what is named runs in the sandbox, too.
    assert {node.name for node in planned.will_run} == {"maker@2026-02", "middle@2026-02", "reader@2026-02"}
    assert build_close(opened(chain), BuildRequest("2026-02", ("reader",), is_draft=True)).is_ok
    assert copied(chain) == [("2026-02", "O-4", 2)]


def test_a_run_warns_of_inputs_that_are_out_of_date_and_refuses_them_when_told(chain: Folder) -> None:
    activate_projects(opened(chain))
    assert build_close(opened(chain), BuildRequest("2026-02")).is_ok
    request = RunRequest("reader", "2026-02", requires_fresh=True)
    fresh = run_project(opened(chain), request)
    assert "RUN_071" not in {notice.code for notice in fresh.completed[0].notices}
    chain.write_csv("data/orders.csv", [*ORDERS, {**ORDERS[3], "order_id": "O-5"}])
    chain.run("2026-02", "maker")
    with pytest.raises(DaybookError) as refused:
        run_project(opened(chain), request)
    assert refused.value.code == "RUN_072"
    assert "middle 2026-02 booked 2026-02 was run again" in refused.value.message
    warned = run_project(opened(chain), RunRequest("reader", "2026-02"))
    (notice,) = [each for each in warned.completed[0].notices if each.code == "RUN_071"]
    assert notice.message.startswith("between is not up to date: middle for 2026-02 booked 2026-02 was run again")
    assert notice.hint == "`daybook build reader --period 2026-02` runs middle first"
