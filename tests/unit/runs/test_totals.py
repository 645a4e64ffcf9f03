"""What must add up, and how recorded totals are read; the figures are made up by hand."""

from dataclasses import replace
from decimal import Decimal

import pytest

from daybook.engine.counters import GroupCounts
from daybook.engine.measures import MeasureSum, SumKind
from daybook.errors import DaybookError
from daybook.model.measures import Amount
from daybook.model.types import FLOAT
from daybook.runs.totals import (
    MEASURES,
    SOURCES,
    MadeBy,
    amount_text,
    read_totals,
)
from daybook.runs.totals_ledger import TotalsLedger, recorded_sums
from daybook.store.records import OperationResult, RecordedType
from tests.unit.plan.planned import aggregate, output, plan_of

# 1 update, 2 delete, 3 aggregate, 4 output.
OPERATIONS = (
    "- {type: update, arguments: {assignments: [{column: amount, expression: amount + 1}]}}\n"
    "- {type: delete, selector: quantity = 0}\n" + aggregate(column="amount") + output()
)
PLAN = plan_of(OPERATIONS, head="measures: [amount]\n")

Figures = dict[tuple[int, SumKind, int], str]
SOUND: Figures = {
    (0, "loaded", 0): "100.00",
    (1, "changed", 0): "3.00",
    (1, "after", 0): "103.00",
    (2, "deleted", 0): "41.00",
    (2, "after", 0): "62.00",
    (3, "added", 3): "62.00",
    (4, "written", 0): "60.00",
    (4, "left_out", 0): "2.00",
    (4, "written", 3): "62.00",
}


def sums(figures: Figures) -> dict[MeasureSum, Amount]:
    return {MeasureSum(seq, kind, "amount", maker): Decimal(text) for (seq, kind, maker), text in figures.items()}


def verify(figures: Figures) -> None:
    ledger = TotalsLedger(PLAN)
    ledger.add(GroupCounts(None, (), sums(figures)))
    ledger.verify()


def test_sound_figures_add_up() -> None:
    verify(SOUND)


@pytest.mark.parametrize("key", sorted(SOUND.keys()))
def test_any_other_figure_is_found(key: tuple[int, SumKind, int]) -> None:
    """Each figure is a sum of its own, so a cent more in any of them makes two sides differ."""
    with pytest.raises(DaybookError) as raised:
        verify({**SOUND, key: str(Decimal(SOUND[key]) + Decimal("0.01"))})
    assert raised.value.code == "TOTALS_020"


def test_figures_that_are_not_summed_yet_are_not_compared() -> None:
    """An operation whose rows nothing has read so far is summed with a later output."""
    verify({key: text for key, text in SOUND.items() if key[0] != 3})
    verify({key: text for key, text in SOUND.items() if key[0] < 2})


def test_a_later_look_begins_where_the_earlier_one_ended() -> None:
    verify({**SOUND, (2, "before", 0): "103.00"})
    with pytest.raises(DaybookError) as raised:
        verify({**SOUND, (2, "before", 0): "103.01"})
    assert (raised.value.code, raised.value.operation_seq) == ("TOTALS_020", 2)


def test_figures_of_more_digits_than_python_has_are_compared_to_the_last_one() -> None:
    wide = "12345678901234567890123456789012345.67"
    figures: Figures = {
        (0, "loaded", 0): wide,
        (1, "changed", 0): "0.01",
        (1, "after", 0): "12345678901234567890123456789012345.68",
    }
    verify(figures)
    with pytest.raises(DaybookError):
        verify({**figures, (1, "after", 0): wide})


def test_floats_of_few_rows_are_compared_to_twelve_digits() -> None:
    """Of ten million rows the last bits may add up to more."""
    plan = replace(PLAN, types={**PLAN.types, "amount": FLOAT})

    def verify_floats(after: float, rows: int) -> None:
        ledger = TotalsLedger(plan)
        loaded = {MeasureSum(0, "loaded", "amount", 0): 1e12, MeasureSum(1, "after", "amount", 0): after}
        ledger.add(GroupCounts(rows, (), loaded))
        ledger.verify()

    verify_floats(1e12 + 0.5, 1000)
    verify_floats(1e12 + 500, 10_000_000)
    with pytest.raises(DaybookError):
        verify_floats(1e12 + 500, 1000)


def test_rows_that_an_output_may_write_are_written_or_left_out() -> None:
    """The sums of an output are there, but for the rows of the aggregate."""
    with pytest.raises(DaybookError) as raised:
        verify({key: text for key, text in SOUND.items() if key != (4, "written", 3)})
    assert raised.value.code == "TOTALS_020"


def recorded(figures: Figures) -> list[OperationResult]:
    types = {MEASURES: [["amount", "decimal(18,2)"]], SOURCES: []}
    kinds: tuple[RecordedType, ...] = ("load", "update", "delete", "aggregate", "output")
    return [
        OperationResult(
            seq,
            f"op-{seq}",
            kind,
            rows_picked=7,
            details={**(types if not seq else {}), **recorded_sums(sums(figures), seq)},
        )
        for seq, kind in enumerate(kinds)
    ]


def test_recorded_totals_are_read_as_a_flow() -> None:
    totals = read_totals("r", recorded(SOUND), {1: "Raise"}, {4: "out.csv"})
    assert totals is not None
    (measure,) = totals.measures
    raising, dropping, summing = measure.operations
    assert (raising.name, raising.before, raising.changed) == ("Raise", (MadeBy(0, "100.00"),), (MadeBy(0, "3.00"),))
    assert (dropping.before, dropping.deleted) == ((MadeBy(0, "103.00"),), (MadeBy(0, "41.00"),))
    assert summing.after == (MadeBy(0, "62.00"), MadeBy(3, "62.00"))
    (written,) = measure.outputs
    assert (written.label, written.written) == ("out.csv", (MadeBy(0, "60.00"), MadeBy(3, "62.00")))
    assert written.left_out == (MadeBy(0, "2.00"),)


def test_rows_that_are_added_without_the_measure_have_nothing_of_it() -> None:
    """So what an output wrote and left out of them adds up to something that is listed."""
    without = {key: text for key, text in SOUND.items() if key[0] != 3} | {(4, "written", 3): "0.00"}
    totals = read_totals("r", recorded(without), {}, {})
    assert totals is not None
    (measure,) = totals.measures
    assert measure.operations[-1].added == ()
    assert measure.operations[-1].after == (MadeBy(0, "62.00"), MadeBy(3, "0.00"))
    assert measure.outputs[0].written == (MadeBy(0, "60.00"), MadeBy(3, "0.00"))


def test_rows_that_an_output_never_selects_are_left_out() -> None:
    without = {key: text for key, text in SOUND.items() if key[0] != 4 or key[2] == 3}
    totals = read_totals("r", recorded(without), {}, {})
    assert totals is not None
    assert totals.measures[0].outputs[0].left_out == (MadeBy(0, "62.00"),)


def test_a_run_without_measures_has_no_totals() -> None:
    assert read_totals("r", [OperationResult(0, "load", "load")], {}, {}) is None


@pytest.mark.parametrize(
    ("amount", "text"),
    [(Decimal("1E+3"), "1000"), (0.1 + 0.2, "0.3"), (1e22, "10000000000000000000000"), (float("nan"), "nan")],
)
def test_numbers_are_plain_text(amount: Amount, text: str) -> None:
    assert amount_text(amount) == text
