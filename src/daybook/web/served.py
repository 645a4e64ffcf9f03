"""What the requests of one server share: the workspace, who may ask, the templates, and what is computed for them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from daybook.errors import DaybookError
from daybook.web.access import Access, Visitor
from daybook.web.actions import Actions
from daybook.web.page_templates import Templates
from daybook.web.questions import Questions
from daybook.web.recent import RecentAnswers, StoreWatch
from daybook.workspace.open_workspace import OpenedWorkspace

if TYPE_CHECKING:
    from daybook.workspace.close import CloseGraphResult, CloseStatus


@dataclass(frozen=True, slots=True)
class Served:
    workspace: OpenedWorkspace
    access: Access
    templates: Templates
    questions: Questions
    actions: Actions
    watch: StoreWatch
    recent: RecentAnswers

    def status(self, period: str | None = None, *, ask: bool = False) -> "CloseStatus":
        from daybook.workspace.close import close_status

        key = "status", period, ask, self.watch.number
        return self.recent.get(key, lambda: close_status(self.workspace, period=period, ask=ask))

    def graph(self, period: str | None = None) -> "CloseGraphResult":
        from daybook.workspace.close import close_graph

        key = "graph", period, self.watch.number
        return self.recent.get(key, lambda: close_graph(self.workspace, period=period))


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
