"""The close: its graph, the state of every node, and the build of what is not fresh."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from daybook.errors import DaybookError, Notice, notice
from daybook.graph.build_listener import BuildListener
from daybook.graph.close import Close, NodeStatus, read_close
from daybook.graph.recorded_runs import RecordedRuns
from daybook.model.json_fields import Hidden, UnlessNone, named
from daybook.resolve.project_files import CheckedFiles
from daybook.workspace.open_workspace import OpenedWorkspace
from daybook.workspace.paused_collection import collection_paused

if TYPE_CHECKING:
    # What runs things takes a while to import, and `status` runs nothing.
    from daybook.graph.build import BuildResult
    from daybook.graph.build_plan import BuildPlan, BuildRequest


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """`maker` writes what `reader` reads as `dataset`; both are a project, or `project@period`."""

    maker: Annotated[str, named("from")]
    reader: Annotated[str, named("to")]
    dataset: str


@dataclass(frozen=True, slots=True)
class GraphNode:
    project: str
    period: UnlessNone[str | None] = None

    @property
    def name(self) -> str:
        return self.project if self.period is None else f"{self.project}@{self.period}"


@dataclass(frozen=True, slots=True)
class CloseGraphResult:
    """Projects, or projects and periods where a period was named, and who reads whom."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    notices: Hidden[tuple[Notice, ...]] = ()


@dataclass(frozen=True, slots=True)
class CloseStatus:
    """The state of every node; `left_out` are projects without a period inside of what was asked for."""

    nodes: tuple[NodeStatus, ...]
    left_out: Hidden[tuple[str, ...]] = ()
    notices: Hidden[tuple[Notice, ...]] = ()
    # The folder of each project's file, relative to the workspace.
    folders: Hidden[Mapping[str, str]] = field(default_factory=dict)

    @property
    def causes(self) -> "tuple[RootCause, ...]":
        """What changed, the most consequential first."""
        return root_causes(self.nodes)

    @property
    def projects(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(status.node.project for status in self.nodes))

    @property
    def periods(self) -> tuple[str, ...]:
        """Every period, in order of time."""
        starts = sorted({(status.node.period.start_date, status.node.period.identifier) for status in self.nodes})
        return tuple(dict.fromkeys(identifier for _, identifier in starts))


@dataclass(frozen=True, slots=True)
class RootCause:
    """Something that changed, and the nodes that are out of date for it, or may be."""

    text: str
    nodes: tuple[NodeStatus, ...]


def root_causes(nodes: Iterable[NodeStatus]) -> tuple[RootCause, ...]:
    """What changed, the most consequential first; a locked node is used as it is."""
    concerned: dict[str, list[NodeStatus]] = {}
    for status in nodes:
        for cause in status.causes if not status.is_locked else ():
            concerned.setdefault(cause, []).append(status)
    by_size = sorted(concerned.items(), key=lambda item: -len(item[1]))
    return tuple(RootCause(text, tuple(statuses)) for text, statuses in by_size)


@collection_paused()
def close_graph(workspace: OpenedWorkspace, *, period: str | None = None) -> CloseGraphResult:
    """Which projects read what others write; with a period, which nodes read which."""
    files = CheckedFiles(workspace.read_definitions())
    notices = _error_notices(files)
    with workspace.open_store_or_empty() as store, read_close(files, store, period=period) as close:
        if close.span is None:
            return _projects_graph(close, notices)
        close.check_cycles()
        nodes = close.nodes.nodes_in(close.span, sorted(close.projects))
        edges_by_node = close.closure(nodes, close.span, frozenset(close.projects))
        names = tuple(GraphNode(node.project, node.period.identifier) for node in edges_by_node)
        pairs = (
            GraphEdge(edge.maker.name, edge.reader.name, edge.dataset)
            for edges in edges_by_node.values()
            for edge in edges
            if edge.maker in edges_by_node
        )
        return CloseGraphResult(names, tuple(dict.fromkeys(pairs)), notices)


def _projects_graph(close: Close, notices: tuple[Notice, ...]) -> CloseGraphResult:
    close.check_cycles()
    edges = (
        GraphEdge(dependency.maker, dependency.reader, dependency.dataset) for dependency in close.graph.dependencies
    )
    projects = tuple(GraphNode(project_id) for project_id in close.projects)
    return CloseGraphResult(projects, tuple(dict.fromkeys(edges)), notices)


@collection_paused()
def close_status(
    workspace: OpenedWorkspace,
    *,
    projects: Iterable[str] = (),
    period: str | None = None,
    ask: bool = False,
    look: bool = False,
) -> CloseStatus:
    """The state of every node of the active projects, or of those that are named.

    `ask` looks into databases, too; `look` reads files that changed, to find out which nodes they concern.

    Without a period, those of the periods that have been run.
    """
    files = CheckedFiles(workspace.read_definitions())
    if ask:
        _begin_for_tables_by_name(workspace, files)
    with (
        workspace.open_store_or_empty() as store,
        read_close(files, store, period=period, asks_databases=ask, looks=look) as close,
    ):
        return _status_of(close, files, projects)


