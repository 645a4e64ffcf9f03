"""The close over HTTP: status, graph, and what a build would run."""

from typing import Annotated, Any

from fastapi import Query
from starlette.responses import Response

from daybook.web.api.answer import (
    PeriodFilter,
    answered,
    answers,
    api_router,
    shared_answer,
)
from daybook.web.served import ServedHere
from daybook.workspace.close import CloseGraphResult, CloseStatus

router = api_router()


def _build_plan() -> Any:
    from daybook.graph.build_plan import BuildPlan

    return BuildPlan


@router.get("/status", tags=["close"])
@answers(CloseStatus)
def status(
    served: ServedHere,
    period: PeriodFilter = None,
    ask: Annotated[bool, Query(description="Also ask databases and catalogs.")] = False,
    look: Annotated[bool, Query(description="Read files that changed, to find out whom they concern.")] = False,
    project: Annotated[list[str] | None, Query(description="Projects or patterns; by default all active ones.")] = None,
) -> Response:
    """Which numbers are up to date, and why others are not; without a period, of all that have been run."""
    projects = tuple(project or ())
    answer = served.status(period, ask=ask, look=look, projects=projects)
    return shared_answer(served, ("status", period, ask, look, projects), answer)


@router.get("/graph", tags=["close"])
@answers(CloseGraphResult)
def graph(served: ServedHere, period: PeriodFilter = None) -> Response:
    """Which projects read what others write; with a period, which projects and periods."""
    return shared_answer(served, ("graph", period), served.graph(period))


@router.get("/build-plan", tags=["close"])
@answers(_build_plan)
def build_plan(
    served: ServedHere,
    period: Annotated[str, Query(description="A period or a range.", max_length=200)],
    project: Annotated[list[str] | None, Query(description="Projects; by default all active ones.")] = None,
    only: Annotated[bool, Query(description="Only these, not what they need.")] = False,
    full: Annotated[bool, Query(description="Also run what is fresh.")] = False,
) -> Response:
    """What a build would run, and why."""
    from daybook.graph.build_plan import BuildRequest
    from daybook.workspace.close import plan_close_build

    request = BuildRequest(period, tuple(project or ()), only, full)
    return answered(plan_close_build(served.workspace, request))
