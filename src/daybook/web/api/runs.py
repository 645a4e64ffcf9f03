"""Runs over HTTP, with steps, commits and events while they run, and comparisons of two runs."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

from fastapi import Query, Request
from starlette.responses import Response, StreamingResponse

from daybook.compare.bridge_result import BridgeResult
from daybook.compare.diff_result import DiffResult
from daybook.compare.impact import ImpactResult
from daybook.errors import DaybookError
from daybook.store.records import RunStatus
from daybook.web.api.answer import (
    IfNoneMatch,
    ProjectFilter,
    RunId,
    answered,
    answered_once,
    answers,
    api_router,
    shared_answer,
    wait_for_answer,
)
from daybook.web.problems import event_text
from daybook.web.questions import Question
from daybook.web.served import POLL_SECONDS, WATCHED_RUNS, Served, ServedHere, StoreWatch, reader_of
from daybook.workspace.runs import RunDetails, RunListing
from daybook.workspace.totals import TotalsOfRun, run_totals

router = api_router()
# Proxies close connections that say nothing.
_HEARTBEAT_SECONDS = 15.0
_QUESTION_SECONDS = 0.25


class EventStream(StreamingResponse):
    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[str]) -> None:
        super().__init__(events, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})


def _event(name: str, data: Any) -> str:
    return f"event: {name}\ndata: {event_text(data)}\n\n"


def _shared_event(served: Served, key: str, result: Any) -> bytes:
    """Written once for all who listen."""
    return served.bodies.get(("event", key), (result,), lambda: event_text(result).encode())


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
                state = await asyncio.to_thread(read)
                if state != last:
                    last, told_at = state, time.monotonic()
                    yield f"event: {name}\ndata: {state[0].decode()}\n\n"
                    if state[1]:
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
        return _shared_event(served, "runs", served.runs(limit=WATCHED_RUNS)), False

    return EventStream(_changes(request, served.watch, read, "runs"))


@router.get("/runs/{run_id}/events", tags=["runs"], response_class=StreamingResponse, responses=_STREAM)
async def run_events(request: Request, served: ServedHere, run_id: str) -> StreamingResponse:
    """A run, again whenever one of its steps finished; the events end with the run."""
    await asyncio.to_thread(served.run, run_id)

    def read() -> tuple[bytes, bool]:
        details = served.run(run_id)
        return _shared_event(served, run_id, details), not details.record.is_active

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


@router.get("/runs", tags=["runs"])
@answers(RunListing)
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
    return shared_answer(served, ("runs", project, period, status, limit, after), listed)


@router.get("/runs/{run_id}", tags=["runs"])
@answers(RunDetails)
def run(served: ServedHere, run_id: RunId, if_none_match: IfNoneMatch = None) -> Response:
    """Everything that is known of a run; one that has ended does not change any more."""
    details = served.run(run_id)
    return answered(details) if details.record.is_active else answered_once(details, if_none_match)


@router.get("/runs/{run_id}/totals", tags=["runs"])
@answers(TotalsOfRun)
def totals(
    served: ServedHere,
    run_id: RunId,
    measure: Annotated[str | None, Query(description="Only this measure.", max_length=300)] = None,
) -> Response:
    """Where every amount of a run came from and where it went."""
    return answered(run_totals(served.workspace, run_id, measure=measure))


ComparedRun = Annotated[str, Query(description="A run, or PROJECT@PERIOD.", max_length=300)]
OtherRun = Annotated[str, Query(description="The other.", max_length=300)]
ComparedOutput = Annotated[str | None, Query(description="By destination, id or seq.", max_length=300)]
MadeBy = Annotated[int | None, Query(description="The operation that made the rows.", ge=0)]


@router.get("/diff", tags=["compare"])
@answers(DiffResult)
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
    from daybook.workspace.numbers import parse_tolerance

    diff_request = DiffRequest(a, b, output, rows, tuple(key or ()), parse_tolerance(tolerance), limit)
    answer = await wait_for_answer(
        request, served.questions, served.questions.diff(diff_request, reader=reader_of(request))
    )
    return answered(answer)


@router.get("/bridge", tags=["compare"])
@answers(BridgeResult)
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
    through: Annotated[
        bool | None,
        Query(
            description="Whether causes are looked for in all projects behind the runs; by default where a run reads "
            "what other projects wrote."
        ),
    ] = None,
) -> Response:
    """Why a total moved from one run to another: causes whose shares add up to the difference."""
    from daybook.compare.bridge import BridgeRequest

    bridge_request = BridgeRequest(a, b, measure, output, rows, tuple(by or ()), tuple(order or ()), through)
    answer = await wait_for_answer(
        request, served.questions, served.questions.bridge(bridge_request, reader=reader_of(request))
    )
    return answered(answer)


@router.get("/impact", tags=["compare"])
@answers(ImpactResult)
async def impact(
    request: Request,
    served: ServedHere,
    project: Annotated[list[str] | None, Query(description="Only the changes of these projects.")] = None,
    against: Annotated[str, Query(description="`active`, or a commit.", max_length=300)] = "active",
    period: Annotated[str | None, Query(description="A period or A..B; by default the last closes.")] = None,
) -> Response:
    """What changed definitions would do to the last closes: totals before and after, and what each change moves."""
    from daybook.workspace.impact import ImpactRequest

    impact_request = ImpactRequest(tuple(project or ()), against, period)
    answer = await wait_for_answer(
        request, served.questions, served.questions.impact(impact_request, reader=reader_of(request))
    )
    return answered(answer)
