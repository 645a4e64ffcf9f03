"""Calendars by rule and by list, against dates worked out by hand or by the standard library."""

import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daybook.errors import DaybookError
from daybook.model.calendar import Calendar
from daybook.resolve.calendars.calendar import GREGORIAN, PeriodCalendar
from daybook.resolve.calendars.calendar_checks import checked_calendar
from daybook.resolve.calendars.periods import calendar_for, child_periods, enclosing_period, period_of, period_range
from tests.unit.resolve.calendars import fiscal, listed, of_weeks
from tests.unit.resolve.definitions import in_memory


def bounds(identifier: str, calendar: PeriodCalendar) -> tuple[str, str]:
    found = period_of(identifier, calendar)
    return found.start_date.isoformat(), found.end_date.isoformat()


@pytest.mark.parametrize(
    ("first_month", "named_after", "identifier", "start", "end"),
    [
        (4, "end", "FY2026", "2025-04-01", "2026-03-31"),
        (4, "start", "FY2026", "2026-04-01", "2027-03-31"),
        (4, "end", "FY2026-H2", "2025-10-01", "2026-03-31"),
        (4, "end", "FY2024-Q4", "2024-01-01", "2024-03-31"),
        (4, "end", "FY2024-P11", "2024-02-01", "2024-02-29"),
        (4, "end", "FY2026-P01", "2025-04-01", "2025-04-30"),
        (10, "end", "FY2026-Q1", "2025-10-01", "2025-12-31"),
        (12, "end", "FY2026", "2025-12-01", "2026-11-30"),
        (1, "end", "FY2026", "2026-01-01", "2026-12-31"),
        (1, "start", "FY2026", "2026-01-01", "2026-12-31"),
        (2, "start", "FY2026-P12", "2027-01-01", "2027-01-31"),
    ],
)
def test_fiscal_years(first_month: int, named_after: str, identifier: str, start: str, end: str) -> None:
    assert bounds(identifier, checked_calendar(fiscal(first_month, named_after))) == (start, end)


def test_a_fiscal_calendar_may_call_its_months_by_the_civil_date() -> None:
    calendar = checked_calendar(
        Calendar.model_validate(
            {
                "id": "fiscal",
                "name": "Fiscal",
                "rule": {"type": "months", "first_month": 4},
                "levels": (
                    {"name": "year", "unit": "year", "identifier": "FY{{year}}"},
                    {"name": "month", "unit": "month", "identifier": "{{YYYY}}-{{MM}}"},
                ),
            }
        )
    )
    months = [month.identifier for month in child_periods(period_of("FY2026", calendar), "month", calendar)]
    assert months == [f"2025-{month:02d}" for month in range(4, 13)] + ["2026-01", "2026-02", "2026-03"]


LAST_SATURDAY_OF_JANUARY = {"year_ends": {"weekday": "saturday", "month": 1, "on": "last", "named_after": "start"}}
SATURDAY_NEAR_JANUARY = {"year_ends": {"weekday": "saturday", "month": 1, "on": "nearest", "named_after": "start"}}


@pytest.mark.parametrize(
    ("pattern", "rule", "identifier", "start", "end"),
    [
        # The retail calendar: the Saturday nearest to 31 January ends the year; 2023 had 53 weeks.
        ("4-5-4", SATURDAY_NEAR_JANUARY, "R2023", "2023-01-29", "2024-02-03"),
        ("4-5-4", SATURDAY_NEAR_JANUARY, "R2024", "2024-02-04", "2025-02-01"),
        ("4-5-4", SATURDAY_NEAR_JANUARY, "R2025", "2025-02-02", "2026-01-31"),
        ("4-5-4", SATURDAY_NEAR_JANUARY, "R2024-P01", "2024-02-04", "2024-03-02"),
        ("4-5-4", SATURDAY_NEAR_JANUARY, "R2024-P02", "2024-03-03", "2024-04-06"),
        ("4-5-4", SATURDAY_NEAR_JANUARY, "R2024-Q1", "2024-02-04", "2024-05-04"),
        ("4-5-4", SATURDAY_NEAR_JANUARY, "R2023-P12", "2023-12-31", "2024-02-03"),
        ("4-5-4", SATURDAY_NEAR_JANUARY, "R2023-W53", "2024-01-28", "2024-02-03"),
        # 27 January 2024 and 25 January 2025 are the last Saturdays, so 2024 has 52 weeks and 2025 (to the 31st) 53.
        ("4-4-5", LAST_SATURDAY_OF_JANUARY, "R2024", "2024-01-28", "2025-01-25"),
        ("4-4-5", LAST_SATURDAY_OF_JANUARY, "R2025", "2025-01-26", "2026-01-31"),
        ("4-4-5", LAST_SATURDAY_OF_JANUARY, "R2025-P12", "2025-12-21", "2026-01-31"),
        ("4-4-5", LAST_SATURDAY_OF_JANUARY, "R2024-P03", "2024-03-24", "2024-04-27"),
        ("5-4-4", LAST_SATURDAY_OF_JANUARY, "R2024-P01", "2024-01-28", "2024-03-02"),
        ("4-4-5", LAST_SATURDAY_OF_JANUARY, "2025-12-31", "2025-12-31", "2025-12-31"),
    ],
)
def test_years_of_weeks(pattern: str, rule: dict[str, object], identifier: str, start: str, end: str) -> None:
    assert bounds(identifier, checked_calendar(of_weeks(pattern, **rule))) == (start, end)


