"""What is refused in a declared calendar, and where it stands."""

from typing import Any

import pytest

from daybook.definitions.loading.definition_texts import load_text
from daybook.errors import DaybookError, flatten
from daybook.model.calendar import Calendar
from daybook.resolve.calendars.calendar_checks import calendar_errors, checked_calendar
from tests.unit.resolve.calendars import calendar, fiscal, listed, of_weeks

MONTHS = {"type": "months"}
WEEKS = {"type": "weeks", "year_ends": {"weekday": "saturday", "month": 1}}


def level(unit: str, identifier: str, name: str | None = None) -> dict[str, str]:
    return {"name": name or unit, "unit": unit, "identifier": identifier}


def codes(declared: Calendar) -> list[str]:
    return [error.code for error in calendar_errors(declared)]


def test_sound_calendars_have_no_findings() -> None:
    assert codes(fiscal(7)) == []
    assert codes(of_weeks(year_ends=WEEKS["year_ends"])) == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"id": "gregorian", "rule": MONTHS, "levels": (level("year", "{{year}}"),)}, ["RESOLVE_010"]),
        ({"levels": ({"name": "year"},)}, ["RESOLVE_011"]),
        (
            {
                "rule": MONTHS,
                "levels": (level("year", "{{year}}"),),
                "periods": (
                    {"level": "year", "identifier": "A", "start_date": "2026-01-01", "end_date": "2026-12-31"},
                ),
            },
            ["RESOLVE_011"],
        ),
        ({"rule": MONTHS, "levels": ({"name": "year", "identifier": "{{year}}"},)}, ["RESOLVE_012"]),
        ({"rule": MONTHS, "levels": ({"name": "year", "unit": "year"},)}, ["RESOLVE_012"]),
        ({"rule": MONTHS, "levels": (level("year", "{{year}}", "any"),)}, ["RESOLVE_012"]),
        ({"rule": MONTHS, "levels": (level("year", "{{year}}", "fiscal year"),)}, ["RESOLVE_012"]),
        (
            {"rule": MONTHS, "levels": (level("year", "{{year}}", "x"), level("month", "{{YYYY}}-{{MM}}", "x"))},
            ["RESOLVE_012"],
        ),
        ({"rule": {"type": "weeks"}, "levels": (level("year", "{{year}}"),)}, ["RESOLVE_013"]),
        (
            {
                "rule": {**WEEKS, "years": {"first": 2024, "first_day": "2024-01-01", "last": 2025}},
                "levels": (level("year", "{{year}}"),),
            },
            ["RESOLVE_013"],
        ),
        (
            {
                "rule": {
                    "type": "weeks",
                    "years": {"first": 2024, "first_day": "2020-01-01", "last": 2023, "long": (2030,)},
                },
                "levels": (level("year", "{{year}}"),),
            },
            ["RESOLVE_013", "RESOLVE_013", "RESOLVE_013"],
        ),
        ({"rule": MONTHS, "levels": (level("week", "{{year}}-W{{week}}"),)}, ["RESOLVE_014"]),
        (
            {"rule": MONTHS, "levels": (level("month", "{{year}}-{{month}}"), level("year", "{{year}}"))},
            ["RESOLVE_014"],
        ),
        ({"rule": MONTHS, "levels": (level("year", "FY{{Year}}"),)}, ["RESOLVE_015"]),
        ({"rule": MONTHS, "levels": (level("year", "FY"),)}, ["RESOLVE_015"]),
        ({"rule": MONTHS, "levels": (level("quarter", "{{year}}"),)}, ["RESOLVE_015"]),
        ({"rule": MONTHS, "levels": (level("month", "{{month}}"),)}, ["RESOLVE_015"]),
        ({"rule": MONTHS, "levels": (level("year", "{{year}}-{{MM}}"),)}, ["RESOLVE_015"]),
        ({"rule": WEEKS, "levels": (level("month", "{{YYYY}}-{{MM}}"),)}, ["RESOLVE_015", "RESOLVE_015"]),
        ({"rule": MONTHS, "levels": (level("day", "{{year}}-{{month}}"),)}, ["RESOLVE_015"]),
        # 2024-05 would be a month and a week.
        (
            {"rule": WEEKS, "levels": (level("month", "{{year}}-{{month}}"), level("week", "{{year}}-{{week}}"))},
            ["RESOLVE_015"],
        ),
        ({"rule": MONTHS, "levels": (level("year", "../{{year}}"),)}, ["RESOLVE_015"]),
        ({"rule": MONTHS, "levels": (level("year", "{{year}}/x"),)}, ["RESOLVE_015"]),
        ({"rule": MONTHS, "levels": (level("year", "A..{{year}}"),)}, ["RESOLVE_015"]),
        ({"rule": MONTHS, "levels": (level("year", "{{year}"),)}, ["RESOLVE_015"]),
    ],
)
def test_a_wrong_rule(fields: dict[str, Any], expected: list[str]) -> None:
    found = codes(calendar(**fields))
    # Three tokens of civil dates in a month of weeks are three findings; their number is not the point.
    assert list(dict.fromkeys(found)) == list(dict.fromkeys(expected))


