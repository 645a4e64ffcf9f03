"""Builds a close: runs the nodes that are not fresh, in the order of their dependencies."""

import threading
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from graphlib import TopologicalSorter
from typing import Literal, TypeAlias

from daybook.engine.java.classic import activate_session
from daybook.engine.java.session import separate_session
from daybook.engine.jobs import wait_for
from daybook.errors import DaybookError, Notice, flatten, raise_all
from daybook.errors.error import did_you_mean
from daybook.graph.close import Close, NodeStatus, read_close
from daybook.graph.drafts import find_fresh_draft
from daybook.graph.freshness import GivenParameters
from daybook.graph.listener import BuildListener
from daybook.graph.nodes import Edge, Node, in_order, sort_key
from daybook.model.json_fields import Hidden, Merged
from daybook.model.parameter import given_values
from daybook.resolve.project_files import CheckedFiles
from daybook.runs.attempt.execution import execute_run
from daybook.runs.attempt.lease import LeaseKeeper, stop_on_signals
from daybook.runs.attempt.prepare import PreparedRun, apply_projects, moved_notices, prepare_runs
from daybook.runs.attempt.request import RunRequest, check_request
from daybook.runs.environment import RunEnvironment, has_tables_by_name
from daybook.runs.listener import RunListener
from daybook.runs.result import RunFailedError, RunResult
from daybook.runs.snapshot import new_run_id
from daybook.store.records import RunRecord
from daybook.store.store import Transaction

NodeOutcome: TypeAlias = Literal["ran", "fresh", "failed", "blocked", "locked"]

# Another run of the same project and period is under way.
_CODE_ACTIVE_RUN = "STORE_012"
# A view reads a period that no run has written.
_CODE_MISSING_PERIOD = "RESOLVE_093"
_WAIT_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """What to bring up to date: projects by name (all active ones without any), for a period or a span of them."""

    period: str
    projects: tuple[str, ...] = ()
    only: bool = False
    is_full: bool = False
    keep_going: bool = False
    jobs: int = 2
    allow_empty: bool = False
    # Runs the files as they are, into the sandbox, unless the sandbox holds what they would write.
    is_draft: bool = False
    parameters: GivenParameters = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NodeResult:
    """The result of a node; `is_failure` when it failed or something it needs did.

    `waits_for` is the node that failed, where something that this one needs did; `is_not_begun` when the build ended
    before it.
    """

    node: Merged[Node]
    result: NodeOutcome
    run: str | None = None
    reason: str | None = None
    seconds: float = 0.0
    is_failure: Hidden[bool] = False
    waits_for: Hidden[Node | None] = None
    is_not_begun: Hidden[bool] = False


@dataclass(frozen=True, slots=True)
class PlannedNode:
    """A node and whether it would run, with the reasons."""

    status: Merged[NodeStatus]
    will_run: bool
    why: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """The nodes in order, and projects that have no period in the span."""

    nodes: tuple[PlannedNode, ...]
    left_out: tuple[str, ...]
    notices: Hidden[tuple[Notice, ...]] = ()

    @property
    def will_run(self) -> Mapping[Node, tuple[str, ...]]:
        """The nodes that would run, with the reasons."""
        return {planned.status.node: planned.why for planned in self.nodes if planned.will_run}


