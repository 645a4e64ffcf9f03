"""The nodes of a close, the edges between them, and what their runs recorded."""

import datetime
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from graphlib import TopologicalSorter
from pathlib import Path
from types import MappingProxyType

from daybook.definitions.value import Definitions
from daybook.errors import DaybookError
from daybook.graph.dependencies import Dependency, ProjectGraph
from daybook.graph.recorded_runs import RecordedRuns
from daybook.io.filesystem import RealPaths
from daybook.io.location_checks import data_exists, location_exists
from daybook.io.pins import Pin, pin_from_json
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.model.calendar import Period
from daybook.model.dataset import ViewOf
from daybook.model.json_fields import PeriodByName
from daybook.model.project import Project
from daybook.resolve.calendars.calendar import DAY, GREGORIAN, PeriodCalendar
from daybook.resolve.calendars.periods import calendar_for, closest_slice, period_of, window_periods
from daybook.resolve.location import Location
from daybook.runs.sources import slice_table
from daybook.store.database.outcomes import NodeRuns
from daybook.store.process import is_surely_dead
from daybook.store.records import OutputCommit, RunRecord, Slice, SliceTable
from daybook.store.store import Transaction

# How far back a window over all periods is followed for the order of nodes.
_YEARS_BACK = 5


@dataclass(frozen=True, slots=True)
class Node:
    """A project and one period of its calendar."""

    project: str
    period: PeriodByName

    def __hash__(self) -> int:
        # A close looks nodes up millions of times, and a period has five fields.
        return hash((self.project, self.period.identifier))

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
    all_calendars = (GREGORIAN, *calendars)
    first_text, dots, last_text = text.partition("..")
    first = find_period(first_text, all_calendars)
    last = find_period(last_text, all_calendars) if dots else first
    if last.end_date < first.start_date:
        raise DaybookError(
            "RESOLVE_002",
            hint=f"write {last.identifier}..{first.identifier}",
            range=text,
            problem=f"{first.identifier} comes after {last.identifier}",
        )
    return PeriodSpan(first.start_date, last.end_date, first.level)


def find_period(identifier: str, calendars: Iterable[PeriodCalendar]) -> Period:
    """The period in the first calendar that knows it."""
    for calendar in calendars:
        if (period := calendar.find(identifier)) is not None:
            return period
    return period_of(identifier, GREGORIAN)


