"""A workspace that was moved or copied reads and writes the tables in its own folder."""

import shutil
from pathlib import Path

import pytest

from daybook.workspace.maintenance import drop_slice, examine, list_slices
from daybook.workspace.open_workspace import open_workspace
from tests.workspaces import ORDERS, Folder, to_table


@pytest.fixture
def close(folder: Folder) -> Folder:
    """January is written, registered and read by a second project."""
    folder.datasource("db", "sqlite", path="data/close.db")
    folder.project(to_table("result", register_as_dataset="booked"), to_table("t", "db"))
    folder.run("2026-01")
    folder.project(to_table("report"), id_="reader", input_="booked")
    folder.run("2026-01", "reader")
    return folder


def notices(folder: Folder, project: str, period: str = "2026-01") -> list[str]:
    return [each.code for each in folder.run(period, project).notices if each.code.startswith(("STORE", "RUN_04"))]


def test_a_copy_leaves_the_tables_of_the_original_alone(close: Folder) -> None:
    before = close.table("report")
    copy = Folder(close.root.with_name("copy"), close.session)
    shutil.copytree(close.root, copy.root)
    copy.write_csv("data/orders.csv", [{**row, "amount": "9.00"} for row in ORDERS])
    assert notices(copy, "p") == ["STORE_040"]
    assert notices(copy, "reader") == []
    assert {row["amount"] for row in copy.table("report")} == {9}
    assert close.table("report") == before
    assert notices(close, "reader") == []


def test_a_moved_workspace_replays_retries_drops_and_goes_on(close: Folder) -> None:
    first = close.last_run().id
    moved = Folder(close.root.rename(close.root.with_name("moved")), close.session)
    workspace = open_workspace(moved.root, session=moved.session)
    assert moved.replay(first).is_same
    findings = {each.subject: each.state for each in examine(workspace).findings}
    assert (findings["Workspace moved"], findings["Tables of runs"]) == ("warning", "ok")
    assert {each.location for each in list_slices(workspace, "lake.result")} == {str(moved.root / "lake/result")}
    assert notices(moved, "p", "2026-02") == ["STORE_040"]
    assert drop_slice(workspace, "t", "2026-01", reason="moved").rows == 3
    assert drop_slice(workspace, "lake.result", "2026-01", reason="moved").rows == 3
    assert [row["_run_period"] for row in moved.table()] == ["2026-02"]
    shutil.rmtree(moved.root / "lake/report")
    (lost,) = [each for each in examine(workspace).findings if each.subject == "Tables of runs"]
    assert (lost.state, str(Path("lake/report")) in lost.detail) == ("problem", True)
