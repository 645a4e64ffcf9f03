"""The close over HTTP: status, graph, what a build would run, periods, and actions if the server allows them."""

from typing import Annotated, Any, Literal

from fastapi import Body, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from daybook.store.records import Action
from daybook.web.access import Visitor, check_csrf
from daybook.web.actions import ActionRequest, ActionResult
from daybook.web.api.answer import (
    REQUEST_MADE_ANSWER,
    PeriodFilter,
    RunId,
    answered,
    answers,
    api_router,
    shared_answer,
)
from daybook.web.served import ActedBy, Served, ServedHere
from daybook.workspace.close import CloseGraphResult, CloseStatus
from daybook.workspace.periods import PeriodListing, list_periods, show_period
from daybook.workspace.runs import list_actions

router = api_router()


def _build_plan() -> Any:
    from daybook.graph.build_plan import BuildPlan

    return BuildPlan


@router.get("/status", tags=["close"])
@answers(CloseStatus)
def status(
    served: ServedHere,
    period: PeriodFilter = None,
    ask: Annotated[bool, Query(description="Also ask databases and catalogs.")] = False,
    look: Annotated[bool, Query(description="Read files that changed, to find out whom they concern.")] = False,
    project: Annotated[list[str] | None, Query(description="Projects or patterns; by default all active ones.")] = None,
) -> Response:
    """Which numbers are up to date, and why others are not; without a period, of all that have been run."""
    projects = tuple(project or ())
    answer = served.status(period, ask=ask, look=look, projects=projects)
    return shared_answer(served, ("status", period, ask, look, projects), answer)


@router.get("/graph", tags=["close"])
@answers(CloseGraphResult)
def graph(served: ServedHere, period: PeriodFilter = None) -> Response:
    """Which projects read what others write; with a period, which projects and periods."""
    return shared_answer(served, ("graph", period), served.graph(period))


@router.get("/build-plan", tags=["close"])
@answers(_build_plan)
def build_plan(
    served: ServedHere,
    period: Annotated[str, Query(description="A period or a range.", max_length=200)],
    project: Annotated[list[str] | None, Query(description="Projects; by default all active ones.")] = None,
    only: Annotated[bool, Query(description="Only these, not what they need.")] = False,
    full: Annotated[bool, Query(description="Also run what is fresh.")] = False,
) -> Response:
    """What a build would run, and why."""
    from daybook.graph.build_plan import BuildRequest
    from daybook.workspace.close import plan_close_build

    request = BuildRequest(period, tuple(project or ()), only, full)
    return answered(plan_close_build(served.workspace, request))


@router.get("/periods", tags=["periods"])
@answers(list[PeriodListing])
def periods(
    served: ServedHere,
    year: Annotated[int | None, Query(description="By default this year.", ge=1, le=9999)] = None,
    level: Annotated[str | None, Query(description="By default all except days.", max_length=64)] = None,
    calendar: Annotated[str | None, Query(max_length=128)] = None,
) -> Response:
    """The periods of a year with their status."""
    return answered(list_periods(served.workspace, calendar=calendar, year=year, level=level))


@router.get("/periods/{identifier}", tags=["periods"])
@answers(PeriodListing)
def period(
    served: ServedHere,
    identifier: Annotated[str, Path(max_length=128)],
    calendar: Annotated[str | None, Query(max_length=128)] = None,
) -> Response:
    """A period with its status and every change of it."""
    return answered(show_period(served.workspace, identifier, calendar=calendar))


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


def _do(served: Served, visitor: Visitor, request: Request, action: ActionRequest, status: int) -> Response:
    """A login by the form has to send its value, too; a bearer token is enough by itself."""
    check_csrf(visitor, request.headers.get("x-csrf"))
    done = served.actions.perform(action, visitor)
    served.recent.forget()
    return answered(done, status=status)


@router.post("/runs", status_code=202, tags=["actions"])
@answers(ActionResult)
def begin_run(request: Request, served: ServedHere, visitor: ActedBy, asked: Annotated[RunAsked, Body()]) -> Response:
    """Begin a run; its id is answered as soon as it exists."""
    action = ActionRequest("run", asked.project, asked.period, is_draft=asked.draft, allow_empty=asked.allow_empty)
    return _do(served, visitor, request, action, 202)


@router.post("/builds", status_code=202, tags=["actions"])
@answers(ActionResult)
def begin_build(
    request: Request, served: ServedHere, visitor: ActedBy, asked: Annotated[BuildAsked, Body()]
) -> Response:
    """Begin a build; how it goes is in `/status` and in the events of `/runs/events`."""
    action = ActionRequest(
        "build", asked.period, projects=tuple(asked.projects), is_full=asked.full, allow_empty=asked.allow_empty
    )
    return _do(served, visitor, request, action, 202)


@router.post("/runs/{run_id}/cancel", tags=["actions"])
@answers(ActionResult)
def cancel_run(request: Request, served: ServedHere, visitor: ActedBy, run_id: RunId) -> Response:
    """Ask a run to stop."""
    return _do(served, visitor, request, ActionRequest("cancel", run_id), 200)


@router.post("/runs/{run_id}/retry", status_code=202, tags=["actions"])
@answers(ActionResult)
def retry_run(request: Request, served: ServedHere, visitor: ActedBy, run_id: RunId) -> Response:
    """Continue a failed or cancelled run from its snapshot."""
    return _do(served, visitor, request, ActionRequest("retry", run_id), 202)


@router.post("/projects/{project_id}/activate", tags=["actions"], responses=REQUEST_MADE_ANSWER)
@answers(ActionResult)
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
        answers(ActionResult)(change_period),
        methods=["POST"],
        name=f"{change}_period",
        description=description,
        tags=["actions"],
        responses=REQUEST_MADE_ANSWER if change == "lock" else None,
    )


_add_period_change("close", "Close a period: runs on it and inside it warn.")
_add_period_change("lock", "Lock a period: runs on it and inside it are refused.")


@router.get("/actions", tags=["actions"])
@answers(list[Action])
def actions(served: ServedHere, limit: Annotated[int, Query(ge=1, le=1000)] = 50) -> Response:
    """What was done on the page, newest first."""
    return answered(list_actions(served.workspace, limit=limit))