class CloseGraph:
    """The projects of a close with their calendars and levels; gives nodes and edges for any period."""

    def __init__(
        self,
        graph: ProjectGraph,
        definitions: Definitions,
        used_levels: Mapping[str, str],
        span_level: str,
        completed: Mapping[str, frozenset[str]] = MappingProxyType({}),
    ) -> None:
        """`completed` are the periods for which each project has a completed run."""
        self.graph = graph
        self._completed = completed
        self._calendars = {
            project_id: known_calendar(project, definitions) for project_id, project in graph.projects.items()
        }
        self._levels = {
            project_id: self._level(project.level or used_levels.get(project_id), project_id, span_level)
            for project_id, project in graph.projects.items()
        }

    def _level(self, level: str | None, project_id: str, span_level: str) -> str:
        calendar = self._calendars[project_id]
        if level is not None and level in calendar.levels:
            return level
        return span_level if span_level in calendar.levels else calendar.levels[-1]

    def nodes_in(self, span: PeriodSpan, project_ids: Iterable[str]) -> tuple[Node, ...]:
        """Every node of the projects whose period lies inside the span, in order of time."""
        nodes = [
            Node(project_id, period)
            for project_id in project_ids
            for period in self._periods_in(project_id, span.start, span.end)
        ]
        return tuple(sorted(nodes, key=sort_key))

    def left_out(self, span: PeriodSpan, project_ids: Iterable[str]) -> tuple[str, ...]:
        """Projects whose periods are coarser than the span, so that none lies inside it."""
        return tuple(
            project_id for project_id in project_ids if not any(self._periods_in(project_id, span.start, span.end))
        )

    def edges_among(self, nodes: Collection[Node]) -> dict[Node, tuple[Edge, ...]]:
        """The edges of nodes that are brought up to date together: what one of them is going to write is read."""
        return {node: self.edges_of(node, nodes) for node in nodes}

    def edges_of(self, node: Node, together: Collection[Node] = ()) -> tuple[Edge, ...]:
        """What a node reads of other nodes, and of itself in earlier periods."""
        edges: dict[Edge, None] = {}
        for dependency in self.graph.makers[node.project]:
            if dependency.reads_every_slice:
                others = self._other_slices(dependency, node, together)
                edges |= dict.fromkeys(Edge(node, maker, dependency.dataset, is_optional=True) for maker in others)
            for period in self._read_periods(dependency, node.period, self._calendars[node.project]):
                makers = tuple(self._nodes_around(dependency.maker, period))
                if dependency.reads_nearest and not any(maker in together for maker in makers):
                    makers = self._nearest(makers, node.period)
                for maker in makers:
                    if maker != node:
                        is_optional = dependency.missing == "empty"
                        edges[Edge(node, maker, dependency.dataset, is_optional)] = None
        return tuple(edges)

    def _other_slices(self, dependency: Dependency, node: Node, together: Collection[Node]) -> Iterator[Node]:
        """The slices of other periods that are read along; those of later ones only where nobody waits for them."""
        maker = dependency.maker
        calendar = self._calendars[maker]
        completed = filter(None, map(calendar.find, sorted(self._completed.get(maker, ()))))
        nodes = dict.fromkeys(
            (*(Node(maker, period) for period in completed), *(other for other in together if other.project == maker))
        )
        is_cycle = node.project in self.graph.upstream([maker])
        for other in nodes:
            is_later = other.period.end_date > node.period.end_date
            is_own = node.period.start_date <= other.period.start_date and not is_later
            if not is_own and not (is_later and is_cycle):
                yield other

    def _nearest(self, makers: tuple[Node, ...], period: Period) -> tuple[Node, ...]:
        """The nodes of a period, or that whose slice is read instead of theirs because only it has completed."""
        if not makers:
            return makers
        project = makers[0].project
        completed = self._completed.get(project, frozenset())
        if not completed or any(maker.period.identifier in completed for maker in makers):
            return makers
        calendar = self._calendars[project]
        nearest = closest_slice(completed, period, calendar)
        read = calendar.find(nearest) if nearest is not None else None
        return makers if read is None else (Node(project, read),)

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
            yield from (Node(project_id, inner_period) for inner_period in inside)
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


def known_calendar(project: Project, definitions: Definitions) -> PeriodCalendar:
    """The calendar of a project; the Gregorian for one whose calendar has errors, which its own check reports."""
    try:
        return calendar_for(project.calendar_id, definitions)
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
    periods = (
        viewed_period for seen in looked_at for viewed_period in _through(tuple(rest), seen, calendar, all_periods)
    )
    return tuple(dict.fromkeys(periods))


def in_order(nodes: Iterable[Node], edges: Mapping[Node, tuple[Edge, ...]]) -> tuple[Node, ...]:
    """Makers before readers, otherwise by time and name."""
    included = set(nodes)
    sorter = TopologicalSorter(
        {node: [edge.maker for edge in edges[node] if edge.maker in included] for node in included}
    )
    sorter.prepare()
    ordered: list[Node] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=sort_key)
        ordered += ready
        sorter.done(*ready)
    return tuple(ordered)


def sort_key(node: Node) -> tuple[datetime.date, datetime.date, str]:
    return node.period.start_date, node.period.end_date, node.project


# The slices of a table by period, as the store has them.
SlicesOf = Callable[[SliceTable], Mapping[str, Slice]]


def every_slice(transaction: Transaction) -> SlicesOf:
    """All slices, read at once for those who ask for most of them."""
    slices = transaction.close.slices()

    def slices_of(table: SliceTable) -> Mapping[str, Slice]:
        # The identity of a table counts before its label.
        return {period: slice_ for name in reversed(table.names) for period, slice_ in slices.get(name, {}).items()}

    return slices_of