def test_a_long_year_gives_its_last_month_the_extra_week() -> None:
    calendar = checked_calendar(of_weeks("4-4-5", **LAST_SATURDAY_OF_JANUARY))

    def weeks(identifier: str) -> list[int]:
        year = period_of(identifier, calendar)
        return [len(child_periods(month, "week", calendar)) for month in child_periods(year, "month", calendar)]

    assert weeks("R2024") == [4, 4, 5] * 4
    assert weeks("R2025") == [4, 4, 5] * 3 + [4, 4, 6]


def test_a_short_year_has_no_week_53() -> None:
    calendar = checked_calendar(of_weeks("4-4-5", **LAST_SATURDAY_OF_JANUARY))
    with pytest.raises(DaybookError) as caught:
        period_of("R2024-W53", calendar)
    assert caught.value.code == "RESOLVE_001"
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("did you mean R2024-W52?")


YEARS: dict[str, Any] = {"years": {"first": 2024, "first_day": "2024-01-01", "last": 2027, "long": (2026,)}}


@pytest.mark.parametrize(
    ("identifier", "start", "end"),
    [
        ("R2024", "2024-01-01", "2024-12-29"),
        ("R2025", "2024-12-30", "2025-12-28"),
        ("R2026", "2025-12-29", "2027-01-03"),
        ("R2027", "2027-01-04", "2028-01-02"),
        ("R2026-W53", "2026-12-28", "2027-01-03"),
    ],
)
def test_counted_years(identifier: str, start: str, end: str) -> None:
    assert bounds(identifier, checked_calendar(of_weeks(**YEARS))) == (start, end)


def test_counted_years_end() -> None:
    calendar = checked_calendar(of_weeks(**YEARS))
    for identifier in ("R2023", "R2028", "2028-01-03"):
        with pytest.raises(DaybookError):
            period_of(identifier, calendar)
    assert calendar.at("week", datetime.date(2023, 12, 31)) is None


@given(st.dates(datetime.date(1950, 1, 1), datetime.date(2150, 12, 31)))
def test_years_that_end_on_the_sunday_nearest_to_new_year_are_iso_years(day: datetime.date) -> None:
    ending = {"weekday": "sunday", "month": 12, "on": "nearest"}
    calendar = checked_calendar(of_weeks(year_ends=ending))
    week = calendar.at("week", day)
    iso = day.isocalendar()
    assert week is not None
    assert week.identifier == f"R{iso.year}-W{iso.week:02d}"


DECLARATIONS = [
    None,
    *(fiscal(month, after) for month in range(1, 13) for after in ("start", "end")),
    *(
        of_weeks(pattern, year_ends={"weekday": weekday, "month": month, "on": on})
        for pattern in ("4-4-5", "4-5-4", "5-4-4")
        for weekday, month, on in (("saturday", 1, "last"), ("friday", 12, "nearest"), ("sunday", 6, "last"))
    ),
]
CALENDARS = st.sampled_from(DECLARATIONS).map(
    lambda declaration: checked_calendar(declaration) if declaration else GREGORIAN
)


@settings(max_examples=200, deadline=None)
@given(CALENDARS, st.dates(datetime.date(1900, 1, 1), datetime.date(2200, 1, 1)), st.data())
def test_periods_of_a_level_tile_their_parent(
    calendar: PeriodCalendar, day: datetime.date, data: st.DataObject
) -> None:
    outer_index = data.draw(st.integers(0, len(calendar.levels) - 1))
    inner_index = data.draw(st.integers(outer_index, len(calendar.levels) - 1))
    outer_level, inner_level = calendar.levels[outer_index], calendar.levels[inner_index]
    parent = calendar.at(outer_level, day)
    assert parent is not None
    assert parent.start_date <= day <= parent.end_date
    parts = child_periods(parent, inner_level, calendar)
    expected = parent.start_date
    for part in parts:
        assert part.start_date == expected
        assert part.end_date >= part.start_date
        assert enclosing_period(part, outer_level, calendar) == parent
        assert calendar.find(part.identifier) == part
        expected = part.end_date + datetime.timedelta(days=1)
    assert expected == parent.end_date + datetime.timedelta(days=1)
    assert len({part.identifier for part in parts}) == len(parts)


def test_a_listed_calendar() -> None:
    calendar = checked_calendar(
        listed(
            ("year", "Y1", "2025-11-15", "2026-11-14"),
            ("month", "Y1-B", "2026-05-01", "2026-11-14"),
            ("month", "Y1-A", "2025-11-15", "2026-04-30"),
            ("year", "Y2", "2026-11-15", "2027-11-14"),
        )
    )
    assert [each.identifier for each in child_periods(period_of("Y1", calendar), "month", calendar)] == ["Y1-A", "Y1-B"]
    assert enclosing_period(period_of("Y1-B", calendar), "year", calendar).identifier == "Y1"
    with pytest.raises(DaybookError) as caught:
        child_periods(period_of("Y2", calendar), "month", calendar)
    assert caught.value.code == "RESOLVE_006"


def test_the_last_day_there_is() -> None:
    calendar = checked_calendar(
        listed(
            ("year", "old", "0001-01-01", "2025-12-31"),
            ("year", "new", "2026-01-01", "9999-12-31"),
        )
    )
    assert period_range("old..new", calendar) == (period_of("old", calendar), period_of("new", calendar))


def test_calendars_by_id() -> None:
    catalog = in_memory(calendars=[fiscal(4)])
    assert calendar_for(None, catalog) is GREGORIAN
    assert calendar_for("gregorian", catalog) is GREGORIAN
    assert calendar_for("custom", catalog).find("FY2026") is not None
    with pytest.raises(DaybookError) as caught:
        calendar_for("costum", catalog)
    assert (caught.value.code, caught.value.hint) == ("RESOLVE_003", "did you mean custom?")
