"""Actions over HTTP, if the server allows them, and the list of recorded actions."""

from typing import Annotated, Any, Literal

from fastapi import Body, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from daybook.web.access import Visitor, check_csrf
from daybook.web.actions import ActionRequest
from daybook.web.api.answer import Answer, RunId, answered, api_router
from daybook.web.served import ActedBy, Served, ServedHere
from daybook.workspace.history import list_actions
from daybook.workspace.json.results import action_as_json

router = api_router()


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