def slices_by_table(transaction: Transaction) -> SlicesOf:
    """The slices of the tables that are asked for, each read once."""

    @cache
    def slices_of(table: SliceTable) -> Mapping[str, Slice]:
        return {slice_.period: slice_ for slice_ in transaction.slices.of(table)}

    return slices_of


class SliceMap:
    """The slices that the store knows; also says whether locations exist.

    Unless it `asks_databases` for tables, every table of a database counts as there.
    """

    def __init__(
        self, slices_of: SlicesOf, root: Path, storage: Storage = PROVIDER_STORAGE, *, asks_databases: bool = False
    ) -> None:
        self._slices_of = slices_of
        self._storage = storage
        self._root = root
        self._asks_databases = asks_databases
        # Many nodes ask for the same tables, and an identity looks at the disk.
        self._tables: dict[str, SliceTable] = {}
        self._real_path = RealPaths()
        self._runs: dict[str, Mapping[str, str] | None] = {}

    def table(self, location: Location) -> SliceTable:
        """The table at a location, as the store keeps its slices by."""
        if location.label not in self._tables:
            self._tables[location.label] = slice_table(location, self._root, self._real_path)
        return self._tables[location.label]

    def slices(self, location: Location) -> Mapping[str, str] | None:
        if location.label not in self._runs:
            slices = self._slices_of(self.table(location))
            self._runs[location.label] = (
                {period: slice_.run_id for period, slice_ in slices.items()} if slices else None
            )
        return self._runs[location.label]

    def exists(self, location: Location) -> bool:
        if location.is_database:
            return not self._asks_databases or data_exists(location, self._root, self._storage)
        return location_exists(location, self._storage)

    def owner(self, table: SliceTable, period: str) -> str | None:
        owner = self._slices_of(table).get(period)
        return owner.run_id if owner is not None else None

    def is_collected(self, table: SliceTable) -> bool:
        return bool(self._slices_of(table))


