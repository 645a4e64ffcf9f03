"""Runs over HTTP, with steps, commits and events while they run, and comparisons of two runs."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Query, Request
from starlette.responses import Response, StreamingResponse

from daybook.errors import DaybookError
from daybook.web.api.answer import (
    Answer,
    Finding,
    IfNoneMatch,
    ProjectFilter,
    RunId,
    answered,
    answered_once,
    api_router,
    shared_answer,
    wait_for_answer,
)
from daybook.web.problems import event_text
from daybook.web.questions import Question
from daybook.web.served import POLL_SECONDS, WATCHED_RUNS, Served, ServedHere, StoreWatch, reader_of
from daybook.workspace.json.results import run_details_as_json, run_listing_as_json

_Found = TypeVar("_Found")

router = api_router()


class Process(Answer):
    host: str
    host_id: str
    pid: int
    started: str


RunStatus = Literal["queued", "running", "completed", "failed", "cancelled"]


class RunSummary(Answer):
    id: str
    project_id: str
    project_version: int
    calendar_id: str
    period: str
    as_of: str | None
    status: RunStatus
    is_draft: bool
    is_sandboxed: bool
    user: str | None
    created_at: str
    started_at: str | None
    finished_at: str | None
    attempt: int
    last_completed_operation: int | None
    error: dict[str, Any] | None
    cancel_requested_at: str | None
    token: int
    lease_expires_at: str | None
    process: Process
    duration_ms: int | None


class Runs(Answer):
    """Newest first; `next` continues the list as the parameter `after`."""

    runs: list[RunSummary]
    next: str | None


class TableVersion(Answer):
    format: str
    token: str


class OperationCounts(Answer):
    seq: int
    operation_id: str
    type: Literal["load", "update", "aggregate", "append", "delete", "check", "output"]
    rows_picked: int | None
    rows_added: int | None
    rows_deleted: int | None
    rows_written: int | None
    duration_ms: int | None
    details: dict[str, Any]
    name: str


class CommittedOutput(Answer):
    operation_seq: int
    operation_id: str
    destination: str
    mode: str
    table_version: TableVersion | None
    delta_version: int | None
    rows: int | None
    fingerprint: str | None
    details: dict[str, Any]
    committed_at: str | None


class RunDetails(RunSummary):
    errors: list[Finding]
    operations: list[OperationCounts]
    commits: list[CommittedOutput]
    snapshot: dict[str, Any]


# Proxies close connections that say nothing.
_HEARTBEAT_SECONDS = 15.0
_QUESTION_SECONDS = 0.25


class EventStream(StreamingResponse):
    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[str]) -> None:
        super().__init__(events, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})


def _event(name: str, data: Any) -> str:
    return f"event: {name}\ndata: {event_text(data)}\n\n"


def _shared_event(served: Served, key: str, found: _Found, as_json: Callable[[_Found], Any]) -> bytes:
    """Written once for all who listen."""
    return served.bodies.get(("event", key), (found,), lambda: event_text(as_json(found)).encode())


async def _changes(
    request: Request, watch: StoreWatch, read: Callable[[], tuple[bytes, bool]], name: str
) -> AsyncIterator[str]:
    """The JSON that `read` gives, first and then whenever the store changed, until nothing more will come."""
    watch.begin()
    try:
        last: tuple[bytes, bool] | None = None
        number, told_at = -1, time.monotonic()
        while not watch.is_ending and not await request.is_disconnected():
            if number != watch.number:
                number = watch.number
                found = await asyncio.to_thread(read)
                if found != last:
                    last, told_at = found, time.monotonic()
                    yield f"event: {name}\ndata: {found[0].decode()}\n\n"
                    if found[1]:
                        yield _event("end", {})
                        return
            if time.monotonic() - told_at > _HEARTBEAT_SECONDS:
                told_at = time.monotonic()
                yield ": still here\n\n"
            await asyncio.sleep(POLL_SECONDS / 2)
    finally:
        watch.end()


_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events, each with the JSON of the answer without `/events`; `end` is the last.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


@router.get("/runs/events", tags=["runs"], response_class=StreamingResponse, responses=_STREAM)
async def run_list_events(request: Request, served: ServedHere) -> StreamingResponse:
    """The latest runs, again whenever one of them begins, goes on or ends."""

    def read() -> tuple[bytes, bool]:
        found = served.runs(limit=WATCHED_RUNS)
        return _shared_event(served, "runs", found, run_listing_as_json), False

    return EventStream(_changes(request, served.watch, read, "runs"))


@router.get("/runs/{run_id}/events", tags=["runs"], response_class=StreamingResponse, responses=_STREAM)
async def run_events(request: Request, served: ServedHere, run_id: str) -> StreamingResponse:
    """A run, again whenever one of its steps finished; the events end with the run."""
    await asyncio.to_thread(served.run, run_id)

    def read() -> tuple[bytes, bool]:
        found = served.run(run_id)
        return _shared_event(served, run_id, found, run_details_as_json), not found.record.is_active

    return EventStream(_changes(request, served.watch, read, "run"))


async def _progress(request: Request, served: ServedHere, question: Question) -> AsyncIterator[str]:
    last: dict[str, Any] | None = None
    while not served.watch.is_ending and not await request.is_disconnected():
        now = question_as_json(served, question)
        if now != last:
            last = now
            yield _event("progress", now)
        if question.is_over:
            yield _event("end", {})
            return
        await asyncio.sleep(_QUESTION_SECONDS)


def question_as_json(served: ServedHere, question: Question) -> dict[str, Any]:
    return {
        "id": question.id,
        "title": question.title,
        "state": question.state,
        "stage": question.stage,
        "before": served.questions.position(question),
        "done": question.done,
        "total": question.total,
    }


@router.get("/questions/{question_id}/events", tags=["questions"], response_class=StreamingResponse, responses=_STREAM)
async def question_events(request: Request, served: ServedHere, question_id: str) -> StreamingResponse:
    """How far a question is; the events end with it."""
    question = served.questions.find(question_id)
    if question is None:
        raise DaybookError("WEB_013", path=request.url.path)
    return EventStream(_progress(request, served, question))


@router.get("/runs", response_model=Runs, tags=["runs"])
def runs(
    served: ServedHere,
    project: ProjectFilter = None,
    period: Annotated[str | None, Query(description="Only for this period.", max_length=200)] = None,
    status: Annotated[RunStatus | None, Query(description="Only with this status.")] = None,
    limit: Annotated[int, Query(description="The maximum number of runs.", ge=1, le=1000)] = 20,
    after: Annotated[str | None, Query(description="`next` of the page before.", max_length=200)] = None,
) -> Response:
    """Runs, newest first."""
    listed = served.runs(project=project, period=period, status=status, limit=limit, after=after)
    return shared_answer(served, ("runs", project, period, status, limit, after), listed, run_listing_as_json)


@router.get("/runs/{run_id}", response_model=RunDetails, tags=["runs"])
def run(served: ServedHere, run_id: RunId, if_none_match: IfNoneMatch = None) -> Response:
    """Everything that is known of a run; one that has ended does not change any more."""
    found = served.run(run_id)
    data = run_details_as_json(found)
    return answered(data) if found.record.is_active else answered_once(data, if_none_match)


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
    from daybook.workspace.json.close import diff_as_json
    from daybook.workspace.numbers import parse_tolerance

    wanted = DiffRequest(a, b, output, rows, tuple(key or ()), parse_tolerance(tolerance), limit)
    found = await wait_for_answer(request, served.questions, served.questions.diff(wanted, reader=reader_of(request)))
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
    from daybook.workspace.json.close import bridge_as_json

    wanted = BridgeRequest(a, b, measure, output, rows, tuple(by or ()), tuple(order or ()))
    found = await wait_for_answer(request, served.questions, served.questions.bridge(wanted, reader=reader_of(request)))
    return answered(bridge_as_json(found))
