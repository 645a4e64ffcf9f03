"""Checks a declared calendar and reports all errors at once."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from daybook.errors import DaybookError, Span, raise_all
from daybook.model.calendar import Calendar, CalendarRule, CalendarUnit, ListedPeriod, MonthsRule, WeeksRule
from daybook.model.source_map import SourceMap
from daybook.resolve.calendars.calendar import (
    DAY,
    GREGORIAN_ID,
    IDENTIFIER_RULE,
    PATTERN_TOKENS,
    ListedYearBounds,
    PeriodCalendar,
    build_calendar,
    is_identifier,
    is_level_name,
    pattern_tokens,
)


@dataclass(frozen=True, slots=True)
class _ListedRow:
    """A listed period with its place in the file."""

    period: ListedPeriod
    span: Span | None


def listed_errors(calendar: Calendar, source: SourceMap) -> Iterator[DaybookError]:
    """Every level must be a sequence of periods without gaps, each inside one period of the level before it."""
    levels = [level.name for level in calendar.levels]
    usable: dict[str, list[_ListedRow]] = {level: [] for level in levels}
    seen: set[str] = set()
    for index, period in enumerate(calendar.periods):
        findings = tuple(_period_errors(period, index, seen, levels, source))
        yield from findings
        if not findings:
            usable[period.level].append(_ListedRow(period, source.span("periods", index)))
        seen.add(period.identifier)
    for rows in usable.values():
        rows.sort(key=lambda row: row.period.start_date)
        yield from _sequence_errors(rows)
    for outer, inner in pairwise(levels):
        yield from _nesting_errors(usable[outer], usable[inner])


def _period_errors(
    period: ListedPeriod, index: int, seen: set[str], levels: list[str], source: SourceMap
) -> Iterator[DaybookError]:
    identifier = period.identifier
    if not is_identifier(identifier):
        problem = f"it is not an identifier ({IDENTIFIER_RULE})"
        yield DaybookError(
            "RESOLVE_016", span=_key_span(source, index, "identifier"), period=identifier, problem=problem
        )
    if identifier in seen:
        problem = "it is listed twice"
        yield DaybookError(
            "RESOLVE_016", span=_key_span(source, index, "identifier"), period=identifier, problem=problem
        )
    if period.level not in levels:
        problem = f"{period.level} is not one of the levels {', '.join(levels)}"
        yield DaybookError("RESOLVE_016", span=_key_span(source, index, "level"), period=identifier, problem=problem)
    if period.end_date < period.start_date:
        problem = f"it ends on {period.end_date}, before it starts on {period.start_date}"
        yield DaybookError("RESOLVE_016", span=_key_span(source, index, "end_date"), period=identifier, problem=problem)


def _key_span(source: SourceMap, index: int, key: str) -> Span | None:
    return source.span("periods", index, key)


def _sequence_errors(rows: list[_ListedRow]) -> Iterator[DaybookError]:
    for before, after in pairwise(rows):
        first, second = before.period, after.period
        distance = (second.start_date - first.end_date).days
        if distance < 1:
            yield DaybookError(
                "RESOLVE_017",
                span=after.span,
                first=first.identifier,
                second=second.identifier,
                day=second.start_date,
            )
        elif distance > 1:
            yield DaybookError(
                "RESOLVE_018",
                span=after.span,
                first=first.identifier,
                second=second.identifier,
                start=first.end_date + DAY,
                end=second.start_date - DAY,
            )


def _nesting_errors(outer: list[_ListedRow], inner: list[_ListedRow]) -> Iterator[DaybookError]:
    """Both levels are in order of time, so the neighbours of a day are found without comparing every pair."""
    outer_starts = [row.period.start_date for row in outer]
    inner_starts = [row.period.start_date for row in inner]
    # Periods that overlap are errors of their own; with them the neighbours of a day say nothing.
    is_tiled = _is_tiled(outer) and _is_tiled(inner)
    for child in inner:
        first = max(bisect_right(outer_starts, child.period.start_date) - 1, 0)
        near = outer[first : bisect_right(outer_starts, child.period.end_date)] if is_tiled else outer
        if not any(_is_inside(child.period, parent.period) for parent in near):
            parent = next((row.period for row in near if _has_common_day(child.period, row.period)), None)
            problem = f"it crosses the bounds of {parent.identifier}" if parent else "no period around it is listed"
            yield DaybookError("RESOLVE_019", span=child.span, period=child.period.identifier, problem=problem)
    for parent_row in outer:
        parent = parent_row.period
        near = (
            inner[bisect_left(inner_starts, parent.start_date) : bisect_right(inner_starts, parent.end_date)]
            if is_tiled
            else inner
        )
        inside = [child.period for child in near if _is_inside(child.period, parent)]
        if inside and (inside[0].start_date, inside[-1].end_date) != (parent.start_date, parent.end_date):
            yield DaybookError(
                "RESOLVE_020",
                span=parent_row.span,
                period=parent.identifier,
                level=inside[0].level,
                start=inside[0].start_date,
                end=inside[-1].end_date,
            )


def _is_tiled(rows: list[_ListedRow]) -> bool:
    return all(before.period.end_date < after.period.start_date for before, after in pairwise(rows))


def _is_inside(child: ListedPeriod, parent: ListedPeriod) -> bool:
    return parent.start_date <= child.start_date and child.end_date <= parent.end_date


def _has_common_day(child: ListedPeriod, parent: ListedPeriod) -> bool:
    return parent.start_date <= child.end_date and child.start_date <= parent.end_date


_SAMPLE_YEAR = 2024
_UNITS: tuple[CalendarUnit, ...] = ("year", "half", "quarter", "month", "week", "day")
# Tokens that distinguish the periods of a unit: one of the sets is needed.
_NEEDED_TOKENS: dict[CalendarUnit, tuple[frozenset[str], ...]] = {
    "year": (frozenset({"year"}),),
    "half": (frozenset({"year", "half"}),),
    "quarter": (frozenset({"year", "quarter"}),),
    "month": (frozenset({"year", "month"}), frozenset({"YYYY", "MM"})),
    "week": (frozenset({"year", "week"}),),
    "day": (frozenset({"YYYY", "MM", "DD"}),),
}


def pattern_errors(calendar: Calendar, rule: CalendarRule, source: SourceMap) -> Iterator[DaybookError]:
    """Errors of levels: units in the wrong order, unknown tokens, patterns that are not unique per period."""
    finest = -1
    for index, level in enumerate(calendar.levels):
        if level.unit is None:
            continue
        position = _UNITS.index(level.unit)
        if position <= finest:
            problem = "levels go from coarse to fine"
        elif level.unit == "week" and isinstance(rule, MonthsRule):
            problem = "weeks do not fit into civil months; use a week rule"
        else:
            problem = None
        if problem:
            span = source.span("levels", index, "unit")
            yield DaybookError("RESOLVE_014", span=span, level=level.name, unit=level.unit, problem=problem)
        finest = max(finest, position)
        if level.identifier is not None:
            for problem in _pattern_problems(level.identifier, level.unit, rule):
                span = source.span("levels", index, "identifier")
                yield DaybookError(
                    "RESOLVE_015", span=span, level=level.name, pattern=level.identifier, problem=problem
                )


def identifier_collisions(calendar: Calendar, source: SourceMap) -> Iterator[DaybookError]:
    """Levels whose identifiers cannot be used or are those of another level, tried on the periods of one year."""
    working = build_calendar(calendar)
    index_of = {level.name: index for index, level in enumerate(calendar.levels)}
    listed_years = calendar.rule.years if isinstance(calendar.rule, WeeksRule) else None
    reported: set[str] = set()
    for period in working.of_year(listed_years.first if listed_years else _SAMPLE_YEAR):
        if period.level in reported:
            continue
        namesake = working.find(period.identifier)
        if namesake == period and is_identifier(period.identifier):
            continue
        reported.add(period.level)
        problem = (
            f"{period.identifier} is also a {namesake.level}"
            if namesake and namesake != period
            else f"{period.identifier} is not an identifier ({IDENTIFIER_RULE})"
        )
        index = index_of[period.level]
        pattern = calendar.levels[index].identifier
        span = source.span("levels", index, "identifier")
        yield DaybookError("RESOLVE_015", span=span, level=period.level, pattern=pattern, problem=problem)


def _pattern_problems(text: str, unit: CalendarUnit, rule: CalendarRule) -> Iterator[str]:
    tokens = set(pattern_tokens(text))
    if unknown := sorted(tokens.difference(PATTERN_TOKENS)):
        listed = ", ".join(_braced(token) for token in PATTERN_TOKENS)
        yield f"{_braced(unknown[0])} is not one of {listed}"
        return
    for token in PATTERN_TOKENS:
        if token in tokens and _changes_within(token, unit, rule):
            yield f"{_braced(token)} is not the same for all days of a {unit}"
    if not any(needed <= tokens for needed in _NEEDED_TOKENS[unit]):
        ways = [
            needed for needed in _NEEDED_TOKENS[unit] if not any(_changes_within(token, unit, rule) for token in needed)
        ]
        spelled = (" and ".join(_braced(token) for token in PATTERN_TOKENS if token in way) for way in ways)
        yield f"it needs {' or '.join(spelled)} to distinguish its periods"


def _changes_within(token: str, unit: CalendarUnit, rule: CalendarRule) -> bool:
    """Whether a token may differ between two days of one period."""
    steady: CalendarUnit
    match token:
        case "year" | "half" | "quarter" | "month" | "week":
            steady = token
        case "YYYY" | "MM":
            # Periods made of weeks cross the ends of civil months, fiscal years those of civil years.
            steady = "day" if isinstance(rule, WeeksRule) else "month"
        case _:
            steady = "day"
    return _UNITS.index(unit) < _UNITS.index(steady)


def _braced(token: str) -> str:
    return "{{" + token + "}}"


# Comparing the identifiers of all periods takes a while, and everything that runs asks for its calendar again.
@lru_cache(maxsize=64)
def checked_calendar(calendar: Calendar) -> PeriodCalendar:
    """The calendar of a declaration, or all errors of the declaration; a correct one is checked once."""
    raise_all(calendar_errors(calendar))
    return build_calendar(calendar)


def calendar_errors(calendar: Calendar, source: SourceMap | None = None) -> tuple[DaybookError, ...]:
    """All findings, with their places where the source is known."""
    source = source or SourceMap.empty()
    errors = [*_definition_errors(calendar, source), *_level_errors(calendar, source)]
    if calendar.rule is None:
        errors += listed_errors(calendar, source)
    else:
        errors += _rule_errors(calendar.rule, source)
        errors += pattern_errors(calendar, calendar.rule, source)
        if not errors:
            errors += identifier_collisions(calendar, source)
    return tuple(errors)


def _definition_errors(calendar: Calendar, source: SourceMap) -> Iterator[DaybookError]:
    if calendar.id == GREGORIAN_ID:
        yield DaybookError("RESOLVE_010", span=source.span("id"), calendar=calendar.id)
    if (calendar.rule is None) == (not calendar.periods):
        problem = "no rule and no periods" if calendar.rule is None else "both a rule and periods"
        yield DaybookError("RESOLVE_011", span=source.span("rule"), calendar=calendar.id, problem=problem)


def _level_errors(calendar: Calendar, source: SourceMap) -> Iterator[DaybookError]:
    seen: set[str] = set()
    for index, level in enumerate(calendar.levels):
        span = source.span("levels", index, "name")
        if not is_level_name(level.name):
            problem = "a level's name has letters, digits, - and _, begins with a letter and is not any"
            yield DaybookError("RESOLVE_012", span=span, level=level.name, problem=problem)
        if level.name in seen:
            yield DaybookError("RESOLVE_012", span=span, level=level.name, problem="two levels have this name")
        seen.add(level.name)
        for key, value in (("unit", level.unit), ("identifier", level.identifier)):
            if (value is None) == (calendar.rule is not None):
                problem = f"{key} is missing" if value is None else f"{key} is for a rule, not for listed periods"
                span = source.span("levels", index, key)
                yield DaybookError("RESOLVE_012", span=span, level=level.name, problem=problem)


def _rule_errors(rule: CalendarRule, source: SourceMap) -> Iterator[DaybookError]:
    if isinstance(rule, MonthsRule):
        return
    if (rule.year_ends is None) == (rule.years is None):
        problem = "a week rule has either year_ends or years"
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
        ListedYearBounds(years).bounds(years.last)
    except OverflowError:
        problem = "the last year ends after 9999-12-31"
        yield DaybookError("RESOLVE_013", span=source.span("rule", "years", "last"), problem=problem)
