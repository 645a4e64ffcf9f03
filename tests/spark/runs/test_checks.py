"""A run whose check fails commits nothing after it, and shows which rows it was."""

import pytest

from daybook.errors import flatten
from daybook.runs.run_result import RunFailedError
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


def check(seq: int, condition: str, **more: str) -> dict[str, object]:
    return {"seq": seq, "type": "check", "arguments": {"condition": condition}, **more}


def failed_operations(folder: Folder) -> list[tuple[str, int | None]]:
    with pytest.raises(RunFailedError) as failed:
        folder.run("2026-01")
    return [(error.code, error.operation_seq) for error in flatten(failed.value.error)]


def test_the_first_failing_check_is_reported_and_then_the_others(folder: Folder) -> None:
    """Rows fail 20, 100 and 3 by seq: as texts, 100 comes before 20."""
    folder.project(
        check(3, 'order_id <> "O-2"'),
        check(20, "amount > 0"),
        check(100, 'order_id <> "O-1"'),
        {"seq": 200, **to_table()},
    )
    assert failed_operations(folder) == [("CHECK_020", 3), ("CHECK_020", 20), ("CHECK_020", 100)]


@pytest.mark.parametrize(("details", "totals"), [(20, 30), (40, 30)])
def test_checks_of_details_and_of_totals_are_reported_by_their_seq(folder: Folder, details: int, totals: int) -> None:
    sums = {"group_by": ["region"], "aggregations": [{"column": "total", "expression": "SUM(amount)"}]}
    folder.project(
        check(details, "amount > 0", selector="_operation_seq = 0"),
        {"seq": 25, "type": "aggregate", "selector": "_operation_seq = 0", "arguments": sums},
        check(totals, "total > 0", selector="_operation_seq = 25"),
        {"seq": 200, **to_table()},
    )
    expected = sorted([("CHECK_020", details), ("CHECK_020", totals)])
    assert failed_operations(folder) == expected


def test_a_check_of_totals_that_the_next_output_leaves_out_prevents_it(folder: Folder) -> None:
    sums = {"group_by": ["region"], "aggregations": [{"column": "total", "expression": "SUM(amount)"}]}
    folder.project(
        {"seq": 10, "type": "aggregate", "arguments": sums},
        check(20, "total > 0", selector="_operation_seq = 10"),
        {"seq": 30, **to_table("details"), "selector": "_operation_seq = 0"},
        check(40, 'order_id <> "O-1"', selector="_operation_seq = 0"),
        {"seq": 50, **to_table("after")},
    )
    assert failed_operations(folder) == [("CHECK_020", 20)]
    assert not (folder.root / "lake/details/_delta_log").exists()
