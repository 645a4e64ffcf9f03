"""Numbers over HTTP: outputs of a run, their rows as pages or CSV, and the rows behind a number."""

from typing import Annotated, Any

from fastapi import Path, Query, Request
from starlette.responses import Response

from daybook.web.api.answer import Answer, Finding, RunId, answered, api_router, wait_for_answer
from daybook.web.api.runs import TableVersion
from daybook.web.served import ServedHere, csv_response, numbers_request, reader_of

router = api_router()


class Output(Answer):
    operation_seq: int
    operation_id: str
    name: str
    destination: str
    place: str
    format: str
    rows_written: int
    columns_written: list[str]
    write_duration_ms: int
    dataset_id: str | None
    dataset_version: int | None
    table_version: TableVersion | None
    delta_version: int | None
    is_repeat: bool


class NumberColumn(Answer):
    name: str
    type: str


class Condition(Answer):
    column: str
    comparison: str
    value: Any = None


class Order(Answer):
    column: str
    is_descending: bool


class Numbers(Answer):
    """Exact numbers are texts; `totals` are sums over all rows that fulfil the conditions."""

    run_id: str
    project_id: str
    period: str
    output: Output
    columns: list[NumberColumn]
    where: list[Condition]
    sort: list[Order]
    offset: int
    limit: int
    count: int
    totals: dict[str, Any] | None
    rows: list[dict[str, Any]]


class ExplainedOperation(Answer):
    seq: int
    id: str
    name: str
    type: str


class NextQuestion(Answer):
    run_id: str
    project_id: str
    period: str
    seq: int
    keys: dict[str, str | None]


class Origin(Answer):
    key: dict[str, Any]
    dataset_id: str | None
    next: NextQuestion | None


class ShownRows(Answer):
    count: int
    columns: list[str]
    shown: list[dict[str, Any]]


class PickedRows(ShownRows):
    origins: list[Origin]


class Sum(Answer):
    column: str
    above: str | None
    value: str | None
    rows: str | None
    is_equal: bool


class Gap(Answer):
    run_id: str
    seq: int
    errors: list[Finding]


class Explanation(Answer):
    run_id: str
    project_id: str
    period: str
    parameters: dict[str, Any]
    operation: ExplainedOperation
    keys: dict[str, Any]
    groups: list[dict[str, Any]]
    summary_rows: ShownRows | None
    rows: PickedRows
    sums: list[Sum]
    gaps: list[Gap]


class ExplanationLevel(Answer):
    depth: int
    explanations: list[Explanation]
    gaps: list[Gap]


class NumberExplanation(Explanation):
    levels: list[ExplanationLevel]
    is_complete: bool


Where = Annotated[
    list[str] | None, Query(description='Conditions such as `["amount", ">=", 100]` or `["region", "is_null"]`.')
]
Sort = Annotated[list[str] | None, Query(description="Columns; `-amount` is from large to small.")]
Seq = Annotated[int, Path(description="The seq of the output.", ge=0)]


@router.get("/runs/{run_id}/outputs", response_model=list[Output], tags=["numbers"])
def outputs(served: ServedHere, run_id: RunId) -> Response:
    """What a run has committed, in the order of its operations."""
    from daybook.workspace.json.results import output_as_json
    from daybook.workspace.numbers import list_outputs

    return answered([output_as_json(each) for each in list_outputs(served.workspace, run_id)])


@router.get("/runs/{run_id}/outputs/{seq}/rows", response_model=Numbers, tags=["numbers"])
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

    request = numbers_request(run_id, seq, where or [], sort or [], offset=offset, limit=limit, has_totals=totals)
    return answered(numbers_as_json(served.numbers(request)))


@router.get(
    "/runs/{run_id}/outputs/{seq}/rows.csv",
    tags=["numbers"],
    response_class=Response,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "All rows as CSV."}},
)
def output_csv(served: ServedHere, run_id: RunId, seq: Seq, where: Where = None, sort: Sort = None) -> Response:
    """All rows of an output that fulfil the conditions."""
    return csv_response(served, numbers_request(run_id, seq, where or [], sort or []))


@router.get("/runs/{run_id}/explain/{operation}", response_model=NumberExplanation, tags=["numbers"])
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
    from daybook.workspace.json.results import number_explanation_as_json

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
    found = await wait_for_answer(request, served.questions, question)
    return answered(number_explanation_as_json(found))