YEAR = ("year", "Y26", "2026-01-01", "2026-12-31")
FIRST = ("month", "A", "2026-01-01", "2026-06-30")
SECOND = ("month", "B", "2026-07-01", "2026-12-31")


@pytest.mark.parametrize(
    ("periods", "code", "parameters"),
    [
        ([YEAR, FIRST, SECOND, ("week", "W", "2026-01-01", "2026-01-07")], "RESOLVE_016", {"period": "W"}),
        ([YEAR, FIRST, SECOND, FIRST], "RESOLVE_016", {"period": "A"}),
        ([YEAR, FIRST, ("month", "B", "2026-12-31", "2026-07-01")], "RESOLVE_016", {"period": "B"}),
        ([YEAR, FIRST, ("month", "B/2", "2026-07-01", "2026-12-31")], "RESOLVE_016", {"period": "B/2"}),
        (
            [YEAR, FIRST, ("month", "B", "2026-06-30", "2026-12-31")],
            "RESOLVE_017",
            {"first": "A", "second": "B"},
        ),
        (
            [YEAR, ("year", "Y27", "2027-01-02", "2027-12-31")],
            "RESOLVE_018",
            {"first": "Y26", "second": "Y27"},
        ),
        ([YEAR, FIRST, ("month", "B", "2026-07-01", "2027-01-01")], "RESOLVE_019", {"period": "B"}),
        ([YEAR, ("month", "X", "2025-12-01", "2025-12-31")], "RESOLVE_019", {"period": "X"}),
        ([YEAR, FIRST], "RESOLVE_020", {"period": "Y26", "level": "month"}),
    ],
)
def test_a_wrong_list(periods: list[tuple[str, str, str, str]], code: str, parameters: dict[str, str]) -> None:
    errors = calendar_errors(listed(*periods))
    first = next(error for error in errors if error.code == code)
    assert {name: first.parameters[name] for name in parameters} == parameters


def test_everything_is_found_at_once() -> None:
    with pytest.raises(DaybookError) as caught:
        checked_calendar(
            listed(
                YEAR,
                ("month", "A", "2026-01-01", "2026-03-31"),
                ("month", "B", "2026-03-31", "2026-05-31"),
                ("month", "C", "2026-07-01", "2027-01-31"),
            )
        )
    assert [error.code for error in flatten(caught.value)] == [
        "RESOLVE_017",
        "RESOLVE_018",
        "RESOLVE_019",
        "RESOLVE_020",
    ]


def test_findings_point_into_the_file() -> None:
    text = """\
calendar:
  id: shifts
  name: Shifts
  levels: [{name: year}]
  periods:
    - {identifier: A, level: year, start_date: 2026-01-01, end_date: 2026-06-30}
    - {identifier: B, level: year, start_date: 2026-08-01, end_date: 2026-12-31}
"""
    (definition,) = load_text(text, "calendars/shifts.yaml")
    assert isinstance(definition.model, Calendar)
    (error,) = calendar_errors(definition.model, definition.source)
    assert error.code == "RESOLVE_018"
    assert error.span is not None
    assert (error.span.file, error.span.line) == ("calendars/shifts.yaml", 7)
