"""The page of requests: the changes of each, with the buttons to decide."""

from typing import Annotated, Literal, assert_never

from fastapi import APIRouter, Query, Request
from starlette.responses import RedirectResponse, Response

from daybook.web.access import check_csrf
from daybook.web.pages.form_fields import FormText
from daybook.web.served import ActedBy, AskedBy, ServedHere

router = APIRouter()


@router.get("/requests")
def requests(
    request: Request, served: ServedHere, visitor: AskedBy, is_all: Annotated[bool, Query(alias="all")] = False
) -> Response:
    from daybook.workspace.approvals import list_people, list_requests, show_policy

    roles = {person.name: set(person.roles) for person in list_people(served.workspace)}
    return served.templates.page(
        request,
        "requests.html",
        title="Requests",
        requests=list_requests(served.workspace, all_requests=is_all),
        is_all=is_all,
        # Which buttons are shown; a decision itself checks the roles again.
        roles=roles.get(visitor.name or "", set()),
        has_policy=show_policy(served.workspace).in_force is not None,
    )


@router.post("/requests/{number}/{decision}")
def decide(
    served: ServedHere,
    visitor: ActedBy,
    number: int,
    decision: Literal["approve", "reject", "withdraw"],
    reason: FormText = None,
    csrf: FormText = None,
) -> Response:
    from daybook.workspace.approvals import approve_request, reject_request, withdraw_request

    check_csrf(visitor, csrf)
    workspace, reason = served.workspace.acted_by(visitor.name or "", visitor.login), (reason or "").strip() or None
    match decision:
        case "approve":
            approve_request(workspace, number, reason=reason)
        case "reject":
            reject_request(workspace, number, reason=reason or "")
        case "withdraw":
            withdraw_request(workspace, number, reason=reason)
        case _:
            assert_never(decision)
    served.recent.forget()
    return RedirectResponse(f"/requests?all=true#request-{number}", 303)
