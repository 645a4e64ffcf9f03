"""Comparisons as tables and pictures, for notebooks."""

from decimal import Decimal
from typing import cast

import pytest

from daybook.compare.result import (
    BridgeResult,
    Cause,
    CauseName,
    ComparedRows,
    ComparedRun,
    DiffCounts,
    DiffResult,
    GroupBridge,
    RowChange,
    RowCounts,
)
from daybook.errors import DaybookError
from daybook.workspace.compare import causes_table, changes_table, groups_table, parse_tolerance
from daybook.workspace.python_api import Bridge, Diff, Workspace

RUN = ComparedRun("20260201-100000-aaaaaa", "close", 1, "2026-01")
ROWS = ComparedRows(40, 40, "Totals")
NOWHERE = cast("Workspace", None)

BRIDGE = BridgeResult(
    a=RUN,
    b=RUN,
    output="lake.close",
    operation=ROWS,
    measure="total",
    before=Decimal("10.00"),
    after=Decimal("15.50"),
    residual=Decimal("0.00"),
    order=(CauseName("data", "orders", "data of orders"),),
    causes=(Cause((CauseName("data", "orders", "data of orders"),), Decimal("5.50"), RowCounts(1, 2, 3)),),
    by=(GroupBridge({"region": None}, Decimal("10.00"), Decimal("15.50"), (Decimal("5.50"),)),),
)


def test_changes_are_a_table_with_every_column_before_and_after() -> None:
    changes = (
        RowChange({"region": "EMEA"}, {"total": Decimal("1.00")}, {"total": Decimal("2.00")}),
        RowChange({"region": None}, None, {"total": Decimal("3.50")}),
    )
    counts = DiffCounts(a=1, b=2, added=1, removed=0, changed=1, same=0)
    found = DiffResult(RUN, RUN, "lake.close", ROWS, ("region",), "group_by", counts, (), changes)

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
