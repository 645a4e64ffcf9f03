"""Functions on dates and timestamps."""

import calendar
import datetime
import re

from daybook.recompute.arithmetic import ValueFailureError


def date_of(value: datetime.date) -> datetime.date:
    return value.date() if isinstance(value, datetime.datetime) else value


def make_date(value: datetime.date | int, month: int = 0, day: int = 0) -> datetime.date:
    """The day of a timestamp, or from year, month and day."""
    if isinstance(value, datetime.date):
        return date_of(value)
    try:
        return datetime.date(value, month, day)
    except (ValueError, OverflowError) as error:
        raise ValueFailureError(f"{value}-{month}-{day} is no date") from error


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


def end_of_month(value: datetime.date, months: int = 0) -> datetime.date:
    month = add_months(value.replace(day=1), months)
    return month.replace(day=calendar.monthrange(month.year, month.month)[1])


def in_format(value: datetime.date, written: str) -> str:
    parts = {
        "yyyy": f"{value.year:04}",
        "yy": f"{value.year % 100:02}",
        "MM": f"{value.month:02}",
        "dd": f"{value.day:02}",
    }
    clock = value.time() if isinstance(value, datetime.datetime) else datetime.time()
    parts |= {"HH": f"{clock.hour:02}", "mm": f"{clock.minute:02}", "ss": f"{clock.second:02}"}
    return re.sub("yyyy|yy|MM|dd|HH|mm|ss", lambda match: parts[match[0]], written)


def parse_date(text: str, written: str = "yyyy-MM-dd") -> datetime.date:
    digits = {"yyyy": r"(?P<year>[0-9]{4})", "MM": r"(?P<month>[0-9]{2})", "dd": r"(?P<day>[0-9]{2})"}
    pattern = re.sub("yyyy|MM|dd", lambda match: digits[match[0]], re.escape(written).replace("\\-", "-"))
    match = re.fullmatch(pattern, text)
    if not match:
        raise ValueFailureError(f"{text!r} is not a date written {written}")
    return make_date(*(int(match[part]) for part in ("year", "month", "day")))
