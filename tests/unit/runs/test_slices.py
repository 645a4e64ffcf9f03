"""Dropping a slice when something goes wrong on the way, and slices of tables under two names."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.runs import slices as dropping
from daybook.workspace.maintenance import drop_slice, list_slices
from daybook.workspace.open_workspace import open_workspace
from tests.unit.runs.test_recovery import new_folder, orders
from tests.workspaces import to_table
from tests.written_runs import write_run

KILLED_BEFORE_IT_IS_RECORDED = """
import os, signal
from pathlib import Path
from daybook.store.database.periods import Slices
from daybook.workspace.open_workspace import open_workspace
from daybook.workspace.maintenance import drop_slice
Slices.drop = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
drop_slice(open_workspace(Path({root!r})), "to.result", "2026-01", reason="wrong")
"""
FORMATS = [("delta", "lake"), ("parquet", "files"), ("csv", "files"), ("sqlite", "data.db")]


@pytest.mark.parametrize(("type_", "path"), FORMATS)
def test_a_process_killed_after_it_removed_the_rows_is_repeated_safely(tmp_path: Path, type_: str, path: str) -> None:
    folder = new_folder(tmp_path / "w", type_, path)
    write_run(folder, orders("a", "b"), "2026-01")
    write_run(folder, orders("c"), "2026-02")
    text = KILLED_BEFORE_IT_IS_RECORDED.format(root=str(folder.root))
    killed = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False, timeout=120)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    workspace = open_workspace(folder.root)
    assert [each.period for each in list_slices(workspace)] == ["2026-01", "2026-02"]
    # The rows were gone already; the record is made now.
    assert drop_slice(workspace, "to.result", "2026-01", reason="wrong").rows == 0
    assert [each.period for each in list_slices(workspace)] == ["2026-02"]
    again = write_run(folder, orders("d"), "2026-01")
    assert [each.run_id for each in list_slices(workspace) if each.period == "2026-01"] == [again]


@pytest.mark.parametrize(("type_", "path"), FORMATS)
def test_a_period_that_is_locked_while_the_slice_is_dropped_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, type_: str, path: str
) -> None:
    folder = new_folder(tmp_path / "w", type_, path)
    write_run(folder, orders("a", "b"), "2026-01")
    workspace = open_workspace(folder.root)
    asked: list[str] = []

    def locked_at_the_second_look(*_: object) -> None:
        asked.append("look")
        if len(asked) > 1:
            raise DaybookError("RUN_002", period="2026-01", because_of="2026-01")

    monkeypatch.setattr(dropping, "require_unlocked", locked_at_the_second_look)
    with pytest.raises(DaybookError) as caught:
        drop_slice(workspace, "to.result", "2026-01", reason="wrong")
    assert (caught.value.code, len(asked)) == ("RUN_002", 2)
    monkeypatch.undo()
    assert drop_slice(workspace, "to.result", "2026-01", reason="wrong").rows == 2
    left = [name for name in os.listdir(folder.root) if name.startswith(".daybook-")]  # noqa: PTH208
    assert left == []


def test_a_table_under_two_names_has_its_slices_once(tmp_path: Path) -> None:
    folder = new_folder(tmp_path / "w", "sqlite", "data.db")
    (folder.root / "link.db").symlink_to(folder.root / "data.db")
    first = write_run(folder, orders("a"), "2026-01")
    folder.datasource("again", "sqlite", path="link.db")
    folder.project(to_table("RESULT", "again", columns=["order_id"]))
    second = write_run(folder, orders("b"), "2026-01")
    (found,) = list_slices(open_workspace(folder.root))
    assert (found.run_id, found.rows, first != second) == (second, 1, True)
    assert drop_slice(open_workspace(folder.root), "again.RESULT", "2026-01", reason="twice").rows == 1
