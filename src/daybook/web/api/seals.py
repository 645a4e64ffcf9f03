"""The certificates of sealed periods over HTTP."""

from typing import Annotated

from fastapi import Path, Query
from starlette.responses import Response

from daybook.web.api.answer import PeriodFilter, answered, answers, api_router
from daybook.web.served import ServedHere
from daybook.workspace.certificates import PeriodSeal, certificate_text, list_seals

router = api_router()


@router.get("/seals", tags=["periods"])
@answers(list[PeriodSeal])
def seals(
    served: ServedHere,
    period: PeriodFilter = None,
    calendar: Annotated[str | None, Query(max_length=128)] = None,
) -> Response:
    """The certificates of a period, or of all periods; of one period the one that counts comes last."""
    return answered(list_seals(served.workspace, period=period, calendar=calendar))


@router.get(
    "/seals/{digest}/certificate",
    tags=["periods"],
    responses={200: {"content": {"application/json": {"schema": {"type": "object"}}}, "description": "The file."}},
)
def certificate(served: ServedHere, digest: Annotated[str, Path(max_length=64)]) -> Response:
    """The file of a certificate, as it was written; `daybook verify` verifies it."""
    text = certificate_text(served.workspace, digest)
    headers = {"Content-Disposition": f'attachment; filename="certificate-{digest[:12]}.json"'}
    return Response(text, media_type="application/json", headers=headers)
