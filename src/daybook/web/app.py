"""The application: guards every request; serves the login at once and the workspace after it is loaded."""

import asyncio
import threading
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from daybook.web.access import Access, Guard, Site
from daybook.web.login import login_routes
from daybook.web.page_templates import WEB_FOLDER, Templates
from daybook.web.problems import API, Failures, problem_handlers
from daybook.workspace.open_workspace import OpenedWorkspace

if TYPE_CHECKING:
    from fastapi import FastAPI

    from daybook.web.served import Served


class WorkspaceLoader:
    """Loads the pages of a workspace once, and its API after the first page; requests to them wait."""

    def __init__(self, workspace: OpenedWorkspace, access: Access, templates: Templates) -> None:
        self._workspace = workspace
        self._access = access
        self._templates = templates
        self._lock = threading.RLock()
        self._loaded: FastAPI | None = None
        self._api: FastAPI | None = None

    def load(self) -> "FastAPI":
        """The pages."""
        from daybook.web.workspace_app import create_pages

        with self._lock:
            if self._loaded is None:
                self._loaded = create_pages(self._workspace, self._access, self._templates)
            return self._loaded

    def load_api(self) -> "FastAPI":
        from daybook.web.workspace_app import create_api

        with self._lock:
            if self._api is None:
                self._api = create_api(self.load().state.served)
            return self._api

    def begin(self) -> None:
        """Loads in the background; a failure is the answer to the next request."""
        threading.Thread(target=self.load, name="daybook-load", daemon=True).start()

    @property
    def served(self) -> "Served | None":
        """What the requests share, once it is loaded."""
        return self._loaded.state.served if self._loaded is not None else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].startswith(f"{API}/"):
            api = self._api if self._api is not None else await asyncio.to_thread(self.load_api)
            await api(scope, receive, send)
            return
        pages = self._loaded if self._loaded is not None else await asyncio.to_thread(self.load)
        await pages(scope, receive, send)
        if self._api is None:
            # A page asks the API for what happens next; the first answer did not have to wait for it.
            threading.Thread(target=self.load_api, name="daybook-load-api", daemon=True).start()


def create_app(workspace: OpenedWorkspace, site: Site) -> Starlette:
    """The pages and the API of a workspace; Spark is not started before somebody asks for rows to be computed."""
    access = Access(site)
    templates = Templates(workspace, access)
    loader = WorkspaceLoader(workspace, access, templates)
    app = Starlette(
        routes=[
            Route("/health", _health),
            *login_routes(access, templates),
            Mount("/static", StaticFiles(directory=WEB_FOLDER / "static", packages=[("daybook.pictures", "static")])),
        ],
        middleware=[Middleware(Guard, access=access), Middleware(Failures)],
        exception_handlers=problem_handlers(),
    )
    app.router.redirect_slashes = False
    app.router.default = loader
    app.state.templates = templates
    app.state.loader = loader
    return app


async def _health(request: Request) -> Response:
    return JSONResponse({"status": "ok"})
