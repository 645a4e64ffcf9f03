"""Bridge: why a total moved, by hand-made cases with known answers."""

from decimal import Decimal

import pytest

from daybook.compare.bridge_result import RowCounts
from daybook.compare.exact_numbers import add
from tests.spark.compare.journals import CLOSE, Ledger, change, convert, output, shares, totals
from tests.workspaces import Folder


@pytest.mark.slow
def test_a_changed_rate_is_the_data_of_the_rates(closed: tuple[Ledger, str]) -> None:
    ledger, before = closed
    ledger.rates["USD"] = "0.9500"
    after = ledger.run(*CLOSE)

    found = ledger.bridge(before, after)

    assert shares(found) == {"data:rates": "5.50"}
    (cause,) = found.causes
    assert cause.rows == RowCounts(added=0, removed=0, changed=1)
    (rate,) = cause.largest or ()
    assert (dict(rate.key), str(rate.effect)) == ({"currency": "USD"}, "5.50")
    assert (rate.before, rate.after) == ({"rate": Decimal("0.9000")}, {"rate": Decimal("0.9500")})


@pytest.mark.slow
def test_a_changed_rounding_is_the_operation_that_rounds(closed: tuple[Ledger, str]) -> None:
    ledger, before = closed
    after = ledger.run(convert("ROUND(amount * rates.rate, 0)"), totals(), output())

    assert shares(ledger.bridge(before, after)) == {"definition:convert": "-0.25"}


def test_a_moved_operation_is_one_cause_though_two_have_new_seqs(ledger: Ledger) -> None:
    before = ledger.run(convert(), change("double", 20, "eur * 2"), change("bonus", 30, "eur + 1"), totals(), output())
    after = ledger.run(convert(), change("bonus", 20, "eur + 1"), change("double", 30, "eur * 2"), totals(), output())

    found = ledger.bridge(before, after)

    # 2 * 149.25 + 3 lines before, 2 * (149.25 + 3) after.
    assert (str(found.before), str(found.after)) == ("301.50", "304.50")
    assert list(shares(found).values()) == ["3.00"]
    assert found.causes[0].label.endswith("(moved)")


@pytest.mark.slow
def test_a_changed_allocation_base_moves_between_groups_and_not_in_total(ledger: Ledger) -> None:
    by_line = change("share", 20, "ALLOCATE(100.00, 1) OVER ()", "eur")
    by_amount = change("share", 20, "ALLOCATE(100.00, amount) OVER ()", "eur")
    before = ledger.run(convert(), by_line, totals(), output())
    ledger.lines["J-1"] = ("4000", "USD", "39.75")
    after = ledger.run(convert(), by_amount, totals(), output())

    found = ledger.bridge(before, after, by=("account",))

    # Three lines: 33.34 + 33.33 and 33.33. Amounts are 39.75 + 50.25 and 10.00 of 100.00.
    assert found.by is not None
    assert {group.key["account"]: (str(group.before), str(group.after)) for group in found.by} == {
        "4000": ("66.67", "90.00"),
        "5000": ("33.33", "10.00"),
    }
    assert shares(found) == {"definition:share": "0.00"}
    assert [str(group.shares[0]) for group in found.by] == ["23.33", "-23.33"]


@pytest.fixture(scope="module")
def everything(closed_folder: tuple[Folder, str]) -> tuple[Ledger, str, str]:
    """Two runs between which a line, a rate and the rounding changed."""
    folder, before = closed_folder
    ledger = Ledger(folder)
    ledger.lines["J-4"] = ("5000", "USD", "20.00")
    ledger.rates["USD"] = "0.9500"
    return ledger, before, ledger.run(convert("ROUND(amount * rates.rate, 0)"), totals(), output())


def test_all_at_once_data_comes_before_definitions(everything: tuple[Ledger, str, str]) -> None:
    ledger, before, after = everything

    found = ledger.bridge(before, after, by=("account",))

    # 149.25, with the line 167.25, with the rate 173.75, rounded 95 + 50 + 10 + 19.
    assert (str(found.before), str(found.after)) == ("149.25", "174.00")
    assert shares(found) == {"data:journal": "18.00", "data:rates": "6.50", "definition:convert": "0.25"}
    assert [each.text for each in found.order] == ["data:journal", "data:rates", "definition:convert"]
    journal = found.causes[0]
    assert journal.rows == RowCounts(added=1, removed=0, changed=0)
    assert journal.explained_by == 10
    (late,) = journal.largest or ()
    assert (dict(late.key), late.before, str(late.effect)) == ({"line": "J-4"}, None, "18.00")
    assert late.after == {"account": "5000", "currency": "USD", "amount": Decimal("20.00")}
    assert found.by is not None
    assert {group.key["account"]: [str(share) for share in group.shares] for group in found.by} == {
        "4000": ["0.00", "5.00", "-0.25"],
        "5000": ["18.00", "1.50", "0.50"],
    }
    assert all(add(group.before, *group.shares) == group.after for group in found.by)
    # One more than causes.
    assert found.computations <= 4


def test_the_rows_with_the_largest_effects_come_first(ledger: Ledger) -> None:
    """The measure sums up what another aggregate summed up, as a statement beside its budget does."""
    grand = {"column": "total", "expression": "COALESCE(SUM(total), 0)"}
    statement = {
        "id": "statement",
        "seq": 85,
        "type": "aggregate",
        "selector": "_operation_seq = 80",
        "arguments": {"group_by": ["account"], "aggregations": [grand]},
    }
    close = (convert(), totals(), statement, output(selector="_operation_seq = 85"))
    ledger.rates["GBP"] = "1.1000"
    ledger.lines["J-9"] = ("6000", "GBP", "1000.00")
    before = ledger.run(*close)
    ledger.rates |= {"USD": "0.9500", "GBP": "1.0500", "CHF": "1.0200"}
    ledger.lines["J-3"] = ("5000", "USD", "12.00")
    del ledger.lines["J-2"]
    after = ledger.run(*close)

    journal, rates = ledger.bridge(before, after).causes

    assert journal.rows == RowCounts(added=0, removed=1, changed=1)
    assert [(row.key["line"], str(row.effect)) for row in journal.largest or ()] == [("J-2", "-50.25"), ("J-3", "1.80")]
    # 1000 at 0.05 less; 112 at 0.05 more; nobody uses francs.
    assert rates.rows == RowCounts(added=1, removed=0, changed=2)
    assert [(row.key["currency"], row.effect) for row in rates.largest or ()] == [
        ("GBP", Decimal("-50.00")),
        ("USD", Decimal("5.60")),
        ("CHF", None),
    ]


@pytest.mark.slow
def test_all_at_once_in_another_order_splits_otherwise_and_adds_up(everything: tuple[Ledger, str, str]) -> None:
    ledger, before, after = everything

    found = ledger.bridge(before, after, order=("definition", "data"))

    # Rounded 90 + 50 + 9, with the line 167, with the rate 174.
    assert shares(found) == {"definition:convert": "-0.25", "data:journal": "18.00", "data:rates": "7.00"}


def test_two_runs_with_nothing_different_have_no_causes(closed: tuple[Ledger, str]) -> None:
    ledger, before = closed

    found = ledger.bridge(before, ledger.run(*CLOSE))

    assert found.is_same
    assert (str(found.before), str(found.after), found.causes) == ("149.25", "149.25", ())
    assert found.computations == 1
