"""Pages of periods: their list, and one period with its runs and seals."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from daybook.web.pages.form_fields import QueryText, entered_text
from daybook.web.served import ServedHere
from daybook.workspace.certificates import list_seals
from daybook.workspace.periods import list_periods, show_period

router = APIRouter()


@router.get("/periods")
def periods(
    request: Request,
    served: ServedHere,
    year: Annotated[int | None, Query(ge=1, le=9999)] = None,
    calendar: QueryText = None,
) -> Response:
    year = year or served.workspace.clock().year
    listed = list_periods(served.workspace, year=year, calendar=entered_text(calendar))
    return served.templates.page(request, "periods.html", title="Periods", periods=listed, year=year)


@router.get("/periods/{identifier}")
def period(request: Request, served: ServedHere, identifier: str, calendar: QueryText = None) -> Response:
    details = show_period(served.workspace, identifier, calendar=entered_text(calendar))
    seals = list_seals(served.workspace, period=identifier, calendar=entered_text(calendar))
    return served.templates.page(
        request,
        "period.html",
        title=f"Period {identifier}",
        listing=details,
        status=served.status(identifier),
        seals=seals,
        runs=served.runs(period=identifier, limit=50).runs,
    )
