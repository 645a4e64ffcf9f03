"""`/api/v1`: what the command line prints with `--json`, from the same functions.

What needs the engine is imported when it is asked for, so that a server is there at once.
"""

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from daybook.errors import DaybookError
from daybook.web import answers
from daybook.web.access import checked_project_id
from daybook.web.number_pages import csv_response, numbers_request
from daybook.web.problems import json_bytes
from daybook.web.questions import Question
from daybook.web.served import ServedHere
from daybook.workspace.history import compare_versions, list_definitions, list_runs, show_definition, show_run
from daybook.workspace.json.results import (
    code_as_json,
    definition_as_json,
    definition_summary_as_json,
    period_as_json,
    run_details_as_json,
    run_listing_as_json,
    version_difference_as_json,
)
from daybook.workspace.periods import list_periods, show_period
from daybook.workspace.reference import explain_code

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
    from daybook.workspace.json.close import status_as_json

    return answered(status_as_json(served.status(period, ask=ask)))


@router.get("/graph", response_model=answers.Graph, response_model_exclude_none=True, tags=["close"])
def graph(served: ServedHere, period: PeriodFilter = None) -> Response:
    """Which projects read what others write; with a period, which projects and periods."""
    from daybook.workspace.json.close import graph_as_json

    return answered(graph_as_json(served.graph(period)))


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
    from daybook.workspace.json.close import build_plan_as_json

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


@router.get("/definitions", response_model=list[answers.DefinitionSummary], tags=["definitions"])
def definitions(served: ServedHere) -> Response:
    """Every definition of the store with its latest version and its status."""
    return answered([definition_summary_as_json(each) for each in list_definitions(served.workspace)])


