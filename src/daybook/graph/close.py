"""The current state of a close: the graph of its projects, and the state of every node."""

import datetime
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path

from daybook.definitions.activated import as_activated
from daybook.definitions.changes import find_changes, with_changes
from daybook.definitions.loading import LoadedWorkspace
from daybook.definitions.value import Definitions
from daybook.errors import DaybookError, Notice, notice
from daybook.errors.error import did_you_mean
from daybook.graph.definition_changes import uses_times
from daybook.graph.dependencies import ProjectGraph, cycle_errors, derive_graph, registered_datasets
from daybook.graph.freshness import Freshness, ProjectNow
from daybook.graph.node_state import NodeFreshness, NodeState
from daybook.graph.nodes import (
    CloseGraph,
    CloseHistory,
    Edge,
    Node,
    PeriodSpan,
    SliceMap,
    every_slice,
    in_order,
    known_calendar,
    parse_span,
    slices_by_table,
)
from daybook.graph.recorded_runs import RecordedRuns
from daybook.io.storage import storage_of
from daybook.model.calendar import Period
from daybook.model.definition import Definition
from daybook.model.json_fields import Hidden, Merged
from daybook.model.parameter import ParametersByProject
from daybook.model.project import Project
from daybook.model.serialization import encode_definition
from daybook.resolve.project_files import CheckedFiles, is_pattern, matching_projects
from daybook.store.database.projects import find_active_project
from daybook.store.store import MetadataStore, Transaction

_UNUSABLE_STATES = ("failed", "blocked")
# Such a node has rows of a completed run.
_DECIDED_STATES = ("fresh", "unknown", "stale")
# What reads such a node may have to run, too: if it writes other rows.
_DOUBTFUL_STATES = ("stale", "unknown", "never", "failed")


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """The state of a node with the states of what it reads taken into account."""

    node: Merged[Node]
    state: NodeState
    is_locked: bool
    run: str | None
    reasons: tuple[str, ...] = ()
    is_closed: Hidden[bool] = False
    # What changed in the end, in the words that all nodes share that are concerned.
    causes: Hidden[tuple[str, ...]] = ()
    # Whether it is concerned only if something it reads writes other rows.
    is_consequence: Hidden[bool] = False


