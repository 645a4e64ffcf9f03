"""The close over HTTP: status, graph, what a build would run, and periods."""

from typing import Annotated, Literal

from fastapi import Path, Query
from pydantic import ConfigDict, Field
from starlette.responses import Response

from daybook.web.api.answer import Answer, PeriodFilter, answered, api_router, shared_answer
from daybook.web.served import ServedHere
from daybook.workspace.json.results import period_as_json
from daybook.workspace.periods import list_periods, show_period

router = api_router()


NodeState = Literal["fresh", "stale", "never", "failed", "running", "blocked"]


class NodeStatus(Answer):
    project: str
    period: str
    state: NodeState
    is_locked: bool
    run: str | None
    reasons: list[str]


class Status(Answer):
    nodes: list[NodeStatus]


class GraphNode(Answer):
    project: str
    period: str | None = None


class GraphEdge(Answer):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    maker: str = Field(alias="from")
    reader: str = Field(alias="to")
    dataset: str


class Graph(Answer):
    nodes: list[GraphNode]
    edges: list[GraphEdge]


class PlannedNode(NodeStatus):
    will_run: bool
    why: list[str]


class BuildPlan(Answer):
    nodes: list[PlannedNode]
    left_out: list[str]


class PeriodChangeEntry(Answer):
    status: str
    changed_at: str
    changed_by: str | None
    reason: str | None


class PeriodStatus(Answer):
    identifier: str
    level: str
    start_date: str
    end_date: str
    calendar_id: str
    status: Literal["open", "closed", "locked"]
    because_of: str | None
    changed_at: str | None
    changed_by: str | None
    history: list[PeriodChangeEntry]


@router.get("/status", response_model=Status, tags=["close"])
def status(
    served: ServedHere,
    period: PeriodFilter = None,
    ask: Annotated[bool, Query(description="Also ask databases and catalogs.")] = False,
) -> Response:
    """Which numbers are up to date, and why others are not; without a period, of all that have been run."""
    from daybook.workspace.json.close import status_as_json

    found = served.status(period, ask=ask)
    return shared_answer(served, ("status", period, ask), found, status_as_json)


@router.get("/graph", response_model=Graph, response_model_exclude_none=True, tags=["close"])
def graph(served: ServedHere, period: PeriodFilter = None) -> Response:
    """Which projects read what others write; with a period, which projects and periods."""
    from daybook.workspace.json.close import graph_as_json

    return shared_answer(served, ("graph", period), served.graph(period), graph_as_json)


@router.get("/build-plan", response_model=BuildPlan, tags=["close"])
def build_plan(
    served: ServedHere,
    period: Annotated[str, Query(description="A period or a range.", max_length=200)],
    project: Annotated[list[str] | None, Query(description="Projects; by default all active ones.")] = None,
    only: Annotated[bool, Query(description="Only these, not what they need.")] = False,
    full: Annotated[bool, Query(description="Also run what is fresh.")] = False,
) -> Response:
    """What a build would run, and why."""
    from daybook.graph.build import BuildRequest
    from daybook.workspace.close import plan_close_build
    from daybook.workspace.json.close import build_plan_as_json

    request = BuildRequest(period, tuple(project or ()), only, full)
    return answered(build_plan_as_json(plan_close_build(served.workspace, request)))


@router.get("/periods", response_model=list[PeriodStatus], tags=["periods"])
def periods(
    served: ServedHere,
    year: Annotated[int | None, Query(description="By default this year.", ge=1, le=9999)] = None,
    level: Annotated[str | None, Query(description="By default all except days.", max_length=64)] = None,
    calendar: Annotated[str | None, Query(max_length=128)] = None,
) -> Response:
    """The periods of a year with their status."""
    listed = list_periods(served.workspace, calendar=calendar, year=year, level=level)
    return answered([period_as_json(each) for each in listed])


@router.get("/periods/{identifier}", response_model=PeriodStatus, tags=["periods"])
def period(
    served: ServedHere,
    identifier: Annotated[str, Path(max_length=128)],
    calendar: Annotated[str | None, Query(max_length=128)] = None,
) -> Response:
    """A period with its status and every change of it."""
    return answered(period_as_json(show_period(served.workspace, identifier, calendar=calendar)))
