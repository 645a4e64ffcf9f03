"""Numbers over HTTP: outputs of a run, their rows as pages or CSV, and the rows behind a number."""

from typing import Annotated, Any

from fastapi import Path, Query, Request
from starlette.responses import Response

from daybook.runs.run_result import OutputResult
from daybook.web.api.answer import RunId, answered, answers, api_router, wait_for_answer
from daybook.web.served import ServedHere, csv_response, numbers_request, reader_of

router = api_router()


def _numbers() -> Any:
    from daybook.workspace.numbers import NumbersPage

    return NumbersPage


def _explanation() -> Any:
    from daybook.runs.explain.levels import NumberExplanation

    return NumberExplanation


Where = Annotated[
    list[str] | None, Query(description='Conditions such as `["amount", ">=", 100]` or `["region", "is_null"]`.')
]
Sort = Annotated[list[str] | None, Query(description="Columns; `-amount` is from large to small.")]
Seq = Annotated[int, Path(description="The seq of the output.", ge=0)]


@router.get("/runs/{run_id}/outputs", tags=["numbers"])
@answers(list[OutputResult])
def outputs(served: ServedHere, run_id: RunId) -> Response:
    """What a run has committed, in the order of its operations."""
    from daybook.workspace.numbers import list_outputs

    return answered(list_outputs(served.workspace, run_id))


@router.get("/runs/{run_id}/outputs/{seq}/rows", tags=["numbers"])
@answers(_numbers)
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
    request = numbers_request(run_id, seq, where or [], sort or [], offset=offset, limit=limit, has_totals=totals)
    return answered(served.numbers(request))


@router.get(
    "/runs/{run_id}/outputs/{seq}/rows.csv",
    tags=["numbers"],
    response_class=Response,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "All rows as CSV."}},
)
def output_csv(served: ServedHere, run_id: RunId, seq: Seq, where: Where = None, sort: Sort = None) -> Response:
    """All rows of an output that fulfil the conditions."""
    return csv_response(served, numbers_request(run_id, seq, where or [], sort or []))


@router.get("/runs/{run_id}/explain/{operation}", tags=["numbers"])
@answers(_explanation)
async def explain(
    request: Request,
    served: ServedHere,
    run_id: RunId,
    operation: Annotated[str, Path(description="The id or the seq of an operation.", max_length=128)],
    key: Annotated[list[str] | None, Query(description="COLUMN=VALUE as often as needed; COLUMN= is NULL.")] = None,
    limit: Annotated[int, Query(description="The maximum number of rows per level.", ge=1, le=10_000)] = 20,
    depth: Annotated[
        int | None, Query(description="How many levels; by default down to the rows of the sources.", ge=1, le=100)
    ] = None,
    column: Annotated[list[str] | None, Query(description="Additional columns to show.")] = None,
) -> Response:
    """The rows behind a number, computed again from the snapshot of its run; Spark is started where it has to be."""
    from daybook.runs.explain.row_origins import parse_keys

    question = served.questions.explain(
        run_id,
        operation,
        parse_keys(key or []),
        title=f"Rows of operation {operation} of run {run_id}",
        limit=limit,
        depth=depth,
        columns=tuple(column or ()),
        reader=reader_of(request),
    )
    return answered(await wait_for_answer(request, served.questions, question))
