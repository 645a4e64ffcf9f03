"""Pages of actions: their list, what one will do, and performing it."""

from typing import Annotated, Any, get_args

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from daybook.errors import DaybookError
from daybook.web.access import address_with, check_csrf, local_path
from daybook.web.actions import ActionName, ActionRequest
from daybook.web.pages.form_fields import FormText, QueryText
from daybook.web.served import ActedBy, Served, ServedHere
from daybook.workspace.runs import list_actions

router = APIRouter()


def _named(name: str) -> ActionName:
    action: ActionName | None = next((candidate for candidate in get_args(ActionName) if candidate == name), None)
    if action is None:
        raise DaybookError("WEB_013", path=f"/actions/{name}")
    return action


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
    subject: QueryText = None,
    period: QueryText = None,
    project: Annotated[list[str] | None, Query()] = None,
    full: bool = False,
    draft: bool = False,
    next: QueryText = None,  # noqa: A002
) -> Response:
    """What an action will do, and the button that does it."""
    action = _request(name, subject, period, projects=tuple(project or ()), is_full=full, is_draft=draft)
    return served.templates.page(
        request,
        "confirm.html",
        title=f"{name} {action.subject}",
        asked=action,
        plan=_build_plan(served, action) if name == "build" else None,
        next=local_path(next),
    )


def _build_plan(served: Served, action: ActionRequest) -> Any:
    from daybook.graph.build_plan import BuildRequest
    from daybook.workspace.close import plan_close_build

    return plan_close_build(served.workspace, BuildRequest(action.subject, action.projects, is_full=action.is_full))


@router.post("/actions/{name}")
def perform(
    served: ServedHere,
    visitor: ActedBy,
    name: str,
    subject: FormText = None,
    period: FormText = None,
    project: Annotated[list[str] | None, Form()] = None,
    full: Annotated[bool, Form()] = False,
    draft: Annotated[bool, Form()] = False,
    reason: FormText = None,
    csrf: FormText = None,
    next: FormText = None,  # noqa: A002
) -> Response:
    check_csrf(visitor, csrf)
    action = _request(
        name,
        subject,
        period,
        projects=tuple(project or ()),
        is_full=full,
        is_draft=draft,
        reason=(reason or "").strip() or None,
    )
    done = served.actions.perform(action, visitor)
    served.recent.forget()
    if done.run_id is not None and action.name != "build":
        return RedirectResponse(f"/runs/{done.run_id}", 303)
    match action.name:
        case "build":
            target = address_with("/close", {"period": action.subject})
        case "close" | "lock":
            target = f"/periods/{action.subject}"
        case "activate":
            target = f"/definitions/project/{action.subject}"
        case _:
            target = local_path(next)
    return RedirectResponse(target, 303)
