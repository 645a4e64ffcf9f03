"""`daybook requests`, `approve`, `reject` and `withdraw`: what needs the approval of other people."""

from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli.arguments import AsJson, ReasonOption
from daybook.cli.open_workspace import open_workspace, proven
from daybook.cli.terminal import echo, echo_difference, echo_json, echo_note, show_table

if TYPE_CHECKING:
    from daybook.runs.approvals.requests import ApprovalRequest

NumberArgument = Annotated[int, typer.Argument(metavar="NUMBER", help="As `daybook requests` lists it.", min=1)]


def requests(
    context: typer.Context,
    number: Annotated[int | None, typer.Argument(metavar="[NUMBER]", help="Show one request.", min=1)] = None,
    all_requests: Annotated[bool, typer.Option("--all", help="Also requests that have ended.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the requests that wait for approval, or show one with what it changes."""
    from daybook.workspace.approvals import list_requests, show_request

    workspace = open_workspace(context)
    if number is not None:
        request = show_request(workspace, number)
        if as_json:
            echo_json(request)
        else:
            _show_request(request)
        return
    listed = list_requests(workspace, all_requests=all_requests)
    if as_json:
        echo_json(listed)
        return
    if not listed:
        echo_note("no request waits for approval")
        return
    rows = [
        (
            str(request.number),
            request.act,
            request.subject,
            _status(request),
            request.requested_by,
            f"{request.requested_at:%Y-%m-%d %H:%M}",
            request.missing if request.status == "open" else "",
        )
        for request in listed
    ]
    titles = ("number", "act", "on", "status", "requested by", "time", "needs")
    show_table(titles, rows, right=(0,), fixed=(0, 1, 3, 4, 5))


def approve(
    context: typer.Context, number: NumberArgument, reason: ReasonOption = None, as_json: AsJson = False
) -> None:
    """Approve the request of another person.

    It needs proof of who you are: DAYBOOK_TOKEN, a prompt, or an account that is bound to you. The last approval does
    what was asked for; a drop or a seal is released by it, and done by its requester.
    """
    from daybook.workspace.approvals import approve_request

    _show_decided(proven(context, lambda workspace: approve_request(workspace, number, reason=reason)), as_json=as_json)


def reject(
    context: typer.Context, number: NumberArgument, reason: ReasonOption = None, as_json: AsJson = False
) -> None:
    """Reject the request of another person, with a reason."""
    from daybook.workspace.approvals import reject_request

    decided = proven(context, lambda workspace: reject_request(workspace, number, reason=reason or ""))
    _show_decided(decided, as_json=as_json)


def withdraw(
    context: typer.Context, number: NumberArgument, reason: ReasonOption = None, as_json: AsJson = False
) -> None:
    """Take back one's own request."""
    from daybook.workspace.approvals import withdraw_request

    decided = proven(context, lambda workspace: withdraw_request(workspace, number, reason=reason))
    _show_decided(decided, as_json=as_json)


def _status(request: "ApprovalRequest") -> str:
    return request.status if request.is_current else "changed since"


def _show_request(request: "ApprovalRequest") -> None:
    echo(f"request {request.number}: {request.act} {request.subject}, {_status(request)}")
    reason = f": {request.reason}" if request.reason else ""
    echo(f"requested by {request.requested_by}, {request.requested_at:%Y-%m-%d %H:%M}{reason}")
    for need in request.needs:
        echo(f"needs {need.sentence}: approved by {', '.join(need.approved_by) or 'nobody yet'}")
    for decision in request.decisions:
        word = "approved" if decision.verdict == "approve" else "rejected"
        why = f": {decision.reason}" if decision.reason else ""
        echo(f"{word} by {decision.person}, {decision.decided_at:%Y-%m-%d %H:%M}{why}")
    if request.ended_at is not None:
        why = f": {request.ended_reason}" if request.ended_reason else ""
        echo(f"{request.status} by {request.ended_by}, {request.ended_at:%Y-%m-%d %H:%M}{why}")
    echo("")
    for change in request.changes:
        echo(change.title)
        echo_difference(change.difference)
    if not request.is_current:
        echo_note("what it would change has changed since it was made: an approval makes it void")


def _show_decided(request: "ApprovalRequest", *, as_json: bool) -> None:
    if as_json:
        echo_json(request)
        return
    what = f"{request.act} {request.subject}"
    match request.status:
        case "done":
            echo(f"request {request.number} is approved: {what} is done")
        case "released":
            echo(f"request {request.number} is approved: {request.requested_by} can {what} now")
        case "open":
            echo(f"request {request.number} still needs {request.missing}")
        case "rejected" | "withdrawn" | "void":
            echo(f"request {request.number} is {request.status}")
