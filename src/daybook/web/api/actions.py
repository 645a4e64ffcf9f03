"""What users do over HTTP, if the server allows it: run, build, cancel, retry, activate, close and lock."""

from typing import Annotated, Literal

from fastapi import Body, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from daybook.store.records import Action
from daybook.web.access import Visitor, check_csrf
from daybook.web.actions import ActionRequest, ActionResult
from daybook.web.api.answer import (
    REQUEST_MADE_ANSWER,
    RunId,
    answered,
    answers,
    api_router,
)
from daybook.web.served import ActedBy, Served, ServedHere
from daybook.workspace.runs import list_actions

router = api_router()


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
