"""Builds a close: runs the nodes that are not fresh, in the order of their dependencies."""

import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from graphlib import TopologicalSorter
from queue import Empty, SimpleQueue
from typing import Literal, TypeAlias

from daybook.engine.java.classic import activate_session
from daybook.engine.java.session import separate_session
from daybook.engine.jobs import wait_for
from daybook.errors import DaybookError, Notice, flatten
from daybook.graph.build_listener import BuildListener
from daybook.graph.build_plan import (
    BuildRequest,
    build_notices,
    check_required_parameters,
    fresh_draft,
    missing_parameters,
    node_request,
    planned_nodes,
    selected_nodes,
)
from daybook.graph.close import Close, read_close
from daybook.graph.nodes import Edge, Node, in_order, sort_key
from daybook.model.json_fields import Hidden, Merged
from daybook.pictures.shown_values import plural
from daybook.resolve.project_files import CheckedFiles
from daybook.runs.attempt.execution import execute_run
from daybook.runs.attempt.lease import LeaseKeeper, stop_on_signals
from daybook.runs.attempt.prepare import PreparedRun, apply_projects, moved_notices, prepare_runs
from daybook.runs.attempt.run_request import RunRequest, check_request
from daybook.runs.environment import RunEnvironment, begin_for_tables_by_name
from daybook.runs.run_listener import RunListener
from daybook.runs.run_result import RunFailedError, RunResult
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
                yield f"{name}: {plural(count, 'node')} {'wait' if count > 1 else 'waits'} for it"
        if count := sum(result.is_not_begun for result in self.nodes):
            why = "was cancelled" if self.is_cancelled else "ended before them"
            yield f"{plural(count, 'node')} not begun: the build {why}"


def build(
    files: CheckedFiles, environment: RunEnvironment, request: BuildRequest, listener: BuildListener
) -> BuildResult:
    """Run what is not fresh; after a failure, what does not depend on it only with `keep_going`."""
    begin_for_tables_by_name(files.workspace, environment.session)
    with read_close(
        files,
        environment.store,
        period=request.period,
        asks_databases=True,
        looks=True,
        as_drafts=request.is_draft,
        parameters=request.parameters,
    ) as close:
        edges, left_out = selected_nodes(close, request)
        if any(missing_parameters(close, request, project_id) for project_id in {node.project for node in edges}):
            check_required_parameters(close, request, planned_nodes(close, request, edges, left_out))
        notices = build_notices(close, request)
        fresh = {} if request.is_full or request.is_draft else _fresh_nodes(close, edges)
        locked = frozenset() if request.is_draft else frozenset(filter(close.is_locked, edges))
    is_applied = environment.store.is_shared
    if not request.is_draft and fresh.keys() | locked != edges.keys():
        apply_notices, is_applied = _apply_files(files, environment, close, edges)
        notices += apply_notices
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
        # What a node costs here does not depend on how many there are: each says itself that it has ended.
        ended: SimpleQueue[Node] = SimpleQueue()

        def begin(node: Node) -> None:
            begun[node] = pool.submit(self._build_node, node)
            begun[node].add_done_callback(lambda _: ended.put(node))

        jobs = max(1, self.request.jobs)
        ready: deque[Node] = deque()
        with (
            stop_on_signals(self._note_cancel),
            ThreadPoolExecutor(jobs, thread_name_prefix="daybook-build") as pool,
        ):
            try:
                while sorter.is_active():
                    ready += sorted(sorter.get_ready(), key=sort_key)
                    # Whatever begins knows the results of all nodes that have ended, and is reported after them.
                    while ready and len(begun) - len(self.results) < jobs:
                        begin(ready.popleft())
                    # Linux may give a signal to another thread; this one handles it only when it wakes.
                    with suppress(Empty):
                        node = ended.get(timeout=_WAIT_SECONDS)
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
        identifier = node.period.identifier
        runs = transaction.close.runs([node.project], period=identifier).get((node.project, identifier))
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
            if self.request.is_full:
                return None
            draft = fresh_draft(self.files, self.environment, self._run_request(node))
            return NodeResult(node, "fresh", draft) if draft is not None else None
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
            yield self.close.renewed(transaction, node, is_applied=self.is_applied)

    def _prepare(self, node: Node, environment: RunEnvironment) -> Iterator[PreparedRun]:
        checked = check_request(self.files, self._run_request(node))
        are_files_applied = self.is_applied and not self.request.is_draft
        return prepare_runs(environment, checked, are_files_applied=are_files_applied)

    def _run_request(self, node: Node) -> RunRequest:
        return node_request(self.request, node, self.build_id)

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
    commits = [commit for commit in close.history.commits(run.id) if commit.mode == "append"]
    left = [commit for commit in commits if not close.history.is_dropped(run, commit)]
    if not left:
        return None
    table = left[0].details.get("label", left[0].destination)
    is_slice = close.history.slices.is_collected(left[0].table)
    hint = f"; `daybook slices drop {table} {run.period}` removes them first" if is_slice else ""
    return f"it appended rows for {run.period}, and a rerun would append them again{hint}"
