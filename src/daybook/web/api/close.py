"""The close over HTTP: status, graph, what a build would run, periods, and actions if the server allows them."""

from typing import Annotated, Any, Literal

from fastapi import Body, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from daybook.web.access import Visitor, check_csrf
from daybook.web.actions import ActionRequest
from daybook.web.api.answer import Answer, PeriodFilter, RunId, answered, api_router, shared_answer
from daybook.web.served import ActedBy, Served, ServedHere
from daybook.workspace.history import list_actions, list_periods, show_period
from daybook.workspace.json.results import action_as_json, period_as_json

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


class ActionDone(Answer):
    """`run` is the run that began or was changed; `changed` is false where it was so before."""

    action: str
    subject: str
    run: str | None
    changed: bool


class Action(Answer):
    done_at: str
    done_by: str
    name: str
    subject: str
    details: dict[str, Any]


class RunAsked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    project: str = Field(max_length=200)
    period: str = Field(max_length=200, description="A period, or a range.")
    draft: bool = False
    allow_empty: bool = False


class BuildAsked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    period: str = Field(max_length=200, description="A period or a range.")
    projects: list[str] = Field(default=[], description="By default all active ones.")
    full: bool = Field(default=False, description="Also run what is fresh.")
    allow_empty: bool = False


class PeriodChangeAsked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    reason: str | None = Field(default=None, max_length=1000)


def _do(served: Served, visitor: Visitor, request: Request, asked: ActionRequest, status: int) -> Response:
    """A login by the form has to send its value, too; a bearer token is enough by itself."""
    check_csrf(visitor, request.headers.get("x-csrf"))
    done = served.actions.perform(asked, visitor)
    served.recent.forget()
    return answered(
        {"action": done.name, "subject": done.subject, "run": done.run_id, "changed": done.changed}, status=status
    )


@router.post("/runs", response_model=ActionDone, status_code=202, tags=["actions"])
def begin_run(request: Request, served: ServedHere, visitor: ActedBy, asked: Annotated[RunAsked, Body()]) -> Response:
    """Begin a run; its id is answered as soon as it exists."""
    wanted = ActionRequest("run", asked.project, asked.period, is_draft=asked.draft, allow_empty=asked.allow_empty)
    return _do(served, visitor, request, wanted, 202)


@router.post("/builds", response_model=ActionDone, status_code=202, tags=["actions"])
def begin_build(
    request: Request, served: ServedHere, visitor: ActedBy, asked: Annotated[BuildAsked, Body()]
) -> Response:
    """Begin a build; how it goes is in `/status` and in the events of `/runs/events`."""
    wanted = ActionRequest(
        "build", asked.period, projects=tuple(asked.projects), is_full=asked.full, allow_empty=asked.allow_empty
    )
    return _do(served, visitor, request, wanted, 202)


@router.post("/runs/{run_id}/cancel", response_model=ActionDone, tags=["actions"])
def cancel_run(request: Request, served: ServedHere, visitor: ActedBy, run_id: RunId) -> Response:
    """Ask a run to stop."""
    return _do(served, visitor, request, ActionRequest("cancel", run_id), 200)


@router.post("/runs/{run_id}/retry", response_model=ActionDone, status_code=202, tags=["actions"])
def retry_run(request: Request, served: ServedHere, visitor: ActedBy, run_id: RunId) -> Response:
    """Continue a failed or cancelled run from its snapshot."""
    return _do(served, visitor, request, ActionRequest("retry", run_id), 202)


@router.post("/projects/{project_id}/activate", response_model=ActionDone, tags=["actions"])
def activate_project(
    request: Request, served: ServedHere, visitor: ActedBy, project_id: Annotated[str, Path(max_length=128)]
) -> Response:
    """Check a project and make it the version that runs."""
    return _do(served, visitor, request, ActionRequest("activate", project_id), 200)


def _add_period_change(change: Literal["close", "lock"], description: str) -> None:
    def change_period(
        request: Request,
        served: ServedHere,
        visitor: ActedBy,
        identifier: Annotated[str, Path(max_length=128)],
        asked: Annotated[PeriodChangeAsked | None, Body()] = None,
    ) -> Response:
        reason = asked.reason if asked else None
        return _do(served, visitor, request, ActionRequest(change, identifier, reason=reason), 200)

    router.add_api_route(
        f"/periods/{{identifier}}/{change}",
        change_period,
        methods=["POST"],
        name=f"{change}_period",
        description=description,
        response_model=ActionDone,
        tags=["actions"],
    )


_add_period_change("close", "Close a period: runs on it and inside it warn.")
_add_period_change("lock", "Lock a period: runs on it and inside it are refused.")


@router.get("/actions", response_model=list[Action], tags=["actions"])
def actions(served: ServedHere, limit: Annotated[int, Query(ge=1, le=1000)] = 50) -> Response:
    """What was done on the page, newest first."""
    return answered([action_as_json(each) for each in list_actions(served.workspace, limit=limit)])
