"""Pages and API of actions: first what will happen, then a button, then the record of who did it."""

from typing import Annotated, Any, get_args

from fastapi import APIRouter, Body, Form, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import RedirectResponse, Response

from daybook.errors import DaybookError
from daybook.web import answers
from daybook.web.access import Visitor, check_csrf, local_path
from daybook.web.actions import ActionName, ActionRequest
from daybook.web.api import PROBLEMS, answered
from daybook.web.served import ActedBy, Served, ServedHere
from daybook.web.trail import address_with
from daybook.workspace.history import list_actions
from daybook.workspace.json.results import action_as_json

pages = APIRouter()
api = APIRouter(responses=dict(PROBLEMS), tags=["actions"], generate_unique_id_function=lambda route: route.name)

_Text = Annotated[str | None, Query(max_length=200)]
_FormText = Annotated[str | None, Form(max_length=1000)]


def _named(name: str) -> ActionName:
    found: ActionName | None = next((each for each in get_args(ActionName) if each == name), None)
    if found is None:
        raise DaybookError("WEB_013", path=f"/actions/{name}")
    return found


def _request(name: str, subject: str | None, period: str | None, **more: Any) -> ActionRequest:
    subject, period = (subject or "").strip(), (period or "").strip() or None
    if not subject:
        raise DaybookError("WEB_015", argument="subject", reason="it is missing")
    if name == "run" and period is None:
        raise DaybookError("WEB_015", argument="period", reason="it is missing")
    return ActionRequest(_named(name), subject, period, **more)


@pages.get("/actions")
def log(request: Request, served: ServedHere) -> Response:
    """What was done on the page."""
    return served.templates.page(
        request, "actions.html", title="Actions", actions=list_actions(served.workspace, limit=200)
    )


@pages.get("/actions/{name}")
def confirm(
    request: Request,
    served: ServedHere,
    visitor: ActedBy,
    name: str,
    subject: _Text = None,
    period: _Text = None,
    project: Annotated[list[str] | None, Query()] = None,
    full: bool = False,
    draft: bool = False,
    next: _Text = None,  # noqa: A002
) -> Response:
    """What an action will do, and the button that does it."""
    asked = _request(name, subject, period, projects=tuple(project or ()), is_full=full, is_draft=draft)
    return served.templates.page(
        request,
        "confirm.html",
        title=f"{name} {asked.subject}",
        asked=asked,
        plan=_build_plan(served, asked) if name == "build" else None,
        next=local_path(next),
    )


def _build_plan(served: Served, asked: ActionRequest) -> Any:
    from daybook.graph.build import BuildRequest
    from daybook.workspace.close import plan_close_build

    return plan_close_build(served.workspace, BuildRequest(asked.subject, asked.projects, is_full=asked.is_full))


@pages.post("/actions/{name}")
def perform(
    served: ServedHere,
    visitor: ActedBy,
    name: str,
    subject: _FormText = None,
    period: _FormText = None,
    project: Annotated[list[str] | None, Form()] = None,
    full: Annotated[bool, Form()] = False,
    draft: Annotated[bool, Form()] = False,
    reason: _FormText = None,
    csrf: _FormText = None,
    next: _FormText = None,  # noqa: A002
) -> Response:
    check_csrf(visitor, csrf)
    asked = _request(
        name,
        subject,
        period,
        projects=tuple(project or ()),
        is_full=full,
        is_draft=draft,
        reason=(reason or "").strip() or None,
    )
    done = served.actions.perform(asked, _name_of(visitor))
    served.recent.forget()
    if done.run_id is not None and asked.name != "build":
        return RedirectResponse(f"/runs/{done.run_id}", 303)
    match asked.name:
        case "build":
            target = address_with("/close", {"period": asked.subject})
        case "close" | "lock":
            target = f"/periods/{asked.subject}"
        case "activate":
            target = f"/definitions/project/{asked.subject}"
        case _:
            target = local_path(next)
    return RedirectResponse(target, 303)


def _name_of(visitor: Visitor) -> str:
    if visitor.name is None:
        raise DaybookError("WEB_005")
    return visitor.name


class RunAsked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    project: str = Field(max_length=200)
    period: str = Field(max_length=200, description="A period, or a range.")
    draft: bool = False
    allow_empty: bool = False


