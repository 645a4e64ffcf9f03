"""`/api/v1`: what the command line prints with `--json`, from the same functions.

What needs the engine is imported when it is asked for, so that a server is there at once.
"""

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query
from fastapi.routing import APIRoute
from starlette.responses import Response

from daybook.web import answers
from daybook.web.problems import json_bytes
from daybook.web.served import ServedHere
from daybook.workspace.history import list_runs, show_definition, show_run
from daybook.workspace.periods import list_periods, show_period
from daybook.workspace.reference import explain_code
from daybook.workspace.result_json import (
    code_as_json,
    definition_as_json,
    period_as_json,
    run_details_as_json,
    run_listing_as_json,
)

PROBLEMS: Mapping[int | str, dict[str, Any]] = {
    "default": {
        "description": "What is wrong, with a code and the way out.",
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}


def _name_by_function(route: APIRoute) -> str:
    return route.name


router = APIRouter(responses=dict(PROBLEMS), generate_unique_id_function=_name_by_function)

RunId = Annotated[str, Path(description="As `runs` lists it.", max_length=64)]
ProjectFilter = Annotated[str | None, Query(description="Only of this project.", max_length=128)]
PeriodFilter = Annotated[str | None, Query(description="A period or a span: 2026-01..2026-03.", max_length=200)]
IfNoneMatch = Annotated[str | None, Header(description="The tag of an answer that is already known.")]


class Json(Response):
    media_type = "application/json"


def answered(value: Any, *, status: int = 200) -> Response:
    return Json(json_bytes(value), status)


def answered_once(value: Any, known: str | None) -> Response:
    """Something that does not change any more, with its tag; 304 for whoever has it."""
    body = json_bytes(value)
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    if known is not None and tag in {each.strip().removeprefix("W/") for each in known.split(",")}:
        return Response(status_code=304, headers={"ETag": tag})
    return Json(body, headers={"ETag": tag})


@router.get("/status", response_model=answers.Status, tags=["close"])
def status(
    served: ServedHere,
    period: PeriodFilter = None,
    ask: Annotated[bool, Query(description="Ask databases and catalogs, too.")] = False,
) -> Response:
    """Which numbers are up to date, and why others are not; without a period, of all that have been run."""
    from daybook.workspace.close import close_status
    from daybook.workspace.close_json import status_as_json

    return answered(status_as_json(close_status(served.workspace, period=period, ask=ask)))


@router.get("/graph", response_model=answers.Graph, response_model_exclude_none=True, tags=["close"])
def graph(served: ServedHere, period: PeriodFilter = None) -> Response:
    """Which projects read what others write; with a period, which projects and periods."""
    from daybook.workspace.close import close_graph
    from daybook.workspace.close_json import graph_as_json

    return answered(graph_as_json(close_graph(served.workspace, period=period)))


@router.get("/build-plan", response_model=answers.BuildPlan, tags=["close"])
def build_plan(
    served: ServedHere,
    period: Annotated[str, Query(description="A period or a span.", max_length=200)],
    project: Annotated[list[str] | None, Query(description="Projects; all active ones without any.")] = None,
    only: Annotated[bool, Query(description="Exactly these, not what they need.")] = False,
    full: Annotated[bool, Query(description="Run what is fresh, too.")] = False,
) -> Response:
    """What a build would run, and why."""
    from daybook.graph.build import BuildRequest
    from daybook.workspace.close import plan_close_build
    from daybook.workspace.close_json import build_plan_as_json

    request = BuildRequest(period, tuple(project or ()), only, full)
    return answered(build_plan_as_json(plan_close_build(served.workspace, request)))


@router.get("/runs", response_model=answers.Runs, tags=["runs"])
def runs(
    served: ServedHere,
    project: ProjectFilter = None,
    period: Annotated[str | None, Query(description="Only for this period.", max_length=200)] = None,
    status: Annotated[answers.RunStatus | None, Query(description="Only with this status.")] = None,
    limit: Annotated[int, Query(description="The most runs.", ge=1, le=1000)] = 20,
    after: Annotated[str | None, Query(description="`next` of the page before.", max_length=200)] = None,
) -> Response:
    """Runs, newest first."""
    listed = list_runs(served.workspace, project=project, period=period, status=status, limit=limit, after=after)
    return answered(run_listing_as_json(listed))


@router.get("/runs/{run_id}", response_model=answers.RunDetails, tags=["runs"])
def run(served: ServedHere, run_id: RunId, if_none_match: IfNoneMatch = None) -> Response:
    """Everything that is known of a run; one that has ended does not change any more."""
    found = show_run(served.workspace, run_id)
    data = run_details_as_json(found)
    return answered(data) if found.record.is_active else answered_once(data, if_none_match)


@router.get("/definitions/{kind}/{identifier}", response_model=answers.Definition, tags=["definitions"])
def definition(
    served: ServedHere,
    kind: answers.DefinitionKind,
    identifier: Annotated[str, Path(max_length=128)],
    version: Annotated[int | None, Query(description="A version; otherwise the latest.", ge=1)] = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """A definition as the store has it."""
    data = definition_as_json(show_definition(served.workspace, kind, identifier, version))
    return answered(data) if version is None else answered_once(data, if_none_match)


@router.get("/periods", response_model=list[answers.PeriodStatus], tags=["periods"])
def periods(
    served: ServedHere,
    year: Annotated[int | None, Query(description="By default this year.", ge=1, le=9999)] = None,
    level: Annotated[str | None, Query(description="By default all but single days.", max_length=64)] = None,
    calendar: Annotated[str | None, Query(max_length=128)] = None,
) -> Response:
    """The periods of a year with their status."""
    listed = list_periods(served.workspace, calendar=calendar, year=year, level=level)
    return answered([period_as_json(each) for each in listed])


@router.get("/periods/{identifier}", response_model=answers.PeriodStatus, tags=["periods"])
def period(
    served: ServedHere,
    identifier: Annotated[str, Path(max_length=128)],
    calendar: Annotated[str | None, Query(max_length=128)] = None,
) -> Response:
    """A period with its status and every change of it."""
    return answered(period_as_json(show_period(served.workspace, identifier, calendar=calendar)))


@router.get("/errors/{code}", response_model=answers.ErrorCode, tags=["reference"])
def error_code(code: Annotated[str, Path(max_length=32)], if_none_match: IfNoneMatch = None) -> Response:
    """What an error code means and what to do about it."""
    return answered_once(code_as_json(explain_code(code)), if_none_match)
