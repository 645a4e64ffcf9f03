"""Templates of paths and table names."""

import pytest

from daybook.errors import DaybookError
from daybook.model.calendar import Period
from daybook.resolve.calendars.calendar import GREGORIAN, PeriodCalendar
from daybook.resolve.calendars.calendar_checks import checked_calendar
from daybook.resolve.calendars.periods import period_of
from daybook.resolve.paths import names_one_period, path_template_errors, render_template
from tests.unit.resolve.calendars import fiscal, of_weeks

FISCAL = checked_calendar(fiscal(4))
RETAIL = checked_calendar(
    of_weeks("4-5-4", year_ends={"weekday": "saturday", "month": 1, "on": "nearest", "named_after": "start"})
)


def period(identifier: str, calendar: PeriodCalendar = GREGORIAN) -> Period:
    return period_of(identifier, calendar)


@pytest.mark.parametrize(
    ("template", "identifier", "expected"),
    [
        ("{{YYYY}}/{{MM}}/{{DD}}", "2024-02-29", "2024/02/29"),
        ("{{YYYY}}-{{QQ}}", "2026-Q1", "2026-Q1"),
        ("{{QQ}}", "2026-12", "Q4"),
        ("{{table_name}}_{{identifier}}.csv", "2026-Q3", "orders_2026-Q3.csv"),
        ("{{ YYYY }}", "2026", "2026"),
        ("{{YYYY}}{{YYYY}}", "2026-01", "20262026"),
        ("plain", "2026-01", "plain"),
    ],
)
def test_tokens(template: str, identifier: str, expected: str) -> None:
    assert render_template(template, period(identifier), "orders") == expected


@pytest.mark.parametrize(
    ("template", "identifier", "calendar", "expected"),
    [
        # April 2025 is the first month of fiscal 2026; paths are dated by the civil calendar.
        ("{{YYYY}}/{{MM}}", "FY2026-P01", FISCAL, "2025/04"),
        ("{{YYYY}}", "FY2026-Q4", FISCAL, "2026"),
        ("{{QQ}}", "FY2026-Q4", FISCAL, "Q1"),
        ("{{identifier}}", "R2024-W05", RETAIL, "R2024-W05"),
        ("{{MM}}", "R2024-W02", RETAIL, "02"),
    ],
)
def test_tokens_of_other_calendars(template: str, identifier: str, calendar: PeriodCalendar, expected: str) -> None:
    assert render_template(template, period(identifier, calendar), "orders") == expected


@pytest.mark.parametrize(
    ("template", "identifier", "calendar", "token"),
    [
        ("{{YYYY}}/{{MM}}", "2026", GREGORIAN, "{{MM}}"),
        ("{{YYYY}}/{{MM}}", "2026-Q1", GREGORIAN, "{{MM}}"),
        ("{{QQ}}", "2026", GREGORIAN, "{{QQ}}"),
        ("{{DD}}", "2026-01", GREGORIAN, "{{DD}}"),
        ("{{YYYY}}", "FY2026", FISCAL, "{{YYYY}}"),
        # Sunday 25 February to Saturday 2 March.
        ("{{MM}}", "R2024-W04", RETAIL, "{{MM}}"),
    ],
)
def test_a_token_that_is_not_one_thing_for_the_period(
    template: str, identifier: str, calendar: PeriodCalendar, token: str
) -> None:
    with pytest.raises(DaybookError) as caught:
        render_template(template, period(identifier, calendar), "orders")
    assert caught.value.code == "RESOLVE_032"
    assert caught.value.parameters["token"] == token


@pytest.mark.parametrize(
    ("template", "code"),
    [
        ("{{YYY}}", "RESOLVE_030"),
        ("{{yyyy}}", "RESOLVE_030"),
        ("{{}}", "RESOLVE_030"),
        ("{{YYYY", "RESOLVE_031"),
        ("YYYY}}", "RESOLVE_031"),
        ("{YYYY}", "RESOLVE_031"),
        ("{{{YYYY}}}", "RESOLVE_030"),
    ],
)
def test_what_is_no_token(template: str, code: str) -> None:
    with pytest.raises(DaybookError) as caught:
        render_template(template, period("2026-01-01"), "orders")
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("template", "identifier", "expected"),
    [
        ("{{identifier}}", "2026-01", True),
        ("{{YYYY}}/{{MM}}", "2026-01", True),
        ("{{YYYY}}", "2026-01", False),
        ("{{MM}}", "2026-01", False),
        ("{{YYYY}}", "2026", True),
        ("{{YYYY}}-{{QQ}}", "2026-Q1", True),
        ("{{YYYY}}-{{QQ}}", "2026-01", False),
        ("{{YYYY}}{{MM}}", "2026-01-15", False),
        ("{{YYYY}}{{MM}}{{DD}}", "2026-01-15", True),
        ("{{table_name}}", "2026-01", False),
        ("all", "2026-01", False),
    ],
)
def test_whether_a_place_belongs_to_the_period_alone(template: str, identifier: str, expected: bool) -> None:
    assert names_one_period(template, period(identifier)) is expected


def test_a_fiscal_month_is_a_civil_month() -> None:
    assert names_one_period("{{YYYY}}/{{MM}}", period("FY2026-P01", FISCAL)) is True
    assert names_one_period("{{YYYY}}", period("FY2026-P01", FISCAL)) is False


@pytest.mark.parametrize(
    ("text", "is_inline", "code"),
    [
        ("{{YYYY}}/{{MM}}", False, None),
        ("../{{YYYY}}", False, "RESOLVE_035"),
        ("/data/{{YYYY}}", False, "RESOLVE_035"),
        ("/data/{{YYYY}}", True, None),
        ("s3a://bucket/{{YYYY}}", False, "RESOLVE_035"),
        ("s3a://bucket/{{YYYY}}", True, None),
        ("s3a://bucket/../{{YYYY}}", True, "RESOLVE_035"),
        ("../{{YYYY}}", True, "RESOLVE_035"),
        ("{{YYYY}}/*.csv", True, "RESOLVE_035"),
        ("{{YYY}}/../x", False, "RESOLVE_030"),
    ],
)
def test_what_is_wrong_with_a_path_for_every_period(text: str, is_inline: bool, code: str | None) -> None:
    assert [error.code for error in path_template_errors(text, is_inline=is_inline)] == ([code] if code else [])
