"""Calendars to test with."""

from typing import Any

from daybook.model.calendar import Calendar


def calendar(**fields: Any) -> Calendar:
    return Calendar.model_validate({"id": "custom", "name": "Custom", **fields})


def fiscal(first_month: int, named_after: str = "end") -> Calendar:
    """Fiscal years of months, with halves, quarters, months and days."""
    return calendar(
        rule={"type": "months", "first_month": first_month, "named_after": named_after},
        levels=(
            {"name": "year", "unit": "year", "identifier": "FY{{year}}"},
            {"name": "half", "unit": "half", "identifier": "FY{{year}}-H{{half}}"},
            {"name": "quarter", "unit": "quarter", "identifier": "FY{{year}}-Q{{quarter}}"},
            {"name": "month", "unit": "month", "identifier": "FY{{year}}-P{{month}}"},
            {"name": "day", "unit": "day", "identifier": "{{YYYY}}-{{MM}}-{{DD}}"},
        ),
    )


def of_weeks(pattern: str = "4-4-5", **rule: Any) -> Calendar:
    return calendar(
        rule={"type": "weeks", "pattern": pattern, **rule},
        levels=(
            {"name": "year", "unit": "year", "identifier": "R{{year}}"},
            {"name": "quarter", "unit": "quarter", "identifier": "R{{year}}-Q{{quarter}}"},
            {"name": "month", "unit": "month", "identifier": "R{{year}}-P{{month}}"},
            {"name": "week", "unit": "week", "identifier": "R{{year}}-W{{week}}"},
            {"name": "day", "unit": "day", "identifier": "{{YYYY}}-{{MM}}-{{DD}}"},
        ),
    )


def listed(*periods: tuple[str, str, str, str], levels: tuple[str, ...] = ("year", "month")) -> Calendar:
    """Periods as (level, identifier, first day, last day)."""
    return calendar(
        levels=tuple({"name": name} for name in levels),
        periods=tuple(
            {"level": level, "identifier": identifier, "start_date": start, "end_date": end}
            for level, identifier, start, end in periods
        ),
    )