@router.get(
    "/definitions/{kind}/{identifier}/difference", response_model=answers.VersionDifference, tags=["definitions"]
)
def definition_difference(
    served: ServedHere,
    kind: answers.DefinitionKind,
    identifier: Annotated[str, Path(max_length=128)],
    before: Annotated[int, Query(ge=1)],
    after: Annotated[int, Query(ge=1)],
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Two versions of a definition as YAML, line by line."""
    found = compare_versions(served.workspace, kind, identifier, before, after)
    return answered_once(version_difference_as_json(found), if_none_match)


Where = Annotated[
    list[str] | None, Query(description='Conditions such as `["amount", ">=", 100]` or `["region", "is_null"]`.')
]
Sort = Annotated[list[str] | None, Query(description="Columns; `-amount` is from large to small.")]
Seq = Annotated[int, Path(description="The seq of the output.", ge=0)]


@router.get("/runs/{run_id}/outputs", response_model=list[answers.Output], tags=["numbers"])
def outputs(served: ServedHere, run_id: RunId) -> Response:
    """What a run has committed, in the order of its operations."""
    from daybook.workspace.json.results import output_as_json
    from daybook.workspace.numbers import list_outputs

    return answered([output_as_json(each) for each in list_outputs(served.workspace, run_id)])


@router.get("/runs/{run_id}/outputs/{seq}/rows", response_model=answers.Numbers, tags=["numbers"])
def output_rows(
    served: ServedHere,
    run_id: RunId,
    seq: Seq,
    where: Where = None,
    sort: Sort = None,
    offset: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=0, le=1000)] = 50,
    totals: Annotated[bool, Query(description="Whether all rows are summed up.")] = True,
) -> Response:
    """One page of the rows of an output, without Spark."""
    from daybook.workspace.json.results import numbers_as_json
    from daybook.workspace.numbers import read_numbers

    request = numbers_request(run_id, seq, where or [], sort or [], offset=offset, limit=limit, has_totals=totals)
    return answered(numbers_as_json(read_numbers(served.workspace, request)))


@router.get(
    "/runs/{run_id}/outputs/{seq}/rows.csv",
    tags=["numbers"],
    response_class=Response,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "All rows as CSV."}},
)
def output_csv(served: ServedHere, run_id: RunId, seq: Seq, where: Where = None, sort: Sort = None) -> Response:
    """All rows of an output that fulfil the conditions."""
    return csv_response(served, numbers_request(run_id, seq, where or [], sort or []))


async def _answer(request: Request, served: ServedHere, question: Question) -> Any:
    """Wait for an answer; when the client has gone and nobody else waits, the question is cancelled."""
    question.listeners += 1
    try:
        while not await asyncio.to_thread(question.wait, 0.5):
            if await request.is_disconnected():
                if question.listeners == 1 and not question.is_shown:
                    served.questions.cancel(question)
                raise DaybookError("WEB_016")
    finally:
        question.listeners -= 1
    return question.result()


@router.get("/runs/{run_id}/explain/{operation}", response_model=answers.NumberExplanation, tags=["numbers"])
async def explain(
    request: Request,
    served: ServedHere,
    run_id: RunId,
    operation: Annotated[str, Path(description="The id or the seq of an operation.", max_length=128)],
    key: Annotated[list[str] | None, Query(description="COLUMN=VALUE as often as needed; COLUMN= is NULL.")] = None,
    limit: Annotated[int, Query(description="The most rows of each level.", ge=1, le=10_000)] = 20,
    depth: Annotated[
        int | None, Query(description="How many levels; without it, down to the lines of the sources.", ge=1, le=100)
    ] = None,
    column: Annotated[list[str] | None, Query(description="Columns to show beside the usual ones.")] = None,
) -> Response:
    """The rows behind a number, computed again from the snapshot of its run; Spark is started where it has to be."""
    from daybook.runs.explain.row_keys import parse_keys
    from daybook.workspace.execution import explain_number
    from daybook.workspace.json.results import number_explanation_as_json

    keys, columns = parse_keys(key or []), tuple(column or ())
    question = served.questions.ask(
        ("explain", run_id, operation, tuple(keys.items()), limit, depth, columns),
        f"Rows of operation {operation} of run {run_id}",
        lambda workspace, _: explain_number(
            workspace, run_id, operation, keys, limit=limit, depth=depth, columns=columns
        ),
    )
    return answered(number_explanation_as_json(await _answer(request, served, question)))


@router.get("/lineage", response_model=answers.Lineage, tags=["lineage"])
def lineage(
    served: ServedHere,
    project: ProjectFilter = None,
    column: Annotated[list[str] | None, Query(description="Written columns of the project.")] = None,
    downstream: Annotated[str | None, Query(description="DATASET.COLUMN: what comes from it.", max_length=300)] = None,
    to_start: Annotated[bool, Query(alias="all", description="Through other projects.")] = False,
) -> Response:
    """Which input columns every written column comes from, and how."""
    from daybook.workspace.json.lineage import lineage_as_json
    from daybook.workspace.lineage import trace_columns

    if project is not None:
        checked_project_id(project)
    found = trace_columns(served.workspace, project, tuple(column or ()), downstream=downstream, to_start=to_start)
    return answered(lineage_as_json(found))


@router.get("/bridge", response_model=answers.Bridge, tags=["compare"])
async def bridge(
    request: Request,
    served: ServedHere,
    a: Annotated[str, Query(description="A run, or PROJECT@PERIOD.", max_length=300)],
    b: Annotated[str, Query(description="The other.", max_length=300)],
    measure: Annotated[str, Query(description="The column whose total moved.", max_length=300)],
    output: Annotated[str | None, Query(description="By destination, id or seq.", max_length=300)] = None,
    rows: Annotated[int | None, Query(description="The operation that made the rows.", ge=0)] = None,
    by: Annotated[list[str] | None, Query(description="A bridge for each group, too.")] = None,
    order: Annotated[list[str] | None, Query(description="What is swapped first: kinds, or KIND:NAME.")] = None,
) -> Response:
    """Why a total moved from one run to another: causes whose shares add up to the difference."""
    from daybook.compare.bridge import BridgeRequest
    from daybook.workspace.compare import bridge_runs
    from daybook.workspace.json.compare import bridge_as_json

    wanted = BridgeRequest(a, b, measure, output, rows, tuple(by or ()), tuple(order or ()))
    question = served.questions.ask(
        ("bridge", wanted),
        f"Why {measure} moved from {a} to {b}",
        lambda workspace, listener: bridge_runs(workspace, wanted, listener=listener),
    )
    return answered(bridge_as_json(await _answer(request, served, question)))


@router.get("/diff", response_model=answers.Diff, tags=["compare"])
async def diff(
    request: Request,
    served: ServedHere,
    a: Annotated[str, Query(description="A run, or PROJECT@PERIOD.", max_length=300)],
    b: Annotated[str, Query(description="The other.", max_length=300)],
    output: Annotated[str | None, Query(description="By destination, id or seq.", max_length=300)] = None,
    rows: Annotated[int | None, Query(description="The operation that made the rows.", ge=0)] = None,
    key: Annotated[list[str] | None, Query(description="Columns that rows are matched by.")] = None,
    tolerance: Annotated[str | None, Query(max_length=50)] = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 10,
) -> Response:
    """What changed between two runs."""
    from daybook.compare.diff import DiffRequest
    from daybook.workspace.compare import diff_runs, parse_tolerance
    from daybook.workspace.json.compare import diff_as_json

    wanted = DiffRequest(a, b, output, rows, tuple(key or ()), parse_tolerance(tolerance), limit)
    question = served.questions.ask(
        ("diff", wanted), f"Compare {a} and {b}", lambda workspace, _: diff_runs(workspace, wanted)
    )
    return answered(diff_as_json(await _answer(request, served, question)))
