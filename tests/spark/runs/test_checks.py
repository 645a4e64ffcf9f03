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
    with pytest.raises(RunFailedError) as failed:
        folder.run("2026-01")
    run_id = folder.last_run().id
    assert failed.value.error.hint == f"`daybook explain {run_id} 1` shows all rows that fail"
    assert failed.value.error.hint in str(folder.last_run().error)
    found = folder.explain(run_id, 1)
    assert [row["order_id"] for row in found.rows.rows] == ["O-3"]
    passed = folder.run("2026-02")
    assert folder.explain(passed.run_id, 1).rows.count == 0
    assert [(each.type, each.rows_picked) for each in passed.operations if each.seq == 1] == [("check", 1)]


def test_of_summaries_that_fail_only_groups_and_what_is_checked_are_shown(folder: Folder) -> None:
    totals = {
        "type": "aggregate",
        "arguments": {"group_by": ["region"], "aggregations": [{"column": "total", "expression": "SUM(amount)"}]},
    }
    check = {"type": "check", "selector": "_operation_seq = 1", "arguments": {"condition": "total > 0"}}
    folder.project(totals, check, to_table())
    with pytest.raises(RunFailedError):
        folder.run("2026-01")
    found = folder.explain(folder.last_run().id, 2)
    assert [(row["region"], str(row["total"])) for row in found.rows.rows] == [("APAC", "0.00")]
    assert [name for name in found.rows.columns if not name.startswith("_")] == ["region", "total"]
