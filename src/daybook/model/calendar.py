"""Calendars: how time is cut into periods, by rule or by list."""

import datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from daybook.model.base import Declaration, Id, Text


class GregorianRule(Declaration):
    """Cuts by calendar units; `start_month` shifts the year for fiscal calendars."""

    type: Literal["gregorian"]
    unit: Literal["year", "half", "quarter", "month", "week", "day"]
    start_month: int = Field(default=1, ge=1, le=12)


class WeeksRule(Declaration):
    """A 4-4-5 style cut: weeks per period of a quarter, years beginning near an anchor date."""

    type: Literal["weeks"]
    unit: Literal["year", "quarter", "month", "week"]
    pattern: tuple[int, int, int] = (4, 4, 5)
    year_start: datetime.date
    long_years: tuple[int, ...] = ()


LevelRule: TypeAlias = Annotated[GregorianRule | WeeksRule, Field(discriminator="type")]


class CalendarLevel(Declaration):
    """Levels go from coarse to fine; `identifier` is a pattern such as `FY{{YYYY}}-Q{{QQ}}`."""

    name: Text
    identifier: Text | None = None
    rule: LevelRule | None = None


class ListedPeriod(Declaration):
    identifier: Text
    level: Text
    start_date: datetime.date
    end_date: datetime.date


class Calendar(Declaration):
    id: Id
    name: Text
    description: str | None = None
    levels: tuple[CalendarLevel, ...] = Field(min_length=1)
    periods: tuple[ListedPeriod, ...] = ()
