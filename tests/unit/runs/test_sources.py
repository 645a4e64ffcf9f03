"""Slices that hold the same days are never read together."""

import pytest

from daybook.errors import DaybookError
from daybook.resolve.calendars.calendar import GREGORIAN
from daybook.runs.sources import refuse_overlapping_slices


@pytest.mark.parametrize(
    "slices",
    [("2026-01", "2026-02", "2026-Q1"), ("2026", "2026-12"), ("2026-01-15", "2026-01"), ("2025", "2026-Q4", "2026-10")],
)
def test_a_quarter_beside_its_months_is_refused(slices: tuple[str, ...]) -> None:
    with pytest.raises(DaybookError) as raised:
        refuse_overlapping_slices("ledger", slices, (GREGORIAN,))
    assert raised.value.code == "RUN_043"
    assert all(each in raised.value.message for each in slices)


@pytest.mark.parametrize("slices", [(), ("2026-01",), ("2026-01", "2026-02", "2026-Q2", "2027"), ("no period", "2026")])
def test_slices_beside_each_other_are_read_together(slices: tuple[str, ...]) -> None:
    refuse_overlapping_slices("ledger", slices, (GREGORIAN,))
