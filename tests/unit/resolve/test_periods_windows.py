"""Windows of views in every kind of calendar. Expected periods are counted by hand."""

import datetime

import pytest

from daybook.errors import DaybookError
from daybook.model.dataset import AllWindow, DaysAfterEnd, FirstPeriod, LastWindow, OffsetWindow, ToDateWindow, Window
from daybook.resolve.calendars.calendar import GREGORIAN, PeriodCalendar, build_calendar
from daybook.resolve.calendars.periods import as_of_date, check_window, period_of, window_periods
from tests.unit.resolve.calendars import fiscal, listed, of_weeks

FISCAL = build_calendar(fiscal(4))
# Years end on the Saturday nearest to 31 January: 2023 has 53 weeks, 2022 and 2024 have 52.
YEAR_END = {"weekday": "saturday", "month": 1, "on": "nearest", "named_after": "start"}
RETAIL = build_calendar(of_weeks("4-5-4", year_ends=YEAR_END))
LISTED = build_calendar(
    listed(
        ("year", "Y1", "2025-01-01", "2025-06-30"),
        ("year", "Y2", "2025-07-01", "2026-06-30"),
        ("month", "Y1-A", "2025-01-01", "2025-03-31"),
        ("month", "Y1-B", "2025-04-01", "2025-06-30"),
        ("month", "Y2-A", "2025-07-01", "2025-10-31"),
        ("month", "Y2-B", "2025-11-01", "2026-02-28"),
        ("month", "Y2-C", "2026-03-01", "2026-06-30"),
    )
)


def looked_at(window: Window, period: str, calendar: PeriodCalendar = GREGORIAN) -> list[str] | None:
    found = window_periods(window, period_of(period, calendar), calendar)
    return None if found is None else [each.identifier for each in found]


@pytest.mark.parametrize(
    ("window", "period", "expected"),
    [
        ("previous", "2026-01", ["2025-12"]),
        ("previous", "2026-Q1", ["2025-Q4"]),
        ("previous", "2026", ["2025"]),
        ("previous", "2024-03-01", ["2024-02-29"]),
        (OffsetWindow(offset=-12), "2026-03", ["2025-03"]),
        (OffsetWindow(offset=2), "2026-11", ["2027-01"]),
        ("same_last_year", "2026-03", ["2025-03"]),
        ("same_last_year", "2026-Q4", ["2025-Q4"]),
        ("same_last_year", "2026-03-15", ["2025-03-15"]),
        ("same_last_year", "2024-02-29", []),
        (ToDateWindow(to_date="year"), "2026-03", ["2026-01", "2026-02", "2026-03"]),
        (ToDateWindow(to_date="quarter"), "2026-05", ["2026-04", "2026-05"]),
        (ToDateWindow(to_date="month"), "2026-05", ["2026-05"]),
        (ToDateWindow(to_date="year"), "2026-Q2", ["2026-Q1", "2026-Q2"]),
        (LastWindow(last=3), "2026-02", ["2025-12", "2026-01", "2026-02"]),
        (LastWindow(last=1), "2026-02", ["2026-02"]),
        (AllWindow(all=FirstPeriod(first="2025-12")), "2026-02", ["2025-12", "2026-01", "2026-02"]),
        (AllWindow(all=FirstPeriod(first="2026-03")), "2026-02", []),
        ("all", "2026-02", None),
    ],
)
def test_in_the_gregorian_calendar(window: Window, period: str, expected: list[str] | None) -> None:
    assert looked_at(window, period) == expected


@pytest.mark.parametrize(
    ("window", "period", "expected"),
    [
        # The fiscal year 2026 begins in April 2025.
        ("previous", "FY2026-P01", ["FY2025-P12"]),
        ("same_last_year", "FY2026-P01", ["FY2025-P01"]),
        (ToDateWindow(to_date="year"), "FY2026-P02", ["FY2026-P01", "FY2026-P02"]),
        (ToDateWindow(to_date="half"), "FY2026-P08", ["FY2026-P07", "FY2026-P08"]),
        # 31 March 2026 lies in the fiscal year 2026, 31 March 2025 in 2025.
        ("same_last_year", "2026-03-31", ["2025-03-31"]),
    ],
)
def test_in_fiscal_years(window: Window, period: str, expected: list[str]) -> None:
    assert looked_at(window, period, FISCAL) == expected


@pytest.mark.parametrize(
    ("window", "period", "expected"),
    [
        ("same_last_year", "R2023-W53", []),
        ("same_last_year", "R2024-W17", ["R2023-W17"]),
        ("same_last_year", "R2024-W52", ["R2023-W52"]),
        ("previous", "R2024-W01", ["R2023-W53"]),
        ("previous", "R2023-W01", ["R2022-W52"]),
        ("same_last_year", "R2024-P12", ["R2023-P12"]),
    ],
)
def test_in_years_of_52_and_53_weeks(window: Window, period: str, expected: list[str]) -> None:
    assert looked_at(window, period, RETAIL) == expected


@pytest.mark.parametrize(
    ("window", "period", "expected"),
    [
        ("previous", "Y1-A", []),
        ("previous", "Y2-A", ["Y1-B"]),
        ("same_last_year", "Y2-B", ["Y1-B"]),
        ("same_last_year", "Y2-C", []),
        ("same_last_year", "Y1-B", []),
        (ToDateWindow(to_date="year"), "Y2-B", ["Y2-A", "Y2-B"]),
        (LastWindow(last=9), "Y2-A", ["Y1-A", "Y1-B", "Y2-A"]),
        (OffsetWindow(offset=1), "Y2-C", []),
    ],
)
def test_in_a_list_of_periods(window: Window, period: str, expected: list[str]) -> None:
    assert looked_at(window, period, LISTED) == expected


def test_a_window_to_date_needs_a_coarser_level() -> None:
    with pytest.raises(DaybookError) as raised:
        looked_at(ToDateWindow(to_date="month"), "2026-Q1")
    assert raised.value.code == "RESOLVE_090"


def test_a_level_that_the_calendar_lacks_is_found_before_a_run() -> None:
    with pytest.raises(DaybookError) as raised:
        check_window(ToDateWindow(to_date="yeer"), GREGORIAN)
    assert raised.value.code == "RESOLVE_004"
    assert "year" in (raised.value.hint or "")


def test_the_first_period_has_the_level_of_the_run() -> None:
    with pytest.raises(DaybookError) as raised:
        looked_at(AllWindow(all=FirstPeriod(first="2026")), "2026-02")
    assert raised.value.code == "RESOLVE_091"


def test_the_day_of_an_as_of_rule() -> None:
    period = period_of("2026-02", GREGORIAN)
    assert as_of_date(None, period) == datetime.date(2026, 2, 1)
    assert as_of_date("end", period) == datetime.date(2026, 2, 28)
    assert as_of_date(DaysAfterEnd(after_end=5), period) == datetime.date(2026, 3, 5)
