"""What a build would run: the nodes that are not fresh or are named, with the reasons."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from daybook.errors import DaybookError, Notice, raise_all
from daybook.errors.error import did_you_mean
from daybook.graph.close import Close, NodeStatus, read_close
from daybook.graph.drafts import find_fresh_draft
from daybook.graph.nodes import Edge, Node, in_order
from daybook.model.json_fields import Hidden, Merged
from daybook.model.parameter import ParametersByProject, given_values
from daybook.resolve.project_files import CheckedFiles
from daybook.runs.attempt.prepare import prepare_runs
from daybook.runs.attempt.run_request import RunRequest, check_request
from daybook.runs.environment import RunEnvironment


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
    parameters: ParametersByProject = field(default_factory=dict)


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


def plan_build(close: Close, request: BuildRequest) -> BuildPlan:
    """What a build would do, as far as that is known before its first run."""
    plan = planned_nodes(close, request, *selected_nodes(close, request))
    check_required_parameters(close, request, plan)
    return plan


def planned_nodes(
    close: Close, request: BuildRequest, edges: Mapping[Node, tuple[Edge, ...]], left_out: tuple[str, ...]
) -> BuildPlan:
    statuses = close.statuses(edges)
    notices = build_notices(close, request)
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
        elif request.is_full or fresh_draft(files, environment, node_request(request, node)) is None:
            will_run[node] = why
    nodes = (
        replace(planned, will_run=planned.status.node in will_run, why=will_run.get(planned.status.node, ()))
        for planned in plan.nodes
    )
    return replace(plan, nodes=tuple(nodes))


def fresh_draft(files: CheckedFiles, environment: RunEnvironment, request: RunRequest) -> str | None:
    """The draft whose result in the sandbox is what a run would write now."""
    try:
        (prepared,) = prepare_runs(environment, check_request(files, request))
    except DaybookError:
        # The run says what is wrong.
        return None
    with environment.store.read() as transaction:
        return find_fresh_draft(transaction, prepared, environment.root, environment.storage)


def node_request(request: BuildRequest, node: Node, build_id: str | None = None) -> RunRequest:
    return RunRequest(
        node.project,
        node.period.identifier,
        is_draft=request.is_draft,
        allow_empty=request.allow_empty,
        build_id=build_id,
        parameters=request.parameters.get(node.project, {}),
    )


def build_notices(close: Close, request: BuildRequest) -> tuple[Notice, ...]:
    return () if request.projects or request.is_draft else close.notices()


def selected_nodes(close: Close, request: BuildRequest) -> tuple[dict[Node, tuple[Edge, ...]], tuple[str, ...]]:
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


def missing_parameters(close: Close, request: BuildRequest, project_id: str) -> list[DaybookError]:
    """Values that a run of the project would need and that are not given."""
    values = request.parameters.get(project_id, {})
    return [
        DaybookError("RUN_049", name=name, project=project_id, type=parameter.type)
        for name, parameter in close.projects[project_id].project.parameters.items()
        if parameter.default is None and name not in values
    ]


def check_required_parameters(close: Close, request: BuildRequest, plan: BuildPlan) -> None:
    """Nothing runs before every project that will run has its values."""
    projects = dict.fromkeys(node.project for node in plan.will_run)
    raise_all(error for project_id in projects for error in missing_parameters(close, request, project_id))