class Close:
    """The projects of a close with their graph, and the state of its nodes within one transaction of the store."""

    def __init__(
        self,
        files: CheckedFiles,
        transaction: Transaction,
        *,
        is_shared: bool,
        period: str | None = None,
        projects: Iterable[str] | None = None,
        asks_databases: bool = False,
        looks: bool = False,
        as_drafts: bool = False,
        parameters: ParametersByProject | None = None,
        recorded: RecordedRuns | None = None,
    ) -> None:
        self._as_drafts = as_drafts
        self._looks = looks
        self._is_shared = is_shared
        self._transaction = transaction
        self._files = files
        self._definitions = definitions = files.workspace
        self._asks_databases = asks_databases
        self._parameters = parameters
        self.seen: Definitions = self._seen(is_applied=False)
        self._storage = storage_of(definitions.root, definitions.settings, self.seen)
        written: Mapping[str, Definition[Project]] = definitions.definitions["project"]
        self._errors_of = _errors_by_project(files)
        self.projects = {
            project_id: self._project_now(definition, self._errors_of(project_id))
            for project_id, definition in written.items()
        }
        self.projects |= self._unreadable_projects(definitions)
        self.graph: ProjectGraph = derive_graph(
            {project_id: now.project for project_id, now in self.projects.items()}, self.seen
        )
        self._registered = registered_datasets(self.graph.projects.values())
        # A project carries times along for those that read its results and see them.
        self._counting_times = self.graph.upstream(
            project_id for project_id, project in self.graph.projects.items() if uses_times(project)
        )
        slices = SliceMap(every_slice(transaction), definitions.root, self._storage, asks_databases=asks_databases)
        self._read_state(CloseHistory(transaction, slices, projects, recorded=recorded))
        self._read_span(period)

    def _read_span(self, period: str | None) -> None:
        calendars = [known_calendar(now.project, self.seen) for now in self.projects.values()]
        self.span: PeriodSpan | None = parse_span(period, calendars) if period is not None else None
        level = self.span.level if self.span is not None else "month"
        completed = self.history.completed_periods()
        self.nodes = CloseGraph(self.graph, self.seen, self.history.levels(), level, completed)

    def within(self, period: str) -> "Close":
        """The same close, looked at for a period or a span of them."""
        now = copy(self)
        now._read_span(period)
        return now

    def renewed(self, transaction: Transaction, node: Node, *, is_applied: bool) -> "Close":
        """The close as the store has it now, for one node.

        Definitions, graph and nodes are kept; what runs, locks and registrations change is read again. With
        `is_applied` the store holds what the files say.
        """
        now = copy(self)
        now._transaction = transaction
        now.seen = now._seen(is_applied=is_applied)
        project_id = node.project
        written = self._definitions.definitions["project"].get(project_id)
        project = self.projects[project_id]
        if written is not None:
            project = now._project_now(written, self._errors_of(project_id))
        now.projects = {**self.projects, project_id: project}
        slices = SliceMap(
            slices_by_table(transaction), self._definitions.root, self._storage, asks_databases=self._asks_databases
        )
        now._read_state(CloseHistory(transaction, slices, node=node))
        return now

    def _seen(self, *, is_applied: bool) -> Definitions:
        stored = self._transaction.stored_definitions()
        if is_applied or self._is_shared:
            return stored
        heads, name = self._transaction.definitions.heads(), self._definitions.settings.name
        changes = find_changes(self._definitions.all(), heads, workspace=name, prune=False)
        if self._transaction.policies.in_force().activate is None:
            return with_changes(stored, changes)
        # Imported lazily: it can plan, and most workspaces have no policy.
        from daybook.runs.lifecycle.apply import allowed_changes

        # What waits for approval is not what runs use.
        return with_changes(stored, allowed_changes(self._transaction, changes))

    def _read_state(self, history: CloseHistory) -> None:
        """What runs and locks change."""
        self.history = history
        self._locked = self._transaction.periods.in_status("locked")
        self._closed = self._transaction.periods.in_status("closed")
        self._freshness = Freshness(
            history,
            self.projects,
            root=self._definitions.root,
            storage=self._storage,
            allowed_hosts=self._definitions.settings.catalogs.allowed_hosts,
            registered=self._registered,
            asks_databases=self._asks_databases,
            looks=self._looks,
            workspace=self._definitions,
            parameters=self._parameters,
            counting_times=self._counting_times,
        )

    def _unreadable_projects(self, definitions: LoadedWorkspace) -> dict[str, ProjectNow]:
        """Active projects whose files have errors: what they make is still read by others."""
        unreadable: dict[str, ProjectNow] = {}
        for state in self._transaction.projects.all() if definitions.broken else ():
            files = [file for file in definitions.broken if file.may_define("project", state.project_id)]
            active = find_active_project(self._transaction.definitions, self._transaction.projects, state)
            if state.project_id not in self.projects and files and active is not None:
                seen = as_activated(self.seen, active.inputs)
                problem = _error_text(files[0].errors)
                unreadable[state.project_id] = ProjectNow(active.project, active.version, seen, problem)
        return unreadable

    def _project_now(self, definition: Definition[Project], errors: Sequence[DaybookError]) -> ProjectNow:
        """The active version, or why there is none that a build may run."""
        project_id = definition.id
        state = self._transaction.projects.find(project_id)
        active = (
            find_active_project(self._transaction.definitions, self._transaction.projects, state)
            if state is not None
            else None
        )
        if state is None or active is None:
            hint = f"it was never activated: `daybook activate {project_id}`"
            return ProjectNow(definition.model, None, self.seen, hint)
        seen = as_activated(self.seen, active.inputs)
        is_edited = encode_definition("project", definition.model).structure_digest != active.structure_digest
        if self._as_drafts and is_edited:
            return ProjectNow(definition.model, None, self.seen)
        problem, is_inactive = None, state.status == "inactive"
        if errors:
            problem = _error_text(errors)
        elif is_inactive:
            problem = "it is inactive"
        elif state.status == "conflict":
            problem = f"it is in conflict: {'; '.join(state.warnings)}"
        elif is_edited:
            problem = f"edited, not activated: `daybook activate {project_id}`, or `daybook run {project_id} --draft`"
        return ProjectNow(active.project, active.version, seen, problem, is_inactive)

    def notices(self) -> tuple[Notice, ...]:
        """What a person should know who expects to see the active projects."""
        return () if self.active_projects else (notice("RUN_090"),)

    @property
    def active_projects(self) -> tuple[str, ...]:
        """Those that have been activated and may run, or would after another activation."""
        return tuple(
            project_id for project_id, now in self.projects.items() if now.version is not None and not now.is_inactive
        )

    @property
    def drafts(self) -> frozenset[str]:
        """Projects whose files differ from their active version, or that have none."""
        return frozenset(project_id for project_id, now in self.projects.items() if now.version is None)

    def chain_of_drafts(self, names: Iterable[str], *, only: bool = False) -> frozenset[str]:
        """The named drafts, or all, with the drafts they need and the projects between them."""
        targets, allowed = self.select(names or sorted(self.drafts), only=only)
        chain = set(targets) | (self.drafts & allowed)
        while more := {
            dependency.reader
            for dependency in self.graph.dependencies
            if dependency.maker in chain and dependency.reader in allowed and dependency.reader not in chain
        }:
            chain |= more
        return frozenset(chain)

    def stale_inputs(self, node: Node) -> Iterator[tuple[Edge, str]]:
        """What a node would read that is out of date, each with the reason; what is locked stays as it is."""
        span = PeriodSpan(node.period.start_date, node.period.end_date, node.period.level)
        edges = self.closure([node], span, self.graph.upstream([node.project]))
        statuses = self.statuses(edges)
        for edge in edges[node]:
            status = statuses.get(edge.maker)
            is_active = self.projects[edge.maker.project].version is not None
            if status is None or status.is_locked or not is_active:
                continue
            if status.state in _DOUBTFUL_STATES:
                yield edge, "has never run" if status.state == "never" else "; ".join(status.reasons)

    def select(self, names: Iterable[str], *, only: bool = False) -> tuple[frozenset[str], frozenset[str]]:
        """The projects that were named, and those together with what they need.

        `+name` is with what it needs, which is the default; `name+` with what needs it, too; `clean-*` is all that fit.
        """
        named: set[str] = set()
        for name in names:
            project_id = name.strip("+")
            if project_id not in self.projects and is_pattern(project_id):
                matches = matching_projects(self.projects, project_id)
            elif project_id in self.projects:
                matches = (project_id,)
            else:
                # A file with errors may define it; then those are what to say.
                self._files.load_project(project_id)
                raise DaybookError("RUN_001", project=project_id, hint=did_you_mean(project_id, tuple(self.projects)))
            named.update(matches)
            if name.endswith("+"):
                named |= self.graph.downstream(matches)
        targets = frozenset(named or self.active_projects)
        return targets, targets if only else self.graph.upstream(targets)

    def check_cycles(self, projects: Collection[str] | None = None) -> None:
        """Refuse projects that wait for each other: any, or only among these."""
        for error in cycle_errors(self.graph, projects):
            raise error

    def closure(
        self, targets: Iterable[Node], span: PeriodSpan, allowed: frozenset[str]
    ) -> dict[Node, tuple[Edge, ...]]:
        """The nodes and what they need, each with its edges.

        Outside of the span a node is only brought up to date if it has completed before.
        """
        edges: dict[Node, tuple[Edge, ...]] = {}
        waiting = list(targets)
        while waiting:
            node = waiting.pop()
            if node in edges:
                continue
            edges[node] = self.nodes.edges_of(node)
            makers = [edge.maker for edge in edges[node] if edge.maker.project in allowed]
            waiting += [maker for maker in makers if span.holds(maker.period) or self._has_completed(maker)]
        return self.nodes.edges_among(edges)

    def _has_completed(self, node: Node) -> bool:
        runs = self.history.runs.get((node.project, node.period.identifier))
        return runs is not None and runs.completed is not None

    def is_locked(self, node: Node) -> bool:
        """Whether its period is locked, or one around it."""
        return _is_covered(node.period, self._locked)

    def freshness(self, node: Node) -> NodeFreshness:
        return self._freshness.of(node)

    def statuses(self, edges: Mapping[Node, tuple[Edge, ...]]) -> dict[Node, NodeStatus]:
        """Every node, makers first. What reads something stale may be stale, too: if that writes other rows.

        A locked node is used as it is, whatever its state, and makes nothing stale.
        """
        statuses: dict[Node, NodeStatus] = {}
        for node in in_order(edges, edges):
            own = self.freshness(node)
            makers = [(edge, statuses[edge.maker]) for edge in edges[node] if edge.maker in statuses]
            state, reasons = own.state, list(own.reasons)
            causes = [reason.cause for reason in own.details] if own.state != "running" else []
            for edge, maker in makers:
                if maker.is_locked:
                    continue
                name = f"{edge.maker.project} {edge.maker.period.identifier}"
                if own.state in _DECIDED_STATES and maker.state in _DOUBTFUL_STATES:
                    # What is stale by itself needs no other reason, but the change upstream concerns it, too.
                    causes += maker.causes
                    if own.state != "stale":
                        state = "unknown"
                        reasons.append(f"reads {edge.dataset}: if {name} writes other rows")
                if own.state == "never" and maker.state in _UNUSABLE_STATES and not edge.is_optional:
                    state = "blocked"
                    reasons.append(f"needs {name}, which {'failed' if maker.state == 'failed' else 'is blocked'}")
            run = own.run.id if own.run is not None else None
            statuses[node] = NodeStatus(
                node,
                state,
                self.is_locked(node),
                run,
                tuple(dict.fromkeys(reasons)),
                _is_covered(node.period, self._closed),
                tuple(dict.fromkeys(causes)),
                is_consequence=own.state == "fresh" and state == "unknown",
            )
        return statuses


