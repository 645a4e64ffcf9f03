"""Periods of the built-in calendar."""

import datetime

import pytest

from daybook.errors import DaybookError
from daybook.model.calendar import Period
from daybook.resolve.calendars.calendar import GREGORIAN
from daybook.resolve.calendars.periods import (
    child_periods,
    contains_period,
    enclosing_period,
    period_of,
    period_range,
    periods_overlap,
)


def day(text: str) -> datetime.date:
    return datetime.date.fromisoformat(text)


def period(identifier: str) -> Period:
    return period_of(identifier, GREGORIAN)


@pytest.mark.parametrize(
    ("identifier", "level", "start", "end"),
    [
        ("2026", "year", "2026-01-01", "2026-12-31"),
        ("2026-Q1", "quarter", "2026-01-01", "2026-03-31"),
        ("2026-Q2", "quarter", "2026-04-01", "2026-06-30"),
        ("2026-Q3", "quarter", "2026-07-01", "2026-09-30"),
        ("2026-Q4", "quarter", "2026-10-01", "2026-12-31"),
        ("2026-01", "month", "2026-01-01", "2026-01-31"),
        ("2026-02", "month", "2026-02-01", "2026-02-28"),
        ("2024-02", "month", "2024-02-01", "2024-02-29"),
        ("1900-02", "month", "1900-02-01", "1900-02-28"),
        ("2000-02", "month", "2000-02-01", "2000-02-29"),
        ("2026-12", "month", "2026-12-01", "2026-12-31"),
        ("2024-02-29", "day", "2024-02-29", "2024-02-29"),
        ("9998-12-31", "day", "9998-12-31", "9998-12-31"),
    ],
)
def test_an_identifier_is_a_period(identifier: str, level: str, start: str, end: str) -> None:
    assert period(identifier) == Period(identifier, level, day(start), day(end), "gregorian")


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("2026-1", "2026-01"),
        ("2026/01", "2026-01"),
        ("202601", "2026-01"),
        ("2026-1-5", "2026-01-05"),
        ("20260105", "2026-01-05"),
        ("2026Q1", "2026-Q1"),
        ("2026-q1", "2026-Q1"),
        ("2026-Q01", "2026-Q1"),
        ("2026-13", "2026-12"),
        ("2026-00", "2026-01"),
        ("2026-Q5", "2026-Q4"),
        ("2026-02-30", "2026-02-28"),
        ("2025-02-29", "2025-02-28"),
        (" 2026-01", "2026-01"),
    ],
)
def test_a_wrong_identifier_is_answered_with_the_nearest(wrong: str, meant: str) -> None:
    with pytest.raises(DaybookError) as caught:
        period(wrong)
    assert caught.value.code == "RESOLVE_001"
    assert caught.value.parameters == {"identifier": wrong, "calendar": "gregorian"}
    assert caught.value.hint is not None
    assert caught.value.hint.startswith(f"did you mean {meant}?")


@pytest.mark.parametrize(
    "wrong", ["", "next month", "\uff12026-01", "2026-01\n", "0000", "99999", "{{YYYY}}", "2026-Q1-01"]
)
def test_what_is_no_identifier_at_all(wrong: str) -> None:
    with pytest.raises(DaybookError) as caught:
        period(wrong)
    assert caught.value.code == "RESOLVE_001"


def test_children_tile_their_parent() -> None:
    assert [each.identifier for each in child_periods(period("2026"), "quarter", GREGORIAN)] == [
        "2026-Q1",
        "2026-Q2",
        "2026-Q3",
        "2026-Q4",
    ]
    assert [each.identifier for each in child_periods(period("2026-Q4"), "month", GREGORIAN)] == [
        "2026-10",
        "2026-11",
        "2026-12",
    ]
    assert len(child_periods(period("2024-02"), "day", GREGORIAN)) == 29
    assert len(child_periods(period("2023"), "day", GREGORIAN)) == 365
    assert child_periods(period("2026-01"), "month", GREGORIAN) == (period("2026-01"),)


def test_children_are_finer() -> None:
    with pytest.raises(DaybookError) as caught:
        child_periods(period("2026-01"), "year", GREGORIAN)
    assert caught.value.code == "RESOLVE_005"
    with pytest.raises(DaybookError) as caught:
        child_periods(period("2026-01"), "week", GREGORIAN)
    assert (caught.value.code, caught.value.parameters) == ("RESOLVE_004", {"level": "week", "calendar": "gregorian"})


def test_a_period_lies_in_one_of_a_coarser_level() -> None:
    assert enclosing_period(period("2026-05-31"), "quarter", GREGORIAN) == period("2026-Q2")
    assert enclosing_period(period("2026-05"), "year", GREGORIAN) == period("2026")
    with pytest.raises(DaybookError) as caught:
        enclosing_period(period("2026"), "month", GREGORIAN)
    assert caught.value.code == "RESOLVE_005"


@pytest.mark.parametrize(
    ("outer", "inner", "is_inside", "is_shared"),
    [
        ("2026-Q1", "2026-03", True, True),
        ("2026-Q1", "2026-04", False, False),
        ("2026-03", "2026-Q1", False, True),
        ("2026-03", "2026-03", True, True),
        ("2025", "2026-01-01", False, False),
    ],
)
def test_containment(outer: str, inner: str, is_inside: bool, is_shared: bool) -> None:
    assert contains_period(period(outer), period(inner)) is is_inside
    assert periods_overlap(period(outer), period(inner)) is is_shared


def test_a_range_runs_from_its_first_to_its_last_period() -> None:
    assert [each.identifier for each in period_range("2025-11..2026-02", GREGORIAN)] == [
        "2025-11",
        "2025-12",
        "2026-01",
        "2026-02",
    ]
    assert period_range("2026-Q1..2026-Q1", GREGORIAN) == (period("2026-Q1"),)
    assert period_range("2026", GREGORIAN) == (period("2026"),)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("2026-01..2026-Q2", "RESOLVE_002"),
        ("2026-02..2026-01", "RESOLVE_002"),
        ("2026-01..", "RESOLVE_001"),
        ("..2026-01", "RESOLVE_001"),
        ("2026-01...2026-02", "RESOLVE_001"),
        ("2026-01..2026-13", "RESOLVE_001"),
    ],
)
def test_what_is_no_range(text: str, code: str) -> None:
    with pytest.raises(DaybookError) as caught:
        period_range(text, GREGORIAN)
    assert caught.value.code == code
