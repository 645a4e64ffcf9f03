"""Requests, people and the policy over HTTP; deciding needs a personal token."""

from typing import Annotated

from fastapi import Body, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from daybook.runs.approvals.requests import ApprovalRequest
from daybook.store.records import Person
from daybook.web.access import Visitor, check_csrf
from daybook.web.api.answer import answered, answers, api_router
from daybook.web.served import ActedBy, Served, ServedHere
from daybook.workspace.approvals import (
    PolicyState,
    approve_request,
    list_people,
    list_requests,
    reject_request,
    show_policy,
    show_request,
    withdraw_request,
)
from daybook.workspace.open_workspace import OpenedWorkspace

router = api_router()
_Number = Annotated[int, Path(description="As `requests` lists it.", ge=1)]


class DecisionAsked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    reason: str | None = Field(default=None, max_length=1000)


class RejectionAsked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    reason: str = Field(min_length=1, max_length=1000)


@router.get("/requests", tags=["approvals"])
@answers(list[ApprovalRequest])
def requests(
    served: ServedHere,
    is_all: Annotated[bool, Query(alias="all", description="Also requests that have ended.")] = False,
) -> Response:
    """The requests that wait for approval, newest first."""
    return answered(list_requests(served.workspace, all_requests=is_all))


@router.get("/requests/{number}", tags=["approvals"])
@answers(ApprovalRequest)
def request_details(served: ServedHere, number: _Number) -> Response:
    """A request with what it changes, what it needs and what was decided."""
    return answered(show_request(served.workspace, number))


@router.post("/requests/{number}/approve", tags=["approvals"])
@answers(ApprovalRequest)
def approve(
    request: Request,
    served: ServedHere,
    visitor: ActedBy,
    number: _Number,
    asked: Annotated[DecisionAsked | None, Body()] = None,
) -> Response:
    """Approve the request of another person; the last approval performs the act, or releases it to its requester."""
    workspace = _workspace_of(request, served, visitor)
    return _decided(served, approve_request(workspace, number, reason=asked.reason if asked else None))


@router.post("/requests/{number}/reject", tags=["approvals"])
@answers(ApprovalRequest)
def reject(
    request: Request, served: ServedHere, visitor: ActedBy, number: _Number, asked: Annotated[RejectionAsked, Body()]
) -> Response:
    """Reject the request of another person."""
    return _decided(served, reject_request(_workspace_of(request, served, visitor), number, reason=asked.reason))


@router.post("/requests/{number}/withdraw", tags=["approvals"])
@answers(ApprovalRequest)
def withdraw(
    request: Request,
    served: ServedHere,
    visitor: ActedBy,
    number: _Number,
    asked: Annotated[DecisionAsked | None, Body()] = None,
) -> Response:
    """Take back one's own request."""
    workspace = _workspace_of(request, served, visitor)
    return _decided(served, withdraw_request(workspace, number, reason=asked.reason if asked else None))


@router.get("/people", tags=["approvals"])
@answers(list[Person])
def people(served: ServedHere) -> Response:
    """The people who can prove their identity, with their roles."""
    return answered(list_people(served.workspace))


@router.get("/policy", tags=["approvals"])
@answers(PolicyState)
def policy(served: ServedHere) -> Response:
    """The policy that daybook.yaml proposes, and the one in force."""
    return answered(show_policy(served.workspace))


def _workspace_of(request: Request, served: Served, visitor: Visitor) -> OpenedWorkspace:
    """The workspace for a visitor; a login by the form has to send its value, too."""
    check_csrf(visitor, request.headers.get("x-csrf"))
    return served.workspace.acted_by(visitor.name or "", visitor.login)


def _decided(served: Served, request: ApprovalRequest) -> Response:
    served.recent.forget()
    return answered(request)
