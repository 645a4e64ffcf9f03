"""Functions on dates and timestamps."""

import calendar
import datetime

from tests.reference.numbers import ValueFailureError


def date_of(value: datetime.date) -> datetime.date:
    return value.date() if isinstance(value, datetime.datetime) else value


def quarter(value: datetime.date) -> int:
    return (value.month + 2) // 3


def days_between(end: datetime.date, start: datetime.date) -> int:
    return (date_of(end) - date_of(start)).days


def add_days(value: datetime.date, days: int) -> datetime.date:
    try:
        return date_of(value) + datetime.timedelta(days=days)
    except OverflowError as error:
        raise ValueFailureError(str(error)) from error


def add_months(value: datetime.date, months: int) -> datetime.date:
    """The same day of the month, or its last one where there is no such day."""
    year, month = divmod(value.year * 12 + value.month - 1 + months, 12)
    if not datetime.MINYEAR <= year <= datetime.MAXYEAR:
        raise ValueFailureError(f"the year {year}")
    return datetime.date(year, month + 1, min(value.day, calendar.monthrange(year, month + 1)[1]))


def end_of_month(value: datetime.date) -> datetime.date:
    return datetime.date(value.year, value.month, calendar.monthrange(value.year, value.month)[1])


def parse_date(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError as error:
        raise ValueFailureError(text) from error
