"""A run whose check fails commits nothing after it, and shows which rows it was."""

import pytest

from daybook.runs.result import RunFailedError
from tests.workspaces import Folder, to_table

POSITIVE = {"type": "check", "name": "All positive", "arguments": {"condition": "amount > 0"}}


def test_what_a_failed_check_protects_is_not_written(folder: Folder) -> None:
    folder.project(to_table("before"), POSITIVE, to_table("after"))
    assert [run.status for run in folder.runs("2026-02")] == ["completed"]
    with pytest.raises(RunFailedError) as failed:
        folder.run("2026-01")
    assert failed.value.error.code == "CHECK_020"
    assert {row["_run_period"] for row in folder.table("before")} == {"2026-01", "2026-02"}
    assert {row["_run_period"] for row in folder.table("after")} == {"2026-02"}


def test_the_rows_that_fail_can_be_looked_at(folder: Folder) -> None:
    folder.project(POSITIVE, to_table())
    with pytest.raises(RunFailedError):
        folder.run("2026-01")
    found = folder.explain(folder.last_run().id, 1)
    assert [row["order_id"] for row in found.rows.rows] == ["O-3"]
    passed = folder.run("2026-02")
    assert folder.explain(passed.run_id, 1).rows.count == 0
    assert [(each.type, each.rows_picked) for each in passed.operations if each.seq == 1] == [("check", 1)]
