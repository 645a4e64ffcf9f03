"""Periods, and calendars that divide time into periods by a rule or a list."""

import datetime
import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from daybook.model.declaration import Declaration, NamedDeclaration, NonEmptyText


def _parse_iso_date(value: Any) -> Any:
    """YAML 1.2 and JSON have no dates, so `2026-01-31` arrives as text."""
    if not isinstance(value, str):
        return value
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", value, re.ASCII):
        raise ValueError("a date is written like 2026-01-31")
    return datetime.date.fromisoformat(value)


IsoDate = Annotated[datetime.date, BeforeValidator(_parse_iso_date)]
MonthNumber = Annotated[int, Field(ge=1, le=12)]
YearNumber = Annotated[int, Field(ge=1000, le=9998)]
CalendarUnit = Literal["year", "half", "quarter", "month", "week", "day"]
NamedAfter = Literal["start", "end"]


class MonthsRule(Declaration):
    """Years of twelve civil months from `first_month` on, named after the civil year they start or end in."""

    type: Literal["months"]
    first_month: MonthNumber = Field(default=1, description="The first month of a year.")
    named_after: NamedAfter = Field(default="end", description="The civil year whose number a year has.")


class YearEnd(Declaration):
    """The day a year of weeks ends on: the last such weekday of a month, or the one nearest to the month's end."""

    weekday: Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] = Field(
        description="The last day of a week."
    )
    month: MonthNumber = Field(description="The month a year ends in.")
    on: Literal["last", "nearest"] = Field(
        default="last", description="The last such weekday of the month, or the one nearest to its end."
    )
    named_after: NamedAfter = Field(default="end", description="The civil year whose number a year has.")


class YearList(Declaration):
    """Years of 52 weeks from `first_day` on, those in `long` of 53; there are no years outside `first` to `last`."""

    first: YearNumber = Field(description="The first year of the calendar.")
    last: YearNumber = Field(description="The last year of the calendar.")
    first_day: IsoDate = Field(description="The day the first year begins.")
    long: tuple[YearNumber, ...] = Field(default=(), description="The years of 53 weeks.")


class WeeksRule(Declaration):
    """Years of whole weeks, each quarter cut into three months by `pattern`; a 53rd week joins the last month."""

    type: Literal["weeks"]
    pattern: Literal["4-4-5", "4-5-4", "5-4-4"] = Field(
        default="4-4-5", description="How many weeks the three months of a quarter have."
    )
    year_ends: YearEnd | None = Field(default=None, description="The rule for the end of a year.")
    years: YearList | None = Field(default=None, description="Instead of the rule: a list of years.")


CalendarRule: TypeAlias = Annotated[MonthsRule | WeeksRule, Field(discriminator="type")]


class CalendarLevel(Declaration):
    """Levels go from coarse to fine; with a rule each has a unit and a pattern such as `FY{{year}}-Q{{quarter}}`."""

    name: NonEmptyText = Field(description="The name in `period.level` and `data_level`.")
    unit: CalendarUnit | None = Field(default=None, description="The unit of the level.")
    identifier: NonEmptyText | None = Field(default=None, description="The pattern of its identifiers.")


class ListedPeriod(Declaration):
    """`end_date` is the last day of the period."""

    identifier: NonEmptyText = Field(description="The identifier, as in `--period`.")
    level: NonEmptyText = Field(description="One of the calendar's levels.")
    start_date: IsoDate = Field(description="The first day.")
    end_date: IsoDate = Field(description="The last day.")


class Calendar(NamedDeclaration):
    """Either a `rule` or listed `periods`."""

    levels: tuple[CalendarLevel, ...] = Field(min_length=1, description="From coarse to fine.")
    rule: CalendarRule | None = Field(default=None, description="The rule that defines the periods.")
    periods: tuple[ListedPeriod, ...] = Field(default=(), description="Instead of a rule: a list of the periods.")


PeriodStatus = Literal["open", "closed", "locked"]


@dataclass(frozen=True, slots=True)
class Period:
    """`end_date` is the last day of the period; status is kept by the store."""

    identifier: str
    level: str
    start_date: datetime.date
    end_date: datetime.date
    calendar_id: str = "gregorian"
