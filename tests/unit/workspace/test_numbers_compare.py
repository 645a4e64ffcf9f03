"""Comparisons as tables and pictures, for notebooks."""

from decimal import Decimal
from pathlib import Path
from typing import cast

import pytest

from daybook.compare.bridge import BridgeRequest, bridge
from daybook.compare.bridge_result import Cause, GroupBridge, RowCounts
from daybook.compare.diff import DiffRequest, diff
from daybook.compare.diff_result import DiffCounts, DiffResult, RowChange
from daybook.errors import DaybookError
from daybook.runs.attempt.run_request import RunRequest
from daybook.workspace.numbers import causes_table, changes_table, groups_table, parse_tolerance
from daybook.workspace.python_api.results import Bridge, Diff
from daybook.workspace.python_api.workspace import Workspace
from tests.comparisons import ORDERS, ROWS, A, B, a_bridge, shares
from tests.prepared_runs import prepare_runs
from tests.recorded_runs import record_run
from tests.workspaces import Folder, no_session, to_table

NOWHERE = cast("Workspace", None)

BRIDGE = a_bridge(
    Cause((ORDERS,), Decimal("5.50"), RowCounts(1, 2, 3)),
    before="10.00",
    after="15.50",
    by=(GroupBridge({"region": None}, Decimal("10.00"), Decimal("15.50"), shares("5.50")),),
)


def test_changes_are_a_table_with_every_column_before_and_after() -> None:
    changes = (
        RowChange({"region": "EMEA"}, {"total": Decimal("1.00")}, {"total": Decimal("2.00")}),
        RowChange({"region": None}, None, {"total": Decimal("3.50")}),
    )
    counts = DiffCounts(a=1, b=2, added=1, removed=0, changed=1, same=0)
    found = DiffResult(A, B, "lake.close", ROWS, ("region",), "group_by", counts, (), changes)

    assert changes_table(found).to_pylist() == [
        {"change": "changed", "region": "EMEA", "total before": Decimal("1.00"), "total after": Decimal("2.00")},
        {"change": "added", "region": None, "total before": None, "total after": Decimal("3.50")},
    ]
    assert "1 added, 0 removed, 1 changed, 0 the same" in repr(Diff(NOWHERE, found))


def test_causes_and_groups_are_tables() -> None:
    assert causes_table(BRIDGE).to_pylist() == [
        {
            "kind": "data",
            "name": "orders",
            "label": "data of orders",
            "share": Decimal("5.50"),
            "added": 1,
            "removed": 2,
            "changed": 3,
        }
    ]
    assert groups_table(BRIDGE).to_pylist() == [
        {
            "region": None,
            "before": Decimal("10.00"),
            "after": Decimal("15.50"),
            "cause": "orders",
            "share": Decimal("5.50"),
        }
    ]


def test_a_notebook_shows_a_bridge_as_a_picture() -> None:
    bridge = Bridge(NOWHERE, BRIDGE)

    assert bridge._repr_html_().lstrip().startswith("<")
    assert "data of orders" in bridge._repr_html_()
    assert bridge.shares == {"data:orders": Decimal("5.50")}
    assert bridge.to_dict()["difference"] == "5.50"


@pytest.mark.parametrize("value", [None, 0, "0.01", 0.5, Decimal("1.10")])
def test_a_tolerance_is_a_number_from_zero(value: str | float | Decimal | None) -> None:
    assert parse_tolerance(value) == Decimal(str(value or 0))


@pytest.mark.parametrize("value", ["much", "-1", "NaN"])
def test_no_other_tolerance_is_taken(value: str) -> None:
    with pytest.raises(DaybookError) as found:
        parse_tolerance(value)
    assert found.value.code == "RUN_031"


def test_a_run_that_has_not_ended_cannot_be_compared(tmp_path: Path) -> None:
    folder = Folder.new(tmp_path, no_session)
    folder.project(to_table())
    workspace = folder.load()
    refused: list[DaybookError] = []
    with folder.around(workspace) as around:
        (first,) = prepare_runs(workspace, around, RunRequest("p", "2026-01"))
        before = record_run(around, first).run_id
        (second,) = prepare_runs(workspace, around, RunRequest("p", "2026-01"))

        def compare() -> None:
            with pytest.raises(DaybookError) as of_diff:
                diff(around, DiffRequest(before, second.snapshot.run_id))
            with pytest.raises(DaybookError) as of_bridge:
                bridge(around, BridgeRequest(second.snapshot.run_id, before, "amount"))
            refused.extend((of_diff.value, of_bridge.value))

        record_run(around, second, compare)
    run_id = second.snapshot.run_id
    assert [each.code for each in refused] == ["RUN_089", "RUN_089"]
    assert refused[0].message == f"Run {run_id} of p@2026-01 is running, so it cannot be compared yet"
    assert f"daybook show run {run_id}" in (refused[0].hint or "")
    assert "p@2026-01" in (refused[0].hint or "")
