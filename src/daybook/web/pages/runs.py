"""Pages of runs: their list, and one run with its sources, steps and totals."""

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import Response

from daybook.runs.run_result import summarize_operations
from daybook.web.pages.form_fields import QueryText, entered_text
from daybook.web.served import ServedHere
from daybook.workspace.runs import RUN_STATUSES
from daybook.workspace.totals import totals_of
from daybook.workspace.totals_page import render_totals

if TYPE_CHECKING:
    from daybook.workspace.runs import RunDetails, SourceRead

router = APIRouter()


@router.get("/runs")
def runs(
    request: Request,
    served: ServedHere,
    project: QueryText = None,
    period: QueryText = None,
    status: QueryText = None,
    after: QueryText = None,
) -> Response:
    project, period, status = entered_text(project), entered_text(period), entered_text(status)
    listed = served.runs(project=project, period=period, status=status, limit=50, after=after)
    values = {
        "title": "Runs",
        "listed": listed,
        "project": project,
        "period": period,
        "status": status,
        "statuses": RUN_STATUSES,
        "is_filtered": bool(project or period or status or after),
        "events": "/api/v1/runs/events" if after is None else None,
    }
    return served.page(request, "runs.html", (listed,), lambda: values)


def _sources_read(details: "RunDetails") -> list[tuple["SourceRead", list[str]]]:
    """What a run read, each once: as the input, or in the operations with these seqs."""
    uses: dict[SourceRead, list[str]] = {}
    for source, stored in zip(details.sources, details.snapshot["sources"], strict=True):
        where = str(stored["key"]).partition(".")[0]
        if where not in uses.setdefault(source, []):
            uses[source].append(where)
    return list(uses.items())


def _flow(served: ServedHere, details: "RunDetails") -> Markup | None:
    """Where every amount of a run that has ended came from and went; None where it followed no measure."""
    totals = None if details.record.is_active else totals_of(details)
    return None if totals is None else render_totals(totals, served.templates.in_workspace)


@router.get("/runs/{run_id}")
def run(request: Request, served: ServedHere, run_id: str) -> Response:
    details = served.run(run_id)

    def values() -> dict[str, Any]:
        return {
            "title": f"{details.record.project_id} {details.record.period}",
            "run": details,
            "record": details.record,
            "snapshot": details.snapshot,
            "steps": tuple(summarize_operations(details.operations, details.operation_names)),
            "operations": details.snapshot["project"]["operations"],
            "sources": _sources_read(details),
            "flow": _flow(served, details),
            "events": f"/api/v1/runs/{run_id}/events" if details.record.is_active else None,
        }

    return served.page(request, "run.html", (details,), values)
