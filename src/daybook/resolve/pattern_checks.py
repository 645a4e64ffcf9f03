"""What can be wrong with the identifier patterns of a rule."""

from collections.abc import Iterator

from daybook.errors import DaybookError
from daybook.model.calendar import Calendar, CalendarRule, MonthsRule, Unit, WeeksRule
from daybook.model.source_map import SourceMap
from daybook.resolve.calendars import at_work
from daybook.resolve.names import IDENTIFIER_RULE, is_identifier
from daybook.resolve.patterns import PATTERN_TOKENS, tokens_of

_SAMPLE_YEAR = 2024
_UNITS: tuple[Unit, ...] = ("year", "half", "quarter", "month", "week", "day")
# Tokens that tell the periods of a unit apart: one of the sets is needed.
_NEEDED: dict[Unit, tuple[frozenset[str], ...]] = {
    "year": (frozenset({"year"}),),
    "half": (frozenset({"year", "half"}),),
    "quarter": (frozenset({"year", "quarter"}),),
    "month": (frozenset({"year", "month"}), frozenset({"YYYY", "MM"})),
    "week": (frozenset({"year", "week"}),),
    "day": (frozenset({"YYYY", "MM", "DD"}),),
}


def pattern_errors(calendar: Calendar, rule: CalendarRule, source: SourceMap) -> Iterator[DaybookError]:
    """Units in the wrong order, tokens nobody knows, and patterns that cannot tell periods apart."""
    finest = -1
    for index, level in enumerate(calendar.levels):
        if level.unit is None:
            continue
        position = _UNITS.index(level.unit)
        if position <= finest:
            problem = "levels go from coarse to fine"
        elif level.unit == "week" and isinstance(rule, MonthsRule):
            problem = "weeks do not fit into civil months; a rule of weeks has them"
        else:
            problem = None
        if problem:
            span = source.span("levels", index, "unit")
            yield DaybookError("RESOLVE_014", span=span, level=level.name, unit=level.unit, problem=problem)
        finest = max(finest, position)
        if level.identifier is not None:
            for problem in _problems(level.identifier, level.unit, rule):
                span = source.span("levels", index, "identifier")
                yield DaybookError(
                    "RESOLVE_015", span=span, level=level.name, pattern=level.identifier, problem=problem
                )


def collisions(calendar: Calendar, source: SourceMap) -> Iterator[DaybookError]:
    """Levels whose identifiers cannot be used or are those of another level, tried on the periods of one year."""
    working = at_work(calendar)
    index_of = {level.name: index for index, level in enumerate(calendar.levels)}
    listed_years = calendar.rule.years if isinstance(calendar.rule, WeeksRule) else None
    reported: set[str] = set()
    for period in working.of_year(listed_years.first if listed_years else _SAMPLE_YEAR):
        if period.level in reported:
            continue
        found = working.find(period.identifier)
        if found == period and is_identifier(period.identifier):
            continue
        reported.add(period.level)
        problem = (
            f"{period.identifier} is also a {found.level}"
            if found and found != period
            else f"{period.identifier} is not an identifier ({IDENTIFIER_RULE})"
        )
        index = index_of[period.level]
        pattern = calendar.levels[index].identifier
        span = source.span("levels", index, "identifier")
        yield DaybookError("RESOLVE_015", span=span, level=period.level, pattern=pattern, problem=problem)


def _problems(text: str, unit: Unit, rule: CalendarRule) -> Iterator[str]:
    tokens = set(tokens_of(text))
    if unknown := sorted(tokens.difference(PATTERN_TOKENS)):
        known = ", ".join(_braced(token) for token in PATTERN_TOKENS)
        yield f"{_braced(unknown[0])} is none of {known}"
        return
    for token in PATTERN_TOKENS:
        if token in tokens and _changes_within(token, unit, rule):
            yield f"{_braced(token)} is not the same for all days of a {unit}"
    if not any(needed <= tokens for needed in _NEEDED[unit]):
        ways = [needed for needed in _NEEDED[unit] if not any(_changes_within(token, unit, rule) for token in needed)]
        spelled = (" and ".join(_braced(token) for token in PATTERN_TOKENS if token in way) for way in ways)
        yield f"it needs {' or '.join(spelled)} to tell its periods apart"


def _changes_within(token: str, unit: Unit, rule: CalendarRule) -> bool:
    """Whether a token may differ between two days of one period."""
    steady: Unit
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
