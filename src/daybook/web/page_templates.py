"""Renders pages as HTML from templates that escape all data."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from daybook.errors.render import printable
from daybook.pictures import shown_values
from daybook.pictures.shown_values import NEGATIVES, Negatives
from daybook.web.access import Access
from daybook.workspace.open_workspace import OpenedWorkspace

WEB_FOLDER = Path(__file__).parent
NEGATIVES_COOKIE = "daybook_negatives"
_MARKED = re.compile(r"`([^`<>]+)`")


def _shown(value: Any) -> Any:
    """Text of data has no characters that hide or turn other text."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _marked(text: str) -> Markup:
    """Words that a message has in backticks, as code."""
    return Markup(_MARKED.sub(r"<code>\1</code>", str(escape(printable(text)))))


class Templates:
    """The pages of a workspace; everything that is put into them is escaped."""

    def __init__(self, workspace: OpenedWorkspace, access: Access) -> None:
        self._workspace = workspace
        self._access = access
        self._environment = Environment(
            loader=FileSystemLoader(WEB_FOLDER / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=_shown,
        )
        self._environment.filters |= {
            "moment": shown_values.format_moment,
            "duration": shown_values.format_duration,
            "plural": shown_values.plural,
            "is_number": shown_values.is_number,
            "in_workspace": self.in_workspace,
            "marked": _marked,
        }

    def in_workspace(self, destination: str) -> str:
        """Where something is written, seen from the workspace's folder."""
        folder = f"{self._workspace.root.resolve()}/"
        return destination.removeprefix("file://").removeprefix(folder) if folder in destination else destination

    def page(
        self,
        request: Request,
        name: str,
        *,
        http_status: int = 200,
        headers: Mapping[str, str] | None = None,
        **values: Any,
    ) -> Response:
        return HTMLResponse(self.render(request, name, **values), http_status, dict(headers or {}))

    def render(self, request: Request, name: str, **values: Any) -> str:
        visitor = getattr(request.state, "visitor", None)
        return self._environment.get_template(name).render(
            workspace_name=self._workspace.settings.name,
            visitor=visitor,
            allows_actions=self._access.site.allows_actions and visitor is not None and visitor.name is not None,
            path=request.url.path,
            address=request.url.path + (f"?{request.url.query}" if request.url.query else ""),
            query=request.query_params,
            negatives=preferred_negatives(request),
            value=lambda item, **more: shown_values.format_value(item, preferred_negatives(request), **more),
            **values,
        )


def preferred_negatives(request: Request) -> Negatives:
    chosen = request.cookies.get(NEGATIVES_COOKIE)
    return chosen if chosen in NEGATIVES else "minus"
