"""Periods over HTTP."""

from typing import Annotated

from fastapi import Path, Query
from starlette.responses import Response

from daybook.web.api.answer import (
    answered,
    answers,
    api_router,
)
from daybook.web.served import ServedHere
from daybook.workspace.periods import PeriodListing, list_periods, show_period

router = api_router()


@router.get("/periods", tags=["periods"])
@answers(list[PeriodListing])
def periods(
    served: ServedHere,
    year: Annotated[int | None, Query(description="By default this year.", ge=1, le=9999)] = None,
    level: Annotated[str | None, Query(description="By default all except days.", max_length=64)] = None,
    calendar: Annotated[str | None, Query(max_length=128)] = None,
) -> Response:
    """The periods of a year with their status."""
    return answered(list_periods(served.workspace, calendar=calendar, year=year, level=level))


@router.get("/periods/{identifier}", tags=["periods"])
@answers(PeriodListing)
def period(
    served: ServedHere,
    identifier: Annotated[str, Path(max_length=128)],
    calendar: Annotated[str | None, Query(max_length=128)] = None,
) -> Response:
    """A period with its status and every change of it."""
    return answered(show_period(served.workspace, identifier, calendar=calendar))
