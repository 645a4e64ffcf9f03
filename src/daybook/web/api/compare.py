"""Comparisons of two runs over HTTP: diff and bridge."""

from typing import Annotated, Any, Literal

from fastapi import Query, Request
from starlette.responses import Response

from daybook.web.api.answer import Answer, answered, api_router, wait_for_answer
from daybook.web.served import ServedHere

router = api_router()

ComparedRun = Annotated[str, Query(description="A run, or PROJECT@PERIOD.", max_length=300)]
OtherRun = Annotated[str, Query(description="The other.", max_length=300)]
ComparedOutput = Annotated[str | None, Query(description="By destination, id or seq.", max_length=300)]
MadeBy = Annotated[int | None, Query(description="The operation that made the rows.", ge=0)]


class ComparedOperation(Answer):
    a: int
    b: int
    name: str


class DiffRows(Answer):
    a: int
    b: int
    added: int
    removed: int
    changed: int
    same: int


class DiffTotal(Answer):
    column: str
    before: str
    after: str
    difference: str


class RowPair(Answer):
    a: int
    b: int


class DiffChange(Answer):
    key: dict[str, Any]
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    rows: RowPair | None = None


class OnlyIn(Answer):
    a: list[str]
    b: list[str]


class Retyped(Answer):
    column: str
    a: str
    b: str


class Notice(Answer):
    code: str
    message: str
    file: str | None
    line: int | None
    column: int | None
    hint: str | None


class Diff(Answer):
    a: str
    b: str
    output: str
    operation: ComparedOperation
    key: list[str]
    key_origin: Literal["given", "group_by", "natural_key", "row_id"]
    rows: DiffRows
    totals: list[DiffTotal]
    changes: list[DiffChange]
    repeated_keys: RowPair | None = None
    only_in: OnlyIn | None = None
    retyped: list[Retyped] = []
    notices: list[Notice]


class CauseRows(Answer):
    added: int
    removed: int
    changed: int


class RowEffect(Answer):
    key: dict[str, Any] | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    effect: str | None


class CauseName(Answer):
    kind: str
    name: str
    label: str


class Cause(CauseName):
    share: str
    rows: CauseRows | None = None
    largest: list[RowEffect] = []
    together: list[CauseName] = []
    reason: str | None = None


class CauseShare(Answer):
    kind: str
    name: str
    share: str


class GroupBridge(Answer):
    key: dict[str, Any] | None
    before: str
    after: str
    causes: list[CauseShare]


class Bridge(Answer):
    """Numbers are exact text; `before` and the shares are `after`."""

    a: str
    b: str
    output: str
    operation: ComparedOperation
    measure: str
    before: str
    after: str
    difference: str
    residual: str
    order: list[str]
    causes: list[Cause]
    by: list[GroupBridge] | None = None
    notices: list[Notice]


@router.get("/diff", response_model=Diff, tags=["compare"])
async def diff(
    request: Request,
    served: ServedHere,
    a: ComparedRun,
    b: OtherRun,
    output: ComparedOutput = None,
    rows: MadeBy = None,
    key: Annotated[list[str] | None, Query(description="Columns that rows are matched by.")] = None,
    tolerance: Annotated[str | None, Query(max_length=50)] = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 10,
) -> Response:
    """What changed between two runs."""
    from daybook.compare.diff import DiffRequest
    from daybook.workspace.compare import parse_tolerance
    from daybook.workspace.json.compare import diff_as_json

    wanted = DiffRequest(a, b, output, rows, tuple(key or ()), parse_tolerance(tolerance), limit)
    found = await wait_for_answer(request, served.questions, served.questions.diff(wanted))
    return answered(diff_as_json(found))


@router.get("/bridge", response_model=Bridge, tags=["compare"])
async def bridge(
    request: Request,
    served: ServedHere,
    a: ComparedRun,
    b: OtherRun,
    measure: Annotated[str, Query(description="The column whose total changed.", max_length=300)],
    output: ComparedOutput = None,
    rows: MadeBy = None,
    by: Annotated[list[str] | None, Query(description="Also a bridge for each group.")] = None,
    order: Annotated[list[str] | None, Query(description="What is replaced first: kinds, or KIND:NAME.")] = None,
) -> Response:
    """Why a total moved from one run to another: causes whose shares add up to the difference."""
    from daybook.compare.bridge import BridgeRequest
    from daybook.workspace.json.compare import bridge_as_json

    wanted = BridgeRequest(a, b, measure, output, rows, tuple(by or ()), tuple(order or ()))
    found = await wait_for_answer(request, served.questions, served.questions.bridge(wanted))
    return answered(bridge_as_json(found))
