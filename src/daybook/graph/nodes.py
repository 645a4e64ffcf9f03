"""The nodes of a close: projects and their periods, and the edges between nodes."""

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter

from daybook.errors import DaybookError
from daybook.graph.dependencies import Dependency, ProjectGraph
from daybook.model.calendar import Period
from daybook.model.definition import Catalog
from daybook.model.project import Project
from daybook.model.view import ViewOf
from daybook.resolve.calendars.calendar import GREGORIAN, PeriodCalendar
from daybook.resolve.calendars.periods import calendar_for, period_of, window_periods
from daybook.resolve.calendars.years import DAY

# How far back a window over all periods is followed for the order of nodes.
_YEARS_BACK = 5


@dataclass(frozen=True, slots=True)
class Node:
    """A project and one period of its calendar."""

    project: str
    period: Period

    @property
    def name(self) -> str:
        return f"{self.project}@{self.period.identifier}"


@dataclass(frozen=True, slots=True)
class Edge:
    """`reader` reads what `maker` writes, as `dataset`; with `is_optional` it may be missing."""

    reader: Node
    maker: Node
    dataset: str
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class PeriodSpan:
    """Days from `start` to `end`, both included."""

    start: datetime.date
    end: datetime.date
    # The level of the periods that were named, for projects that say none.
    level: str

    def holds(self, period: Period) -> bool:
        return self.start <= period.start_date and period.end_date <= self.end


def parse_span(text: str, calendars: Iterable[PeriodCalendar]) -> PeriodSpan:
    """`2026-01` or `2026-01..2026-03` as days; an identifier counts in the first calendar that knows it."""
    known = (GREGORIAN, *calendars)
    first_text, dots, last_text = text.partition("..")
    first = _find_period(first_text, known)
    last = _find_period(last_text, known) if dots else first
    if last.end_date < first.start_date:
        raise DaybookError(
            "RESOLVE_002",
            hint=f"write {last.identifier}..{first.identifier}",
            range=text,
            problem=f"{first.identifier} comes after {last.identifier}",
        )
    return PeriodSpan(first.start_date, last.end_date, first.level)


def _find_period(identifier: str, calendars: Iterable[PeriodCalendar]) -> Period:
    for calendar in calendars:
        if (found := calendar.find(identifier)) is not None:
            return found
    return period_of(identifier, GREGORIAN)


class CloseGraph:
    """The projects of a close with their calendars and levels; gives nodes and edges for any period."""

    def __init__(self, graph: ProjectGraph, catalog: Catalog, used_levels: Mapping[str, str], span_level: str) -> None:
        self.graph = graph
        self._calendars = {project_id: known_calendar(each, catalog) for project_id, each in graph.projects.items()}
        self._levels = {
            project_id: self._level(project.level or used_levels.get(project_id), project_id, span_level)
            for project_id, project in graph.projects.items()
        }

    def _level(self, known: str | None, project_id: str, span_level: str) -> str:
        calendar = self._calendars[project_id]
        if known is not None and known in calendar.levels:
            return known
        return span_level if span_level in calendar.levels else calendar.levels[-1]

    def nodes_in(self, span: PeriodSpan, project_ids: Iterable[str]) -> tuple[Node, ...]:
        """Every node of the projects whose period lies inside the span, in order of time."""
        found = [Node(each, period) for each in project_ids for period in self._periods_in(each, span.start, span.end)]
        return tuple(sorted(found, key=sort_key))

    def left_out(self, span: PeriodSpan, project_ids: Iterable[str]) -> tuple[str, ...]:
        """Projects whose periods are coarser than the span, so that none lies inside it."""
        return tuple(each for each in project_ids if not any(self._periods_in(each, span.start, span.end)))

    def edges_of(self, node: Node) -> tuple[Edge, ...]:
        """What a node reads of other nodes, and of itself in earlier periods."""
        found: dict[Edge, None] = {}
        for dependency in self.graph.makers[node.project]:
            for period in self._read_periods(dependency, node.period, self._calendars[node.project]):
                for maker in self._nodes_around(dependency.maker, period):
                    if maker != node:
                        is_optional = dependency.missing == "empty"
                        found[Edge(node, maker, dependency.dataset, is_optional)] = None
        return tuple(found)

    def _read_periods(self, dependency: Dependency, period: Period, calendar: PeriodCalendar) -> Iterator[Period]:
        return iter(_through(dependency.views, period, calendar, lambda: self._earlier(dependency.maker, period)))

    def _earlier(self, maker: str, period: Period) -> tuple[Period, ...]:
        """What a window over all periods reads, as far as it matters for order: all up to the run's own."""
        years = min(_YEARS_BACK, period.start_date.year - datetime.date.min.year)
        start = datetime.date(period.start_date.year - years, 1, 1)
        return tuple(self._periods_in(maker, start, period.end_date))

    def _nodes_around(self, project_id: str, period: Period) -> Iterator[Node]:
        """The periods of a project that make up a period, or the one that holds it."""
        inside = tuple(self._periods_in(project_id, period.start_date, period.end_date))
        if inside:
            yield from (Node(project_id, each) for each in inside)
            return
        around = self._calendars[project_id].at(self._levels[project_id], period.start_date)
        if around is not None:
            yield Node(project_id, around)

    def _periods_in(self, project_id: str, start: datetime.date, end: datetime.date) -> Iterator[Period]:
        calendar, level = self._calendars[project_id], self._levels[project_id]
        period = calendar.at(level, start)
        while period is not None and period.end_date <= end:
            if period.start_date >= start:
                yield period
            period = calendar.at(level, period.end_date + DAY) if period.end_date < datetime.date.max else None

    def calendar_of(self, project_id: str) -> PeriodCalendar:
        return self._calendars[project_id]


def known_calendar(project: Project, catalog: Catalog) -> PeriodCalendar:
    """The calendar of a project; the Gregorian for one whose calendar has errors, which its own check reports."""
    try:
        return calendar_for(project.calendar_id, catalog)
    except DaybookError:
        return GREGORIAN


def _through(
    views: tuple[ViewOf, ...], period: Period, calendar: PeriodCalendar, all_periods: Callable[[], tuple[Period, ...]]
) -> tuple[Period, ...]:
    """The periods that views after each other look at; without one, the reader's own."""
    if not views:
        return (period,)
    first, *rest = views
    looked_at = window_periods(first.window, period, calendar)
    if looked_at is None:
        looked_at = all_periods()
    found = (each for seen in looked_at for each in _through(tuple(rest), seen, calendar, all_periods))
    return tuple(dict.fromkeys(found))


def in_order(nodes: Iterable[Node], edges: Mapping[Node, tuple[Edge, ...]]) -> tuple[Node, ...]:
    """Makers before readers, otherwise by time and name."""
    wanted = set(nodes)
    sorter = TopologicalSorter({node: [edge.maker for edge in edges[node] if edge.maker in wanted] for node in wanted})
    sorter.prepare()
    found: list[Node] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=sort_key)
        found += ready
        sorter.done(*ready)
    return tuple(found)


def sort_key(node: Node) -> tuple[datetime.date, datetime.date, str]:
    return node.period.start_date, node.period.end_date, node.project
