"""Calendars: how time is cut into periods, by rule or by list."""

import datetime
import re
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from daybook.model.base import Declaration, Named, Text


def _as_date(value: Any) -> Any:
    """YAML 1.2 and JSON have no dates, so `2026-01-31` arrives as text."""
    if not isinstance(value, str):
        return value
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", value, re.ASCII):
        raise ValueError("a date is written like 2026-01-31")
    return datetime.date.fromisoformat(value)


Date = Annotated[datetime.date, BeforeValidator(_as_date)]
Month = Annotated[int, Field(ge=1, le=12)]
Year = Annotated[int, Field(ge=1000, le=9998)]
Unit = Literal["year", "half", "quarter", "month", "week", "day"]
NamedAfter = Literal["start", "end"]


class MonthsRule(Declaration):
    """Years of twelve civil months from `first_month` on, named after the civil year they start or end in."""

    type: Literal["months"]
    first_month: Month = 1
    named_after: NamedAfter = "end"


class YearEnd(Declaration):
    """The day a year of weeks ends on: the last such weekday of a month, or the one nearest to the month's end."""

    weekday: Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    month: Month
    on: Literal["last", "nearest"] = "last"
    named_after: NamedAfter = "end"


class YearList(Declaration):
    """Years of 52 weeks from `first_day` on, those in `long` of 53; there are no years outside `first` to `last`."""

    first: Year
    last: Year
    first_day: Date
    long: tuple[Year, ...] = ()


class WeeksRule(Declaration):
    """Years of whole weeks, each quarter cut into three months by `pattern`; a 53rd week joins the last month."""

    type: Literal["weeks"]
    pattern: Literal["4-4-5", "4-5-4", "5-4-4"] = "4-4-5"
    year_ends: YearEnd | None = None
    years: YearList | None = None


CalendarRule: TypeAlias = Annotated[MonthsRule | WeeksRule, Field(discriminator="type")]


class CalendarLevel(Declaration):
    """Levels go from coarse to fine; with a rule each has a unit and a pattern such as `FY{{year}}-Q{{quarter}}`."""

    name: Text
    unit: Unit | None = None
    identifier: Text | None = None


class ListedPeriod(Declaration):
    """`end_date` is the last day of the period."""

    identifier: Text
    level: Text
    start_date: Date
    end_date: Date


class Calendar(Named):
    """Either a `rule` or listed `periods`."""

    levels: tuple[CalendarLevel, ...] = Field(min_length=1)
    rule: CalendarRule | None = None
    periods: tuple[ListedPeriod, ...] = ()
