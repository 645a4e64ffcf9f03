"""Bridges through projects: why a report moved that reads what other projects wrote, by hand-made cases."""

from decimal import Decimal

import pytest

from daybook.compare.bridge import BridgeRequest, bridge
from daybook.compare.bridge_result import RowCounts
from daybook.compare.exact_numbers import add
from tests.spark.compare.group_close import GroupClose
from tests.spark.compare.journals import shares
from tests.workspaces import Folder, assign, to_table


@pytest.fixture(scope="module")
def moved(closed_group: Folder) -> tuple[GroupClose, str, str, list[Decimal]]:
    """Two runs between which a late journal came, rates were corrected, and a rule was changed.

    With the total by hand before, and after each of them.
    """
    close = GroupClose(closed_group)
    before = close.run()
    totals = [close.total_by_hand()]
    close.journals["us"]["U-3"] = ("6000", "151.15")
    totals.append(close.total_by_hand())
    close.rates |= {"USD": "0.9205", "PLN": "0.2361", "CHF": "1.0399"}
    totals.append(close.total_by_hand())
    close.factors["us"] = "1.37"
    totals.append(close.total_by_hand())
    return close, before, close.run(), totals


def test_a_late_journal_rates_and_a_rule_are_three_causes_though_the_rates_enter_in_five_projects(
    moved: tuple[GroupClose, str, str, list[Decimal]],
) -> None:
    close, before, after, totals = moved

    found = close.bridge(before, after)

    assert (found.before, found.after) == (totals[0], totals[-1])
    assert shares(found) == {
        "data:journal-us": str(totals[1] - totals[0]),
        "data:rates": str(totals[2] - totals[1]),
        "definition:clean-us/op-20": str(totals[3] - totals[2]),
    }
    assert [name.text for name in found.order] == [*shares(found)]
    assert [cause.label for cause in found.causes] == [
        "data of journal-us",
        "data of rates",
        "clean-us 20 Accrue (changed)",
    ]
    journal, rates, _ = found.causes
    assert journal.rows == RowCounts(added=1, removed=0, changed=0)
    assert rates.rows == RowCounts(added=0, removed=0, changed=3)
    # The late line is alone and has all of the share; what each rate moved in five projects is not known.
    assert [effect.effect for effect in journal.largest or ()] == [journal.share]
    assert [effect.effect for effect in rates.largest or ()] == [None, None, None]


def test_the_groups_of_a_bridge_through_projects_add_up(moved: tuple[GroupClose, str, str, list[Decimal]]) -> None:
    close, before, after, _ = moved

    found = close.bridge(before, after, by=("account",), order=("definition", "data:rates"))

    assert [name.text for name in found.order] == ["definition:clean-us/op-20", "data:rates", "data:journal-us"]
    assert found.by is not None
    assert {group.key["account"]: group.after for group in found.by} == close.totals_by_hand()
    assert all(add(group.before, *group.shares) == group.after for group in found.by)


def test_a_bridge_that_stays_here_has_one_cause_for_each_slice_and_the_rates(
    moved: tuple[GroupClose, str, str, list[Decimal]],
) -> None:
    close, before, after, totals = moved

    found = close.bridge(before, after, is_through=False)

    assert [*shares(found)] == ["data:group-totals", "data:rates"]
    assert found.difference == totals[-1] - totals[0]


def test_a_share_that_depends_on_the_order_of_equal_rows_is_marked(folder: Folder) -> None:
    """Ten accounts share five cents; which of them get one is decided by the ids of the rows of another project."""
    accounts = [{"name": "account", "type": "string"}, {"name": "amount", "type": "decimal(18,2)"}]
    folder.dataset("ledger", accounts, {"path": "data/ledger.csv"})
    share = {"column": "cents", "expression": "ALLOCATE(0.05, 1) OVER ()"}
    shared = {"type": "update", "arguments": {"assignments": [share]}}
    folder.project(shared, to_table("shared"), id_="report", input_="kept")

    def run(factor: int) -> str:
        lines = [{"account": f"{number}", "amount": "1.00"} for number in range(10)]
        folder.write_csv("data/ledger.csv", [*lines, {"account": "x", "amount": f"{factor}.00"}])
        kept = to_table("kept", register_as_dataset="kept", columns=["account", "amount"])
        folder.project(assign("amount", f"amount * {factor}"), kept, id_="maker", input_="ledger")
        folder.run(project="maker")
        return folder.run(project="report").run_id

    before, after = run(1), run(2)
    with folder.around() as around:
        amounts = bridge(around, BridgeRequest(before, after, "amount"))
        cents = bridge(around, BridgeRequest(before, after, "cents", by=("account",)))

    # Ten lines of 1.00 and one of 1.00, then of 2.00, then all of them twice.
    assert shares(amounts) == {"data:ledger": "1.00", "definition:maker/op-1": "12.00"}
    assert [notice.code for notice in amounts.notices] == []
    assert [notice.code for notice in cents.notices] == ["RUN_093"]
    assert cents.difference == 0