class BuildAsked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    period: str = Field(max_length=200, description="A period or a span.")
    projects: list[str] = Field(default=[], description="All active ones without any.")
    full: bool = Field(default=False, description="Run what is fresh, too.")
    allow_empty: bool = False


class PeriodChangeAsked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    reason: str | None = Field(default=None, max_length=1000)


RunId = Annotated[str, Path(max_length=64)]


def _do(served: Served, visitor: Visitor, request: Request, asked: ActionRequest, status: int) -> Response:
    """A login by the form has to send its value, too; a bearer token is enough by itself."""
    check_csrf(visitor, request.headers.get("x-csrf"))
    done = served.actions.perform(asked, _name_of(visitor))
    served.recent.forget()
    return answered(
        {"action": done.name, "subject": done.subject, "run": done.run_id, "changed": done.changed}, status=status
    )


@api.post("/runs", response_model=answers.ActionDone, status_code=202)
def begin_run(request: Request, served: ServedHere, visitor: ActedBy, asked: Annotated[RunAsked, Body()]) -> Response:
    """Begin a run; its id is answered as soon as it exists."""
    wanted = ActionRequest("run", asked.project, asked.period, is_draft=asked.draft, allow_empty=asked.allow_empty)
    return _do(served, visitor, request, wanted, 202)


@api.post("/builds", response_model=answers.ActionDone, status_code=202)
def begin_build(
    request: Request, served: ServedHere, visitor: ActedBy, asked: Annotated[BuildAsked, Body()]
) -> Response:
    """Begin a build; how it goes is in `/status` and in the events of `/runs/events`."""
    wanted = ActionRequest(
        "build", asked.period, projects=tuple(asked.projects), is_full=asked.full, allow_empty=asked.allow_empty
    )
    return _do(served, visitor, request, wanted, 202)


@api.post("/runs/{run_id}/cancel", response_model=answers.ActionDone)
def cancel_run(request: Request, served: ServedHere, visitor: ActedBy, run_id: RunId) -> Response:
    """Ask a run to stop."""
    return _do(served, visitor, request, ActionRequest("cancel", run_id), 200)


@api.post("/runs/{run_id}/retry", response_model=answers.ActionDone, status_code=202)
def retry_run(request: Request, served: ServedHere, visitor: ActedBy, run_id: RunId) -> Response:
    """Continue a failed or cancelled run from its snapshot."""
    return _do(served, visitor, request, ActionRequest("retry", run_id), 202)


@api.post("/projects/{project_id}/activate", response_model=answers.ActionDone)
def activate_project(
    request: Request, served: ServedHere, visitor: ActedBy, project_id: Annotated[str, Path(max_length=128)]
) -> Response:
    """Check a project and make it the version that runs."""
    return _do(served, visitor, request, ActionRequest("activate", project_id), 200)


@api.post("/periods/{identifier}/close", response_model=answers.ActionDone)
def close_period(
    request: Request,
    served: ServedHere,
    visitor: ActedBy,
    identifier: Annotated[str, Path(max_length=128)],
    asked: Annotated[PeriodChangeAsked | None, Body()] = None,
) -> Response:
    """Close a period: runs on it and inside it warn."""
    reason = asked.reason if asked else None
    return _do(served, visitor, request, ActionRequest("close", identifier, reason=reason), 200)


@api.post("/periods/{identifier}/lock", response_model=answers.ActionDone)
def lock_period(
    request: Request,
    served: ServedHere,
    visitor: ActedBy,
    identifier: Annotated[str, Path(max_length=128)],
    asked: Annotated[PeriodChangeAsked | None, Body()] = None,
) -> Response:
    """Lock a period: runs on it and inside it are refused."""
    reason = asked.reason if asked else None
    return _do(served, visitor, request, ActionRequest("lock", identifier, reason=reason), 200)


@api.get("/actions", response_model=list[answers.Action])
def actions(served: ServedHere, limit: Annotated[int, Query(ge=1, le=1000)] = 50) -> Response:
    """What was done on the page, newest first."""
    return answered([action_as_json(each) for each in list_actions(served.workspace, limit=limit)])
