"""What the requests of one server share: workspace, access, templates, and computed results."""

import json
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import quote

from fastapi import Depends, Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from daybook.errors import DaybookError
from daybook.web.access import Access, Visitor
from daybook.web.actions import PageActions
from daybook.web.page_templates import Templates, preferred_negatives
from daybook.web.questions import Questions
from daybook.web.recent import RecentAnswers, SharedBodies, StoreWatch
from daybook.workspace.history import RunDetails, RunListing, list_runs, show_run
from daybook.workspace.open_workspace import OpenedWorkspace

if TYPE_CHECKING:
    from daybook.io.rows.conditions import RowCondition, RowOrder
    from daybook.runs.result import OutputResult
    from daybook.workspace.close import CloseGraphResult, CloseStatus
    from daybook.workspace.lineage import LineageResult
    from daybook.workspace.numbers import NumbersPage, NumbersRequest

_Answer = TypeVar("_Answer")
_MOST_KEPT_ROWS = 100


@dataclass(frozen=True, slots=True)
class Served:
    workspace: OpenedWorkspace
    access: Access
    templates: Templates
    questions: Questions
    actions: PageActions
    watch: StoreWatch
    recent: RecentAnswers
    bodies: SharedBodies

    def page(
        self, request: Request, name: str, shown: tuple[object, ...], values: Callable[[], dict[str, Any]]
    ) -> Response:
        """A page for many readers: rendered once for all that see the same, as long as the answers in it are kept."""
        reader = (request.state.visitor, preferred_negatives(request))
        body = self.bodies.get(
            (name, request.url.path, request.url.query, *reader),
            shown,
            lambda: self.templates.render(request, name, **values()).encode(),
        )
        return HTMLResponse(body)

    def status(self, period: str | None = None, *, ask: bool = False) -> "CloseStatus":
        from daybook.workspace.close import close_status

        return self._recent(("status", period, ask), lambda: close_status(self.workspace, period=period, ask=ask))

    def graph(self, period: str | None = None) -> "CloseGraphResult":
        from daybook.workspace.close import close_graph

        return self._recent(("graph", period), lambda: close_graph(self.workspace, period=period))

    def lineage(self, project: str | None = None) -> "LineageResult":
        from daybook.workspace.lineage import trace_columns

        return self._recent(("lineage", project), lambda: trace_columns(self.workspace, project))

    def runs(
        self,
        *,
        project: str | None = None,
        period: str | None = None,
        status: str | None = None,
        limit: int,
        after: str | None = None,
    ) -> RunListing:
        return self._recent(
            ("runs", project, period, status, limit, after),
            lambda: list_runs(self.workspace, project=project, period=period, status=status, limit=limit, after=after),
        )

    def run(self, run_id: str) -> RunDetails:
        """A run; one that is completed does not change any more."""
        return self._recent(
            ("run", run_id),
            lambda: show_run(self.workspace, run_id),
            # The run that PROJECT@PERIOD names changes.
            is_final=lambda found: found.record.status == "completed" and found.record.id == run_id,
        )

    def outputs(self, run_id: str) -> "tuple[OutputResult, ...]":
        """What a completed run wrote."""
        from daybook.workspace.numbers import list_outputs

        return self._recent(("outputs", run_id), lambda: list_outputs(self.workspace, run_id), is_final=lambda _: True)

    def numbers(self, request: "NumbersRequest") -> "NumbersPage":
        """A page of what a run committed, which stays as it is; large pages are not kept."""
        from daybook.workspace.numbers import read_numbers

        if request.limit > _MOST_KEPT_ROWS:
            return read_numbers(self.workspace, request)
        return self._recent(
            ("numbers", request), lambda: read_numbers(self.workspace, request), is_final=lambda _: True
        )

    def _recent(
        self, key: Hashable, compute: Callable[[], _Answer], *, is_final: Callable[[_Answer], bool] = lambda _: False
    ) -> _Answer:
        return self.recent.get(key, compute, version=self.watch.number, is_final=is_final)


def _served(request: Request) -> Served:
    found: Served = request.app.state.served
    return found


def _visitor(request: Request) -> Visitor:
    found: Visitor = request.state.visitor
    return found


def _acting_visitor(request: Request) -> Visitor:
    """Somebody with a name, where the server allows actions."""
    served, visitor = _served(request), _visitor(request)
    if not served.access.site.allows_actions:
        raise DaybookError("WEB_012")
    if visitor.name is None:
        raise DaybookError("WEB_005")
    return visitor


ServedHere = Annotated[Served, Depends(_served)]
AskedBy = Annotated[Visitor, Depends(_visitor)]
ActedBy = Annotated[Visitor, Depends(_acting_visitor)]


def parse_conditions(texts: Iterable[str]) -> "tuple[RowCondition, ...]":
    """Conditions as addresses have them: `["amount", ">=", "100"]`."""
    from daybook.io.rows.conditions import RowCondition

    found = []
    for text in texts:
        try:
            column, comparison, *value = json.loads(text)
            if not isinstance(column, str) or not isinstance(comparison, str) or len(value) > 1:
                raise ValueError
            given = value[0] if value else None
            if isinstance(given, list | dict):
                raise ValueError
        except (ValueError, TypeError):
            raise DaybookError("WEB_015", argument="where", reason=f"{text[:100]!r} is not a condition") from None
        found.append(RowCondition(column, comparison, given))
    return tuple(found)


def parse_order(texts: Iterable[str]) -> "tuple[RowOrder, ...]":
    """Columns, those with a minus from large to small."""
    from daybook.io.rows.conditions import RowOrder

    return tuple(RowOrder(text.removeprefix("-"), text.startswith("-")) for text in texts if text)


def numbers_request(run_id: str, seq: int, where: Iterable[str], sort: Iterable[str], **more: Any) -> "NumbersRequest":
    from daybook.workspace.numbers import NumbersRequest

    return NumbersRequest(run_id, str(seq), parse_conditions(where), parse_order(sort), **more)


def csv_response(served: Served, request: "NumbersRequest") -> Response:
    from daybook.workspace.numbers import stream_csv

    download = stream_csv(served.workspace, request)
    name = f"attachment; filename*=UTF-8''{quote(download.file_name, safe='')}"
    return StreamingResponse(download.pieces, media_type="text/csv", headers={"Content-Disposition": name})
