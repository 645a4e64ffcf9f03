"""Templates: `{{YYYY}}/{{MM}}/{{table_name}}` for a period."""

import calendar as civil
import datetime
import re
from collections.abc import Mapping

from daybook.errors import DaybookError, Span
from daybook.model.calendar import Period
from daybook.resolve.locations.paths import path_problem

TEMPLATE_TOKENS = ("YYYY", "MM", "DD", "QQ", "identifier", "table_name")
_TOKEN = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_UNITS = {"YYYY": "year", "QQ": "quarter", "MM": "month", "DD": "day"}


def template_tokens(text: str) -> frozenset[str]:
    return frozenset(match[1].strip() for match in _TOKEN.finditer(text))


def template_errors(text: str, span: Span | None = None) -> list[DaybookError]:
    """Tokens nobody knows and braces that belong to none."""
    errors = [
        DaybookError(
            "RESOLVE_030",
            span=span,
            hint=f"templates know {', '.join('{{' + token + '}}' for token in TEMPLATE_TOKENS)}",
            token="{{" + token + "}}",
            template=text,
        )
        for token in sorted(template_tokens(text).difference(TEMPLATE_TOKENS))
    ]
    if not errors and (brace := re.search(r"[{}]", _TOKEN.sub("", text))):
        errors.append(DaybookError("RESOLVE_031", span=span, brace=brace[0], template=text))
    return errors


def path_template_errors(text: str, *, is_inline: bool, span: Span | None = None) -> list[DaybookError]:
    """The same for a path, and whatever would make it unusable for every period."""
    if errors := template_errors(text, span):
        return errors
    # No token stands for a text with special characters, so any letter shows what the rest amounts to.
    problem = path_problem(_TOKEN.sub("x", text), is_inline=is_inline)
    return [DaybookError("RESOLVE_035", span=span, path=text, problem=problem)] if problem else []


def render_template(text: str, period: Period, table_name: str, *, span: Span | None = None) -> str:
    """The text with every token replaced by what it means for a period."""
    if errors := template_errors(text, span):
        raise errors[0]
    values: Mapping[str, str] = {"identifier": period.identifier, "table_name": table_name}

    def value(match: re.Match[str]) -> str:
        token = match[1].strip()
        return values[token] if token in values else _civil_value(token, period, text, span)

    return _TOKEN.sub(value, text)


def fill_table_name(text: str, table_name: str) -> str:
    """The template with only the table filled in, so that it says the same under another table."""
    return _TOKEN.sub(lambda match: table_name if match[1].strip() == "table_name" else match[0], text)


def names_one_period(text: str, period: Period) -> bool:
    """Whether the tokens of a template name this period alone, so that what lies there is all its own."""
    tokens = template_tokens(text)
    if "identifier" in tokens:
        return True
    dated: tuple[tuple[set[str], str], ...] = (
        ({"YYYY"}, "year"),
        ({"YYYY", "QQ"}, "quarter"),
        ({"YYYY", "MM"}, "month"),
        ({"YYYY", "MM", "DD"}, "day"),
    )
    return any(
        needed <= tokens and _civil_unit(unit, period.start_date) == (period.start_date, period.end_date)
        for needed, unit in dated
    )


def _civil_value(token: str, period: Period, template: str, span: Span | None) -> str:
    """A part of the civil date, which has to be the same for every day of the period."""
    start, unit = period.start_date, _UNITS[token]
    first, last = _civil_unit(unit, start)
    if not first <= period.end_date <= last:
        raise DaybookError(
            "RESOLVE_032",
            span=span,
            hint="use {{identifier}}, or set data_level so that the data is read by finer periods",
            token="{{" + token + "}}",
            template=template,
            level=period.level,
            period=period.identifier,
            start=start,
            end=period.end_date,
            unit=unit,
        )
    match token:
        case "YYYY":
            return f"{start.year:04d}"
        case "QQ":
            return f"Q{_quarter(start)}"
        case "MM":
            return f"{start.month:02d}"
        case _:
            return f"{start.day:02d}"


def _civil_unit(unit: str, day: datetime.date) -> tuple[datetime.date, datetime.date]:
    """First and last day of the civil year, quarter, month or day around a day."""
    first_month, last_month = {
        "year": (1, 12),
        "quarter": (3 * _quarter(day) - 2, 3 * _quarter(day)),
    }.get(unit, (day.month, day.month))
    if unit == "day":
        return day, day
    last_day = civil.monthrange(day.year, last_month)[1]
    return datetime.date(day.year, first_month, 1), datetime.date(day.year, last_month, last_day)


def _quarter(day: datetime.date) -> int:
    return (day.month + 2) // 3
