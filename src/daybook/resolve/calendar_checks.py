"""What can be wrong with a declared calendar, all of it at once."""

from collections.abc import Iterator

from daybook.errors import DaybookError, raise_all
from daybook.model.calendar import Calendar, CalendarRule, MonthsRule
from daybook.model.source_map import SourceMap
from daybook.resolve.calendars import GREGORIAN_ID, PeriodCalendar, at_work
from daybook.resolve.cuts import ListedYears
from daybook.resolve.listed_checks import listed_errors
from daybook.resolve.names import is_level_name
from daybook.resolve.pattern_checks import collisions, pattern_errors


def checked_calendar(calendar: Calendar, source: SourceMap | None = None) -> PeriodCalendar:
    """The calendar at work, or everything that is wrong with its declaration."""
    raise_all(calendar_errors(calendar, source))
    return at_work(calendar)


def calendar_errors(calendar: Calendar, source: SourceMap | None = None) -> tuple[DaybookError, ...]:
    """All findings, with their places where the source is known."""
    source = source or SourceMap.empty()
    errors = [*_form_errors(calendar, source), *_level_errors(calendar, source)]
    if calendar.rule is None:
        errors += listed_errors(calendar, source)
    else:
        errors += _rule_errors(calendar.rule, source)
        errors += pattern_errors(calendar, calendar.rule, source)
        if not errors:
            errors += collisions(calendar, source)
    return tuple(errors)


def _form_errors(calendar: Calendar, source: SourceMap) -> Iterator[DaybookError]:
    if calendar.id == GREGORIAN_ID:
        yield DaybookError("RESOLVE_010", span=source.span("id"), calendar=calendar.id)
    if (calendar.rule is None) == (not calendar.periods):
        problem = "neither a rule nor periods" if calendar.rule is None else "both a rule and periods"
        yield DaybookError("RESOLVE_011", span=source.span("rule"), calendar=calendar.id, problem=problem)


def _level_errors(calendar: Calendar, source: SourceMap) -> Iterator[DaybookError]:
    seen: set[str] = set()
    for index, level in enumerate(calendar.levels):
        span = source.span("levels", index, "name")
        if not is_level_name(level.name):
            problem = "a level's name has letters, digits, - and _, begins with a letter and is not any"
            yield DaybookError("RESOLVE_012", span=span, level=level.name, problem=problem)
        if level.name in seen:
            yield DaybookError("RESOLVE_012", span=span, level=level.name, problem="there are two of that name")
        seen.add(level.name)
        for key, value in (("unit", level.unit), ("identifier", level.identifier)):
            if (value is None) == (calendar.rule is not None):
                problem = f"{key} is missing" if value is None else f"{key} goes with a rule, not with listed periods"
                span = source.span("levels", index, key)
                yield DaybookError("RESOLVE_012", span=span, level=level.name, problem=problem)


def _rule_errors(rule: CalendarRule, source: SourceMap) -> Iterator[DaybookError]:
    if isinstance(rule, MonthsRule):
        return
    if (rule.year_ends is None) == (rule.years is None):
        problem = "a rule of weeks has either year_ends or years"
        yield DaybookError("RESOLVE_013", span=source.span("rule"), problem=problem)
    if (years := rule.years) is None:
        return
    if years.last < years.first:
        problem = f"the last year {years.last} comes before the first, {years.first}"
        yield DaybookError("RESOLVE_013", span=source.span("rule", "years", "last"), problem=problem)
    if abs(years.first_day.year - years.first) > 1:
        problem = f"year {years.first} cannot begin on {years.first_day}"
        yield DaybookError("RESOLVE_013", span=source.span("rule", "years", "first_day"), problem=problem)
    for index, long in enumerate(years.long):
        if not years.first <= long <= years.last:
            problem = f"the long year {long} is not among {years.first} to {years.last}"
            yield DaybookError("RESOLVE_013", span=source.span("rule", "years", "long", index), problem=problem)
    try:
        ListedYears(years).bounds(years.last)
    except OverflowError:
        problem = "the last year ends after 9999-12-31"
        yield DaybookError("RESOLVE_013", span=source.span("rule", "years", "last"), problem=problem)