class CloseHistory:
    """What the completed runs of a close used, read from the store in a few queries.

    That of all projects, of some, or of one node: a project may have many periods.
    """

    def __init__(
        self,
        transaction: Transaction,
        slices: SliceMap,
        projects: Iterable[str] | None = None,
        *,
        node: Node | None = None,
        recorded: RecordedRuns | None = None,
    ) -> None:
        """`recorded` are those of an earlier look."""
        queries = transaction.close
        self._projects = tuple(projects) if projects is not None else None if node is None else (node.project,)
        self.runs: dict[tuple[str, str], NodeRuns] = queries.runs(
            self._projects, period=node.period.identifier if node is not None else None
        )
        self.slices = slices
        completed = [node_runs.completed.id for node_runs in self.runs.values() if node_runs.completed is not None]
        self.recorded = (recorded or RecordedRuns()).read(queries, completed)
        self._dropped = {
            (slice_.destination, slice_.period): slice_.dropped_at for slice_ in transaction.slices.dropped()
        }
        self._now = transaction.now()
        self._transaction = transaction
        self._queries = queries
        # Of runs whose slices were read and replaced since, looked up when they are compared.
        self._earlier_commits: dict[str, tuple[OutputCommit, ...]] | None = None
        self._tables: dict[tuple[str, object], SliceTable] = {}
        self._latest_runs = {node_runs.latest.id: node_runs.latest for node_runs in self.runs.values()}

    @cached_property
    def _last_writes(self) -> Mapping[tuple[str, str], tuple[tuple[str, datetime.datetime], ...]]:
        """By project and place, the last two periods that were written there: one of them is not the asker's."""
        return {
            key: tuple(sorted(writes.items(), key=lambda write: write[1])[-2:])
            for key, writes in self._queries.last_writes(self._projects).items()
        }

    def started_at(self, run_id: str) -> datetime.datetime | None:
        """When a run was created, if it is still known."""
        run = self._latest_runs.get(run_id) or self._transaction.runs.find(run_id)
        return run.created_at if run is not None else None

    def pins(self, run_id: str, key: str) -> tuple[Pin, ...]:
        return tuple(pin_from_json(pin) for pin in self.recorded[run_id].pins.get(key, ()))

    def wrote_same_rows(self, location: Location, before: str, now: str, *, with_times: bool) -> bool:
        """Whether two runs wrote the same rows into a table, each for its period; runs without a digest did not."""
        digests = [self._digest(location, run_id, with_times=with_times) for run_id in (before, now)]
        return digests[0] is not None and digests[0] == digests[1]

    def _digest(self, location: Location, run_id: str, *, with_times: bool) -> str | None:
        names = set(self.slices.table(location).names)
        commits = [commit for commit in self._commits_of(run_id) if names & set(self.table_of(commit).names)]
        if len(commits) != 1 or commits[0].mode == "append":
            return None
        digest = commits[0].details.get("rows_digest")
        return None if digest is None else str(digest["with_times" if with_times else "rows"])

    def commits(self, run_id: str) -> tuple[OutputCommit, ...]:
        """What the last completed run of a node committed; nothing for another run."""
        return self.recorded[run_id].commits if run_id in self.recorded else ()

    def _commits_of(self, run_id: str) -> tuple[OutputCommit, ...]:
        if run_id in self.recorded:
            return self.recorded[run_id].commits
        if self._earlier_commits is None:
            # One question for all runs that a snapshot names.
            used = {
                writer
                for run in self.recorded.values()
                for source in (run.snapshot["sources"] if run.snapshot is not None else ())
                for writer in (source.get("slices") or {}).values()
            }
            earlier = self._queries.commits(used - self.recorded.keys())
            self._earlier_commits = {writer: tuple(commits) for writer, commits in earlier.items()}
        if run_id not in self._earlier_commits:
            self._earlier_commits[run_id] = tuple(self._queries.commits([run_id]).get(run_id, ()))
        return self._earlier_commits[run_id]

    def table_of(self, commit: OutputCommit) -> SliceTable:
        """What a commit wrote to; many commits write to one table, and following its links looks at the disk."""
        key = (commit.destination, commit.details.get("identity"))
        if key not in self._tables:
            self._tables[key] = commit.table
        return self._tables[key]

    def is_dropped(self, run: RunRecord, commit: OutputCommit) -> bool:
        """Whether the slice that a commit wrote to was dropped since."""
        if not self._dropped:
            return False
        dropped = [self._dropped.get((name, run.period)) for name in self.table_of(commit).names]
        written = commit.committed_at
        return any(dropped_at is not None and (written is None or dropped_at >= written) for dropped_at in dropped)

    def is_alive(self, run: RunRecord) -> bool:
        """Whether a run is being executed: its process runs, as far as that is known, and renews the lease."""
        expires_at = run.lease_expires_at
        return not is_surely_dead(run.process) and (expires_at is None or expires_at > self._now)

    def completed_periods(self) -> dict[str, frozenset[str]]:
        """The periods for which each project has a completed run."""
        periods_by_project: dict[str, set[str]] = {}
        for (project_id, period), runs in self.runs.items():
            if runs.completed is not None:
                periods_by_project.setdefault(project_id, set()).add(period)
        return {project_id: frozenset(periods) for project_id, periods in periods_by_project.items()}

    def levels(self) -> dict[str, str]:
        """The level of the last completed run of every project."""
        last_runs: dict[str, RunRecord] = {}
        for runs in self.runs.values():
            run = runs.completed
            if run is not None and (
                run.project_id not in last_runs or last_runs[run.project_id].created_at < run.created_at
            ):
                last_runs[run.project_id] = run
        snapshots = {project_id: self.recorded[run.id].snapshot for project_id, run in last_runs.items()}
        return {
            project_id: snapshot["period"]["level"]
            for project_id, snapshot in snapshots.items()
            if snapshot is not None
        }

    def is_overwritten_by_period(self, run: RunRecord, destination: str) -> bool:
        """Whether a later run of the project, for another period, wrote to the same place."""
        last_writes = self._last_writes.get((run.project_id, destination), ())
        return any(period != run.period and created_at > run.created_at for period, created_at in last_writes)