@collection_paused()
def close_overview(
    workspace: OpenedWorkspace, *, period: str | None = None, recorded: RecordedRuns | None = None
) -> tuple[CloseStatus, CloseGraphResult]:
    """The state of every node and the projects' graph, of one look at the files and the store.

    `recorded` are runs that earlier looks have read.
    """
    files = CheckedFiles(workspace.read_definitions())
    with (
        workspace.open_store_or_empty() as store,
        read_close(files, store, period=period, recorded=recorded) as close,
    ):
        return _status_of(close, files), _projects_graph(close, _error_notices(files))


def _status_of(close: Close, files: CheckedFiles, projects: Iterable[str] = ()) -> CloseStatus:
    notices = (*_error_notices(files), *close.notices())
    if close.span is None:
        if (period := _periods_run(close)) is None:
            return CloseStatus((), notices=notices)
        close = close.within(period)
    span = close.span
    if span is None:
        raise AssertionError("a close within a period has a span")
    active = sorted(close.active_projects)
    named = tuple(projects)
    targets = sorted(close.select(named)[0]) if named else active
    close.check_cycles(active)
    nodes = close.nodes.nodes_in(span, targets)
    statuses = close.statuses(close.closure(nodes, span, frozenset(active)))
    span_nodes = frozenset(nodes)
    shown = tuple(status for node, status in statuses.items() if node in span_nodes)
    return CloseStatus(shown, close.nodes.left_out(span, targets), notices, _project_folders(files))


def _begin_for_tables_by_name(workspace: OpenedWorkspace, files: CheckedFiles) -> None:
    # Imported lazily: `status` asks no databases without `--ask`.
    from daybook.runs.environment import begin_for_tables_by_name

    begin_for_tables_by_name(files.workspace, workspace.session)


def _project_folders(files: CheckedFiles) -> dict[str, str]:
    root = files.workspace.root
    return {
        project_id: os.path.relpath(Path(definition.file).parent, root) if definition.file else "."
        for project_id, definition in files.workspace.definitions["project"].items()
    }


def _error_notices(files: CheckedFiles) -> tuple[Notice, ...]:
    """What is left out, when files have errors."""
    broken = files.files_with_errors
    return (notice("MODEL_089", files=", ".join(broken)),) if broken else ()


def _periods_run(close: Close) -> str | None:
    """From the first to the last period that has been run."""
    run_periods = [
        (period.start_date, period.identifier)
        for project_id, identifier in close.history.runs
        if project_id in close.projects and (period := close.nodes.calendar_of(project_id).find(identifier)) is not None
    ]
    if not run_periods:
        return None
    first, last = min(run_periods), max(run_periods)
    return first[1] if first == last else f"{first[1]}..{last[1]}"


@collection_paused()
def plan_close_build(workspace: OpenedWorkspace, request: "BuildRequest") -> "BuildPlan":
    """What `build_close` would run, and why."""
    from daybook.graph.build_plan import plan_build, plan_drafts

    _check_request(workspace, request)
    files = CheckedFiles(workspace.read_definitions())
    if request.is_draft:
        from daybook.runs.environment import open_run_environment, workspace_with_store_copy

        # What a draft would read is known after its files are applied; that is only tried here.
        with (
            workspace_with_store_copy(files.workspace) as copied,
            open_run_environment(
                copied, workspace.session, clock=workspace.clock, credential=workspace.credential
            ) as environment,
        ):
            return replace(plan_drafts(CheckedFiles(copied), environment, request), notices=_error_notices(files))
    _begin_for_tables_by_name(workspace, files)
    with (
        workspace.open_store_or_empty() as store,
        read_close(
            files,
            store,
            period=request.period,
            asks_databases=True,
            parameters=request.parameters,
        ) as close,
    ):
        plan = plan_build(close, request)
    return replace(plan, notices=(*_error_notices(files), *plan.notices))


def build_close(
    workspace: OpenedWorkspace, request: "BuildRequest", *, listener: BuildListener | None = None
) -> "BuildResult":
    """Bring projects and everything they need up to date; one Spark application runs all of it."""
    from daybook.graph.build import build

    _check_request(workspace, request)
    files = CheckedFiles(workspace.read_definitions())
    with workspace.open_run_environment() as environment:
        result = build(files, environment, request, listener or BuildListener())
    return replace(result, notices=(*_error_notices(files), *result.notices))


def _check_request(workspace: OpenedWorkspace, request: "BuildRequest") -> None:
    if request.jobs < 1:
        raise DaybookError("RUN_040", jobs=request.jobs)
    if request.is_draft and workspace.settings.sandbox is None:
        raise DaybookError("RUN_070")
