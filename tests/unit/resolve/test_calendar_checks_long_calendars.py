"""A calendar that lists many periods is checked in time that grows with their number, not with its square."""

import datetime
from typing import Any

import pytest

from daybook.resolve.calendars import calendar_checks
from daybook.resolve.calendars.calendar_checks import calendar_errors
from tests.unit.resolve.calendars import listed

YEARS = range(2001, 2041)


def days_of(years: range) -> list[tuple[str, str, str, str]]:
    first, last = datetime.date(years[0], 1, 1), datetime.date(years[-1], 12, 31)
    days = [first + datetime.timedelta(days=number) for number in range((last - first).days + 1)]
    return [("day", f"D{day}", str(day), str(day)) for day in days]


def test_each_day_is_compared_with_the_year_around_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[Any] = []
    original = calendar_checks._is_inside

    def counting(child: Any, parent: Any) -> bool:
        compared.append(child)
        return original(child, parent)

    monkeypatch.setattr(calendar_checks, "_is_inside", counting)
    years = [("year", f"Y{year}", f"{year}-01-01", f"{year}-12-31") for year in YEARS]
    days = days_of(YEARS)
    assert calendar_errors(listed(*years, *days, levels=("year", "day"))) == ()
    # Once from the day and once from the year.
    assert len(compared) == 2 * len(days)


def test_periods_that_cross_or_leave_gaps_are_found_among_many() -> None:
    years = [("year", f"Y{year}", f"{year}-01-01", f"{year}-12-31") for year in YEARS]
    days = days_of(YEARS)[:-1]
    (error,) = calendar_errors(listed(*years, *days, levels=("year", "day")))
    assert (error.code, error.parameters["period"]) == ("RESOLVE_020", "Y2040")
    outside = [*days_of(YEARS), ("day", "D2041-01-01", "2041-01-01", "2041-01-01")]
    (error,) = calendar_errors(listed(*years, *outside, levels=("year", "day")))
    assert (error.code, error.parameters["period"]) == ("RESOLVE_019", "D2041-01-01")