@dataclass(frozen=True, slots=True)
class BuildResult:
    """One result per node, in the order they ended."""

    build_id: str
    nodes: tuple[NodeResult, ...]
    left_out: tuple[str, ...] = ()
    is_cancelled: bool = False
    notices: tuple[Notice, ...] = ()

    @property
    def is_ok(self) -> bool:
        return not self.is_cancelled and not any(node.is_failure for node in self.nodes)

    def count(self, result: NodeOutcome) -> int:
        return sum(node.result == result for node in self.nodes)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why nodes did not run, or what is out of date in those that are locked."""
        return tuple(self._reasons(self.nodes))

    @property
    def problems(self) -> tuple[str, ...]:
        """Why nodes failed, and what that kept from running."""
        return tuple(self._reasons([node for node in self.nodes if node.is_failure]))

    def _reasons(self, results: Iterable[NodeResult]) -> Iterator[str]:
        """A line for each reason of its own: all that waits for one node is one line."""
        waiting = Counter(result.waits_for for result in self.nodes if result.waits_for is not None)
        for result in results:
            name = f"{result.node.project} {result.node.period.identifier}"
            if result.reason and result.waits_for is None and not result.is_not_begun:
                yield f"{name}: {result.reason}"
            if count := waiting[result.node]:
                yield f"{name}: {_count_nodes(count)} {'wait' if count > 1 else 'waits'} for it"
        if count := sum(result.is_not_begun for result in self.nodes):
            why = "was cancelled" if self.is_cancelled else "ended before them"
            yield f"{_count_nodes(count)} not begun: the build {why}"


def _count_nodes(count: int) -> str:
    return f"{count} node{'' if count == 1 else 's'}"


def plan_build(close: Close, request: BuildRequest) -> BuildPlan:
    """What a build would do, as far as that is known before its first run."""
    plan = _planned(close, request, *_selected(close, request))
    _check_required(close, request, plan)
    return plan


def _planned(
    close: Close, request: BuildRequest, edges: Mapping[Node, tuple[Edge, ...]], left_out: tuple[str, ...]
) -> BuildPlan:
    statuses = close.statuses(edges)
    notices = _notices(close, request)
    will_run: dict[Node, tuple[str, ...]] = {}
    for node in in_order(edges, edges):
        status = statuses[node]
        if request.is_draft:
            is_draft = node.project in close.drafts
            will_run[node] = ("it is a draft" if is_draft else "it reads what a draft writes, or is named",)
            continue
        if status.is_locked:
            continue
        if status.state in ("stale", "unknown", "never", "failed", "blocked"):
            will_run[node] = status.reasons or ("it has never run",)
        elif request.is_full:
            will_run[node] = ("everything is run",)
    nodes = (PlannedNode(statuses[node], node in will_run, will_run.get(node, ())) for node in in_order(edges, edges))
    return BuildPlan(tuple(nodes), left_out, notices)


def plan_drafts(files: CheckedFiles, environment: RunEnvironment, request: BuildRequest) -> BuildPlan:
    """What a build of drafts would run: not the drafts whose results the sandbox holds, while what they read stays."""
    with read_close(
        files,
        environment.store,
        period=request.period,
        asks_databases=True,
        as_drafts=True,
        parameters=request.parameters,
    ) as close:
        plan = plan_build(close, request)
        edges = close.nodes.edges_among(plan.will_run)
    will_run: dict[Node, tuple[str, ...]] = {}
    for node, why in plan.will_run.items():
        makers = [edge.maker for edge in edges[node] if edge.maker in will_run]
        if makers:
            will_run[node] = tuple(f"{maker.project} {maker.period.identifier} runs" for maker in makers)
        elif request.is_full or _fresh_draft(files, environment, _run_request_of(request, node)) is None:
            will_run[node] = why
    nodes = (
        replace(planned, will_run=planned.status.node in will_run, why=will_run.get(planned.status.node, ()))
        for planned in plan.nodes
    )
    return replace(plan, nodes=tuple(nodes))


def _fresh_draft(files: CheckedFiles, environment: RunEnvironment, request: RunRequest) -> str | None:
    """The draft whose result in the sandbox is what a run would write now."""
    try:
        (prepared,) = prepare_runs(environment, check_request(files, request))
    except DaybookError:
        # The run says what is wrong.
        return None
    with environment.store.read() as transaction:
        return find_fresh_draft(transaction, prepared, environment.root, environment.storage)


def _run_request_of(request: BuildRequest, node: Node, build_id: str | None = None) -> RunRequest:
    return RunRequest(
        node.project,
        node.period.identifier,
        is_draft=request.is_draft,
        allow_empty=request.allow_empty,
        build_id=build_id,
        parameters=request.parameters.get(node.project, {}),
    )


def _notices(close: Close, request: BuildRequest) -> tuple[Notice, ...]:
    return () if request.projects or request.is_draft else close.notices()


def _selected(close: Close, request: BuildRequest) -> tuple[dict[Node, tuple[Edge, ...]], tuple[str, ...]]:
    if close.span is None:
        raise ValueError("a build has a period")
    if request.is_draft:
        chain = close.chain_of_drafts(request.projects, only=request.only)
        close.check_cycles(chain)
        draft_nodes = close.nodes.nodes_in(close.span, sorted(chain))
        return close.nodes.edges_among(draft_nodes), close.nodes.left_out(close.span, sorted(chain))
    targets, allowed = close.select(request.projects, only=request.only)
    close.check_cycles(allowed)
    nodes = close.nodes.nodes_in(close.span, sorted(targets))
    edges = close.closure(nodes, close.span, allowed)
    if request.only:
        edges = {node: edges[node] for node in nodes}
    _check_parameters(close, request, {node.project for node in edges})
    return edges, close.nodes.left_out(close.span, sorted(targets))


def _check_parameters(close: Close, request: BuildRequest, projects: Collection[str]) -> None:
    """Whether every value is for a parameter of a project that is built, and of its type."""
    for project_id, values in request.parameters.items():
        if project_id not in close.projects:
            raise DaybookError("RUN_001", project=project_id, hint=did_you_mean(project_id, tuple(close.projects)))
        if project_id not in projects:
            raise DaybookError("RUN_051", project=project_id)
        given_values(project_id, close.projects[project_id].project.parameters, values)


def _lacking(close: Close, request: BuildRequest, project_id: str) -> list[DaybookError]:
    """Values that a run of the project would need and that are not given."""
    values = request.parameters.get(project_id, {})
    return [
        DaybookError("RUN_049", name=name, project=project_id, type=parameter.type)
        for name, parameter in close.projects[project_id].project.parameters.items()
        if parameter.default is None and name not in values
    ]


def _check_required(close: Close, request: BuildRequest, plan: BuildPlan) -> None:
    """Nothing runs before every project that will run has its values."""
    projects = dict.fromkeys(node.project for node in plan.will_run)
    raise_all(error for project_id in projects for error in _lacking(close, request, project_id))


def build(
    files: CheckedFiles, environment: RunEnvironment, request: BuildRequest, listener: BuildListener
) -> BuildResult:
    """Run what is not fresh; after a failure, what does not depend on it only with `keep_going`."""
    if has_tables_by_name(files.workspace):
        # What they hold now is known to a session alone.
        environment.session()
    with read_close(
        files,
        environment.store,
        period=request.period,
        asks_databases=True,
        looks=True,
        as_drafts=request.is_draft,
        parameters=request.parameters,
    ) as close:
        edges, left_out = _selected(close, request)
        if any(_lacking(close, request, project_id) for project_id in {node.project for node in edges}):
            _check_required(close, request, _planned(close, request, edges, left_out))
        notices = _notices(close, request)
        fresh = {} if request.is_full or request.is_draft else _fresh_nodes(close, edges)
        locked = frozenset() if request.is_draft else frozenset(filter(close.is_locked, edges))
    is_applied = environment.store.is_shared
    if not request.is_draft and fresh.keys() | locked != edges.keys():
        said, is_applied = _apply_files(files, environment, close, edges)
        notices += said
    order = in_order(edges, edges)
    listener.planned(order)
    build_id = new_run_id(environment.clock())
    work = _Build(files, environment, request, listener, close, edges, fresh, locked, is_applied, build_id)
    with work.sent_as_events(order):
        return replace(work.execute(order), left_out=left_out, notices=notices)


def _apply_files(
    files: CheckedFiles, environment: RunEnvironment, close: Close, nodes: Iterable[Node]
) -> tuple[tuple[Notice, ...], bool]:
    """Apply once what all nodes reach; False where something cannot be applied, which then fails its own nodes."""
    notices = moved_notices(environment)
    if environment.store.is_shared:
        return notices, True
    projects = dict.fromkeys(node.project for node in nodes if close.projects[node.project].problem is None)
    try:
        return (*notices, *apply_projects(environment, files.workspace, tuple(projects))), True
    except DaybookError:
        return notices, False


def _fresh_nodes(close: Close, nodes: Iterable[Node]) -> dict[Node, str | None]:
    """Those that were fresh when the build began, each with its run."""
    freshness_by_node = {node: close.freshness(node) for node in nodes}
    return {
        node: freshness.run.id if freshness.run else None
        for node, freshness in freshness_by_node.items()
        if freshness.state == "fresh"
    }


class _RunElsewhereError(Exception):
    """Another process has run the node meanwhile."""


@dataclass
class _Build:
    files: CheckedFiles
    environment: RunEnvironment
    request: BuildRequest
    listener: BuildListener
    # As it was when the build began; each node looks at what has changed since then.
    close: Close
    edges: Mapping[Node, tuple[Edge, ...]]
    fresh: Mapping[Node, str | None]
    # Used as they are: they wait for nothing and are never run.
    locked: frozenset[Node]
    # Whether the store holds what the files of all nodes say.
    is_applied: bool
    build_id: str
    results: dict[Node, NodeResult] = field(default_factory=dict)
    running: dict[Node, LeaseKeeper] = field(default_factory=dict)
    # The latest run of each node when it was looked at last.
    seen: dict[Node, str | None] = field(default_factory=dict)
    is_stopped: bool = False
    is_cancelled: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def sent_as_events(self, order: tuple[Node, ...]) -> Iterator[None]:
        """Sends the lineage events of the build, which is the parent of its runs."""
        events = self.environment.events
        if events is None:
            yield
            return
        events.build_started(self.build_id)
        is_ok = is_cancelled = False
        try:
            yield
            is_cancelled = self.is_cancelled
            is_ok = not is_cancelled and not any(result.is_failure for result in self.results.values())
        finally:
            end_notice = events.build_ended(self.build_id, is_ok=is_ok, is_cancelled=is_cancelled)
            if end_notice is not None and order:
                self.listener.notice(order[0], end_notice)

    def execute(self, order: tuple[Node, ...]) -> BuildResult:
        makers = {node: [edge.maker for edge in self.edges[node] if edge.maker in self.edges] for node in order}
        sorter = TopologicalSorter(makers)
        sorter.prepare()
        begun: dict[Node, Future[NodeResult]] = {}
        with (
            stop_on_signals(self._note_cancel),
            ThreadPoolExecutor(max(1, self.request.jobs), thread_name_prefix="daybook-build") as pool,
        ):
            try:
                while sorter.is_active():
                    for node in sorted(sorter.get_ready(), key=sort_key):
                        begun[node] = pool.submit(self._build_node, node)
                    running = [begun[node] for node in begun if node not in self.results]
                    # Linux may give a signal to another thread; this one handles it only when it wakes.
                    wait(running, timeout=_WAIT_SECONDS, return_when=FIRST_COMPLETED)
                    for node in [node for node in begun if node not in self.results and begun[node].done()]:
                        self._end(node, begun[node].result())
                        sorter.done(node)
            except KeyboardInterrupt:
                self._cancel()
                for node in order:
                    if node not in self.results:
                        self._end(node, wait_for(begun[node]) if node in begun else self._not_begun(node))
        return BuildResult(self.build_id, tuple(self.results.values()), is_cancelled=self.is_cancelled)

    def _end(self, node: Node, result: NodeResult) -> None:
        self.results[node] = result
        if result.result == "failed" and not self.request.keep_going:
            self.is_stopped = True
        self.listener.finished(result)

    def _not_begun(self, node: Node) -> NodeResult:
        reason = "the build was cancelled" if self.is_cancelled else "the build ended before it"
        return NodeResult(node, "blocked", reason=reason, is_failure=True, is_not_begun=True)

    def _note_cancel(self) -> None:
        """Nothing more begins; a signal may do this at any moment, so nothing is waited for."""
        self.is_stopped = self.is_cancelled = True

    def _cancel(self) -> None:
        """Stop the runs that are under way; those that are about to begin stop at once."""
        self._note_cancel()
        with self._lock:
            keepers = list(self.running.values())
        for keeper in keepers:
            keeper.cancel()

    def _require_unchanged(self, node: Node, transaction: Transaction) -> None:
        """Another build may have run the node since this one looked."""
        runs = transaction.close.runs([node.project]).get((node.project, node.period.identifier))
        if not self.request.is_draft and (runs.latest.id if runs else None) != self.seen.get(node):
            raise _RunElsewhereError

    def _began(self, node: Node, keeper: LeaseKeeper) -> None:
        with self._lock:
            self.running[node] = keeper
        if self.is_cancelled:
            keeper.cancel()

    def _build_node(self, node: Node) -> NodeResult:
        began = time.monotonic()
        result = self._decide(node)
        while result is None:
            result = self._run(node)
            if result is None:
                time.sleep(_WAIT_SECONDS)
                result = self._decide(node)
        return replace(result, seconds=round(time.monotonic() - began, 3))

    def _decide(self, node: Node) -> NodeResult | None:
        """What is known without running; None when the node has to run."""
        for edge in () if node in self.locked else self.edges[node]:
            maker = self.results.get(edge.maker)
            if maker is not None and maker.is_failure:
                why = f"{edge.maker.project} {edge.maker.period.identifier} {maker.result}"
                failed = maker.waits_for or maker.node
                return NodeResult(node, "blocked", reason=why, is_failure=True, waits_for=failed)
        if self.is_stopped and node not in self.locked:
            return self._not_begun(node)
        if self.request.is_draft:
            kept = None if self.request.is_full else self._fresh_draft(node)
            return NodeResult(node, "fresh", kept) if kept is not None else None
        makers = (self.results.get(edge.maker) for edge in self.edges[node])
        if node in self.fresh and all(maker is None or maker.result in ("fresh", "locked") for maker in makers):
            # Nothing that it reads was run, so it is what it was when the build began.
            return NodeResult(node, "fresh", self.fresh[node])
        with self._looking_at(node) as close:
            freshness = close.freshness(node)
            runs = close.history.runs.get((node.project, node.period.identifier))
            self.seen[node] = runs.latest.id if runs else None
            now = close.projects[node.project]
            if freshness.state == "running":
                # Another process runs it; its result may be all that is needed.
                return self._after_other_run(node)
            is_fresh = freshness.state == "fresh" and not self.request.is_full
            reason = "; ".join(freshness.reasons) or None
            if is_fresh:
                return NodeResult(node, "fresh", freshness.run.id if freshness.run else None)
            if close.is_locked(node):
                return NodeResult(node, "locked", freshness.run.id if freshness.run else None, reason)
            if now.problem is not None:
                return NodeResult(node, "failed", reason=now.problem, is_failure=True)
            if freshness.run is not None and (reason := _append_reason(close, freshness.run)) is not None:
                return NodeResult(node, "blocked", freshness.run.id, reason, is_failure=True)
        return None

    @contextmanager
    def _looking_at(self, node: Node) -> Iterator[Close]:
        """The close as the store has it now, for one node."""
        with self.environment.store.read() as transaction:
            yield self.close.renewed(transaction, node.project, is_applied=self.is_applied)

    def _prepare(self, node: Node, environment: RunEnvironment) -> Iterator[PreparedRun]:
        checked = check_request(self.files, self._run_request(node))
        are_files_applied = self.is_applied and not self.request.is_draft
        return prepare_runs(environment, checked, are_files_applied=are_files_applied)

    def _fresh_draft(self, node: Node) -> str | None:
        return _fresh_draft(self.files, self.environment, self._run_request(node))

    def _run_request(self, node: Node) -> RunRequest:
        return _run_request_of(self.request, node, self.build_id)

    def _after_other_run(self, node: Node) -> NodeResult | None:
        while not self.is_stopped:
            time.sleep(_WAIT_SECONDS)
            with self._looking_at(node) as close:
                if close.freshness(node).state != "running":
                    break
        return self._decide(node)

    def _run(self, node: Node) -> NodeResult | None:
        """Run a node; None when another process began it first."""
        session = self.environment.session
        listener = _NodeListener(self, node)
        environment = replace(
            self.environment,
            session=lambda: activate_session(separate_session(session())),
            listener=listener,
            before_start=lambda transaction: self._require_unchanged(node, transaction),
            on_attempt=lambda keeper: self._began(node, keeper),
        )
        try:
            done: RunResult | None = None
            with environment.store.logged_refusal("run", f"{node.project}@{node.period.identifier}"):
                for prepared in self._prepare(node, environment):
                    done = execute_run(environment, prepared)
            return NodeResult(node, "ran", done.run_id if done else None)
        except _RunElsewhereError:
            return None
        except RunFailedError as failed:
            reason = f"{failed.error.code} {failed.error.message}"
            return NodeResult(node, "failed", failed.run_id, reason, is_failure=True)
        except DaybookError as error:
            if error.code == _CODE_ACTIVE_RUN and not self.is_stopped:
                return None
            codes = {cause.code for finding in flatten(error) for cause in (finding, *finding.causes)}
            outcome: NodeOutcome = "blocked" if _CODE_MISSING_PERIOD in codes else "failed"
            causes = [cause for cause in error.causes if cause.code == _CODE_MISSING_PERIOD] or [error]
            return NodeResult(node, outcome, reason=f"{causes[0].code} {causes[0].message}", is_failure=True)
        finally:
            with self._lock:
                self.running.pop(node, None)


@dataclass
class _NodeListener(RunListener):
    """Passes on what one run says, with its node."""

    owner: _Build
    node: Node

    def prepared(self, run_id: str, project_id: str, period: str) -> None:
        self.owner.listener.started(self.node, run_id)

    def stage(self, text: str) -> None:
        self.owner.listener.stage(self.node, text)

    def notice(self, notice: Notice) -> None:
        self.owner.listener.notice(self.node, notice)


def _append_reason(close: Close, run: RunRecord) -> str | None:
    """Why a run that appended rows is not run again; None when nothing that it appended is left."""
    commits = [commit for commit in close.history.commits.get(run.id, ()) if commit.mode == "append"]
    left = [commit for commit in commits if not close.history.is_dropped(run, commit)]
    if not left:
        return None
    table = left[0].details.get("label", left[0].destination)
    is_slice = close.history.slices.is_collected(left[0].table)
    way_out = f"; `daybook slices drop {table} {run.period}` removes them first" if is_slice else ""
    return f"it appended rows for {run.period}, and a rerun would append them again{way_out}"