def _errors_by_project(files: CheckedFiles) -> Callable[[str], Sequence[DaybookError]]:
    """What is wrong with what a project leads to; nothing is looked up where nothing is wrong anywhere."""
    return files.reached_errors if files.files_with_errors else lambda _: ()


def _error_text(errors: Sequence[DaybookError]) -> str:
    first = errors[0]
    place = f" ({Path(first.span.file).name}, line {first.span.line})" if first.span and first.span.file else ""
    return f"its definition has errors: {first.code} {first.message}{place}; `daybook validate` shows them"


def _is_covered(period: Period, days: Iterable[tuple[str, datetime.date, datetime.date]]) -> bool:
    return any(
        calendar_id == period.calendar_id and start <= period.start_date and period.end_date <= end
        for calendar_id, start, end in days
    )


@contextmanager
def read_close(
    files: CheckedFiles,
    store: MetadataStore,
    *,
    period: str | None = None,
    projects: Iterable[str] | None = None,
    asks_databases: bool = False,
    looks: bool = False,
    as_drafts: bool = False,
    parameters: ParametersByProject | None = None,
    recorded: RecordedRuns | None = None,
) -> Iterator[Close]:
    """The close as the store has it now; everything is read in one transaction.

    With `looks`, files that changed are read to find out which nodes they concern. `recorded` are runs that an earlier
    look has read.
    """
    with store.read() as transaction:
        transaction.definitions.read_ahead()
        transaction.projects.read_ahead()
        yield Close(
            files,
            transaction,
            is_shared=store.is_shared,
            period=period,
            projects=projects,
            asks_databases=asks_databases,
            looks=looks,
            as_drafts=as_drafts,
            parameters=parameters,
            recorded=recorded,
        )
