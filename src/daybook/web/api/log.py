"""The log of acts over HTTP, and the verification of its chain."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from daybook.web.api.answer import answered, answers, api_router
from daybook.web.served import ServedHere
from daybook.workspace.log import LogListing, LogVerification, show_log, verify_log

router = api_router()


@router.get("/log", tags=["log"])
@answers(LogListing)
def log(
    served: ServedHere,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    before: Annotated[int | None, Query(description="The `next` of the answer before.", ge=1)] = None,
) -> Response:
    """Who did what and when, newest first."""
    return answered(show_log(served.workspace, limit=limit, before=before))


@router.get("/log/verification", tags=["log"])
@answers(LogVerification)
def log_verification(
    served: ServedHere,
    head: Annotated[str | None, Query(description="The digest of a line, kept elsewhere.", max_length=64)] = None,
) -> Response:
    """Find lines that were changed, inserted, removed or moved."""
    return answered(verify_log(served.workspace, head=head))
