"""Diff and bridge as JSON: the keys that DESIGN fixes, with numbers as exact text."""

from decimal import Decimal

from daybook.compare.bridge_result import Cause, GroupBridge, RowCounts, RowEffect
from daybook.compare.compared_run import RepeatedRowKeys
from daybook.compare.diff_result import ColumnTotal, DiffCounts, DiffResult, RowChange
from daybook.compare.exact_numbers import add, subtract
from daybook.workspace.result_json import as_json
from tests.comparisons import ORDERS, ROUNDING, ROWS, A, B, a_bridge, shares


def test_a_diff_has_its_keys_and_exact_numbers() -> None:
    found = DiffResult(
        A,
        B,
        "lake.close",
        ROWS,
        ("region",),
        "group_by",
        DiffCounts(a=3, b=3, added=1, removed=1, changed=1, same=1),
        (ColumnTotal("total", Decimal("150.00"), Decimal("170.50"), Decimal("20.50")),),
        (RowChange({"region": None}, None, {"total": Decimal("20.50"), "orders": 2}),),
        repeated=RepeatedRowKeys(1, 0),
    )

    shown = as_json(found)

    assert shown["a"] == A.run_id
    assert shown["key"] == ["region"]
    assert shown["rows"] == {"a": 3, "b": 3, "added": 1, "removed": 1, "changed": 1, "same": 1}
    assert shown["totals"] == [{"column": "total", "before": "150.00", "after": "170.50", "difference": "20.50"}]
    assert shown["changes"] == [
        {"key": {"region": None}, "before": None, "after": {"total": "20.50", "orders": "2"}},
    ]
    assert shown["repeated_keys"] == {"a": 1, "b": 0}


def test_a_bridge_has_its_keys_and_a_data_cause_its_rows() -> None:
    late = RowEffect({"order_id": "O-9"}, None, {"amount": Decimal("30.00")}, Decimal("30.00"))
    first = Cause((ORDERS,), Decimal("30.00"), RowCounts(1, 0, 0), (late,))
    shown = as_json(a_bridge(first, Cause((ROUNDING,), Decimal("0.25"))))

    assert (shown["before"], shown["after"], shown["difference"], shown["residual"]) == (
        "100.00",
        "130.25",
        "30.25",
        "0.00",
    )
    assert shown["order"] == ["data:orders", "definition:round"]
    assert shown["causes"][0] == {
        "kind": "data",
        "name": "orders",
        "label": "data of orders",
        "share": "30.00",
        "rows": {"added": 1, "removed": 0, "changed": 0},
        "largest": [{"key": {"order_id": "O-9"}, "before": None, "after": {"amount": "30.00"}, "effect": "30.00"}],
    }
    assert shown["causes"][1] == {
        "kind": "definition",
        "name": "round",
        "label": "30 Round (changed)",
        "share": "0.25",
    }
    assert "by" not in shown


def test_causes_that_were_swapped_together_say_so() -> None:
    shown = as_json(a_bridge(Cause((ORDERS, ROUNDING), Decimal("30.25"), reason="column tax is unknown")))

    (cause,) = shown["causes"]
    assert cause["name"] == "orders + round"
    assert [member["name"] for member in cause["together"]] == ["orders", "round"]
    assert cause["reason"] == "column tax is unknown"


def test_a_bridge_by_group_has_a_share_of_each_cause() -> None:
    group = GroupBridge({"region": "EMEA"}, Decimal("60.00"), Decimal("90.00"), shares("30.00"))

    shown = as_json(a_bridge(Cause((ORDERS,), Decimal("30.25")), by=(group,)))

    assert shown["by"] == [
        {
            "key": {"region": "EMEA"},
            "before": "60.00",
            "after": "90.00",
            "causes": [{"kind": "data", "name": "orders", "share": "30.00"}],
        }
    ]


def test_sums_of_large_numbers_keep_every_digit() -> None:
    large = Decimal("99999999999999999999999999999999999.99")

    assert str(add(large, large, Decimal("0.01"))) == "199999999999999999999999999999999999.99"
    assert str(subtract(large, Decimal("-0.01"))) == "100000000000000000000000000000000000.00"
    assert subtract(0.5, 0.25) == 0.25
