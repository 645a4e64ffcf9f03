"""What can be wrong with listed periods: gaps, overlaps, children outside their parent."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from daybook.errors import DaybookError, Span
from daybook.model.calendar import Calendar, ListedPeriod
from daybook.model.source_map import SourceMap
from daybook.resolve.cuts import DAY
from daybook.resolve.names import IDENTIFIER_RULE, is_identifier


@dataclass(frozen=True, slots=True)
class _Listed:
    """A listed period with its place in the file."""

    period: ListedPeriod
    span: Span | None


def listed_errors(calendar: Calendar, source: SourceMap) -> Iterator[DaybookError]:
    """Every level has to be one unbroken row of periods, each inside one period of the level before it."""
    levels = [level.name for level in calendar.levels]
    usable: dict[str, list[_Listed]] = {level: [] for level in levels}
    seen: set[str] = set()
    for index, period in enumerate(calendar.periods):
        findings = tuple(_single(period, index, seen, levels, source))
        yield from findings
        if not findings:
            usable[period.level].append(_Listed(period, source.span("periods", index)))
        seen.add(period.identifier)
    for rows in usable.values():
        rows.sort(key=lambda row: row.period.start_date)
        yield from _row_errors(rows)
    for outer, inner in pairwise(levels):
        yield from _nesting_errors(usable[outer], usable[inner])


def _single(
    period: ListedPeriod, index: int, seen: set[str], levels: list[str], source: SourceMap
) -> Iterator[DaybookError]:
    identifier = period.identifier
    if not is_identifier(identifier):
        problem = f"it is not an identifier ({IDENTIFIER_RULE})"
        yield DaybookError("RESOLVE_016", span=_place(source, index, "identifier"), period=identifier, problem=problem)
    if identifier in seen:
        problem = "it is listed twice"
        yield DaybookError("RESOLVE_016", span=_place(source, index, "identifier"), period=identifier, problem=problem)
    if period.level not in levels:
        problem = f"{period.level} is none of the levels {', '.join(levels)}"
        yield DaybookError("RESOLVE_016", span=_place(source, index, "level"), period=identifier, problem=problem)
    if period.end_date < period.start_date:
        problem = f"it ends on {period.end_date}, before it starts on {period.start_date}"
        yield DaybookError("RESOLVE_016", span=_place(source, index, "end_date"), period=identifier, problem=problem)


def _place(source: SourceMap, index: int, key: str) -> Span | None:
    return source.span("periods", index, key)


def _row_errors(rows: list[_Listed]) -> Iterator[DaybookError]:
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


def _nesting_errors(outer: list[_Listed], inner: list[_Listed]) -> Iterator[DaybookError]:
    for child in inner:
        if not any(_is_inside(child.period, parent.period) for parent in outer):
            parent = next((one.period for one in outer if _touches(child.period, one.period)), None)
            problem = f"it crosses the bounds of {parent.identifier}" if parent else "no period around it is listed"
            yield DaybookError("RESOLVE_019", span=child.span, period=child.period.identifier, problem=problem)
    for parent_row in outer:
        parent = parent_row.period
        inside = [child.period for child in inner if _is_inside(child.period, parent)]
        if inside and (inside[0].start_date, inside[-1].end_date) != (parent.start_date, parent.end_date):
            yield DaybookError(
                "RESOLVE_020",
                span=parent_row.span,
                period=parent.identifier,
                level=inside[0].level,
                start=inside[0].start_date,
                end=inside[-1].end_date,
            )


def _is_inside(child: ListedPeriod, parent: ListedPeriod) -> bool:
    return parent.start_date <= child.start_date and child.end_date <= parent.end_date


def _touches(child: ListedPeriod, parent: ListedPeriod) -> bool:
    return parent.start_date <= child.end_date and child.start_date <= parent.end_date
