"""Pages of actions: the description, a button, and the list of recorded actions."""

from typing import Annotated, Any, get_args

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from daybook.errors import DaybookError
from daybook.web.access import address_with, check_csrf, local_path
from daybook.web.actions import ActionName, ActionRequest
from daybook.web.served import ActedBy, Served, ServedHere
from daybook.workspace.history import list_actions

router = APIRouter()


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


@router.get("/actions")
def log(request: Request, served: ServedHere) -> Response:
    """What was done on the page."""
    return served.templates.page(
        request, "actions.html", title="Actions", actions=list_actions(served.workspace, limit=200)
    )


@router.get("/actions/{name}")
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


@router.post("/actions/{name}")
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
    done = served.actions.perform(asked, visitor)
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
