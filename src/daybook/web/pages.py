"""The pages: each asks one or two use cases and shows what they found."""

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from daybook.errors import DaybookError
from daybook.model.definition import DefinitionKind
from daybook.pictures.number_format import NEGATIVES
from daybook.runs.result import summarize_operations
from daybook.web.access import SESSION_SECONDS, check_csrf, local_path
from daybook.web.lineage_page import close_picture
from daybook.web.problems import status_of
from daybook.web.served import NEGATIVES_COOKIE, AskedBy, ServedHere
from daybook.workspace.history import (
    RUN_STATUSES,
    compare_versions,
    list_definitions,
    list_runs,
    show_definition,
    show_run,
)
from daybook.workspace.periods import list_periods, show_period
from daybook.workspace.reference import explain_code

router = APIRouter()

_SHORT_TEXT = Query(max_length=200)
_YEAR_SECONDS = 365 * 24 * 3600


def _written(text: str | None) -> str | None:
    """What a reader entered; an empty field means nothing."""
    return text.strip() or None if text else None


@router.get("/")
def start() -> Response:
    return RedirectResponse("/close", 303)


@router.get("/login")
def login_form(request: Request, served: ServedHere, next: Annotated[str | None, Query()] = None) -> Response:  # noqa: A002
    return served.templates.page(request, "login.html", title="Log in", next=local_path(next), problem=None)


@router.post("/login")
def log_in(
    request: Request,
    served: ServedHere,
    token: Annotated[str, Form(max_length=1000)] = "",
    next: Annotated[str | None, Form(max_length=8000)] = None,  # noqa: A002
) -> Response:
    access, target = served.access, local_path(next)
    try:
        name = access.name_of(token.strip(), access.address(request))
    except DaybookError as refusal:
        return served.templates.page(
            request, "login.html", http_status=status_of(refusal), title="Log in", next=target, problem=refusal
        )
    answer = RedirectResponse(target, 303)
    answer.set_cookie(
        access.site.cookie,
        access.log_in(name),
        max_age=SESSION_SECONDS,
        httponly=True,
        samesite="strict",
        secure=access.site.is_secure,
    )
    return answer


@router.post("/logout")
def log_out(
    request: Request, served: ServedHere, visitor: AskedBy, csrf: Annotated[str | None, Form()] = None
) -> Response:
    check_csrf(visitor, csrf)
    if (session_id := request.cookies.get(served.access.site.cookie)) is not None:
        served.access.log_out(session_id)
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(served.access.site.cookie)
    return answer


@router.post("/preferences")
def prefer(
    served: ServedHere,
    negatives: Annotated[str, Form(max_length=20)],
    next: Annotated[str | None, Form(max_length=8000)] = None,  # noqa: A002
) -> Response:
    answer = RedirectResponse(local_path(next), 303)
    if negatives in NEGATIVES:
        answer.set_cookie(
            NEGATIVES_COOKIE, negatives, max_age=_YEAR_SECONDS, samesite="strict", secure=served.access.site.is_secure
        )
    return answer


@router.get("/close")
def close(request: Request, served: ServedHere, period: Annotated[str | None, _SHORT_TEXT] = None) -> Response:
    period = _written(period)
    found, graph = served.status(period), served.graph()
    return served.templates.page(
        request,
        "close.html",
        title="Close",
        period=period,
        status=found,
        states={(each.node.project, each.node.period.identifier): each for each in found.nodes},
        graph=graph,
        picture=close_picture(graph, found),
        latest=list_runs(served.workspace, limit=10).runs,
        works=served.actions.works,
        events="/api/v1/runs/events",
    )


@router.get("/runs")
def runs(
    request: Request,
    served: ServedHere,
    project: Annotated[str | None, _SHORT_TEXT] = None,
    period: Annotated[str | None, _SHORT_TEXT] = None,
    status: Annotated[str | None, _SHORT_TEXT] = None,
    after: Annotated[str | None, _SHORT_TEXT] = None,
) -> Response:
    project, period, status = _written(project), _written(period), _written(status)
    listed = list_runs(served.workspace, project=project, period=period, status=status, limit=50, after=after)
    return served.templates.page(
        request,
        "runs.html",
        title="Runs",
        listed=listed,
        project=project,
        period=period,
        status=status,
        statuses=RUN_STATUSES,
        is_filtered=bool(project or period or status or after),
        events="/api/v1/runs/events" if after is None else None,
    )


@router.get("/runs/{run_id}")
def run(request: Request, served: ServedHere, run_id: str) -> Response:
    found = show_run(served.workspace, run_id)
    names = found.operation_names
    return served.templates.page(
        request,
        "run.html",
        title=f"{found.record.project_id} {found.record.period}",
        run=found,
        record=found.record,
        snapshot=found.snapshot,
        steps=tuple(summarize_operations(found.operations, names)),
        operations=found.snapshot["project"]["operations"],
        events=f"/api/v1/runs/{run_id}/events" if found.record.is_active else None,
    )


@router.get("/definitions")
def definitions(request: Request, served: ServedHere) -> Response:
    found = list_definitions(served.workspace)
    return served.templates.page(request, "definitions.html", title="Definitions", definitions=found)


@router.get("/definitions/{kind}/{identifier}")
def definition(
    request: Request,
    served: ServedHere,
    kind: DefinitionKind,
    identifier: str,
    version: Annotated[int | None, Query(ge=1)] = None,
    since: Annotated[int | None, Query(ge=1)] = None,
) -> Response:
    found = show_definition(served.workspace, kind, identifier, version)
    shown = found.definition.version
    difference = compare_versions(served.workspace, kind, identifier, since, shown) if since else None
    runs = list_runs(served.workspace, project=identifier, limit=10).runs if kind == "project" else ()
    return served.templates.page(
        request,
        "definition.html",
        title=f"{kind} {identifier}",
        found=found,
        stored=found.definition,
        is_latest=found.definition.is_latest,
        difference=difference,
        runs=runs,
    )


@router.get("/periods")
def periods(
    request: Request,
    served: ServedHere,
    year: Annotated[int | None, Query(ge=1, le=9999)] = None,
    calendar: Annotated[str | None, _SHORT_TEXT] = None,
) -> Response:
    year = year or served.workspace.clock().year
    found = list_periods(served.workspace, year=year, calendar=_written(calendar))
    return served.templates.page(request, "periods.html", title="Periods", periods=found, year=year)


@router.get("/periods/{identifier}")
def period(
    request: Request, served: ServedHere, identifier: str, calendar: Annotated[str | None, _SHORT_TEXT] = None
) -> Response:
    found = show_period(served.workspace, identifier, calendar=_written(calendar))
    return served.templates.page(
        request,
        "period.html",
        title=f"Period {identifier}",
        found=found,
        status=served.status(identifier),
        runs=list_runs(served.workspace, period=identifier, limit=50).runs,
    )


@router.get("/errors/{code}")
def error_code(request: Request, served: ServedHere, code: str) -> Response:
    return served.templates.page(request, "error_code.html", title=code, code=explain_code(code))
